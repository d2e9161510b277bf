"""Findings of the study `neural`: the best sampler against the best neural agent, and diagnostics against regret."""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.analysis.arrays import diagnostic
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, known_median, paired_difference, spearman
from experiments.config.cell import Cell
from experiments.config.text import counted
from fgtsva_ppl.agents import AGENTS
from fgtsva_ppl.agents.neural import NeuralAgent

TELLS, SILENT = (
    "total_variation",
    "rhat",
)  # what was found in the linear case: the first tells regret, not the second
NEURAL = tuple(name for name, cls in AGENTS if issubclass(cls, NeuralAgent))


def findings(results: StudyResults) -> list[str]:
    """The standings of every panel, the two kinds of agent against each other, and what the diagnostics tell."""
    return [*standings(results), *against_each_other(results), *diagnostics_and_regret(results)]


def algorithm(cell: Cell) -> str:
    """What plays in a cell: an agent, or a sampler on a reward."""
    flat = cell.flat
    if flat["agent"] != "thompson":
        return str(flat["agent"])
    steps = f" {flat['sampler.num_steps']} steps" if "sampler.num_steps" in flat else ""
    return f"{flat['sampler']} on {flat['reward']}{steps}"


def by_panel(results: StudyResults) -> dict[str, list[Cell]]:
    """The finished cells of each panel, from the least mean regret."""
    panels: dict[str, list[Cell]] = {}
    for cell in results.done:
        panels.setdefault(results.panels[cell.id], []).append(cell)
    return {
        panel: sorted(cells, key=lambda cell: float(results.final(cell).mean()))
        for panel, cells in panels.items()
    }


def standings(results: StudyResults) -> Iterator[str]:
    """Mean regret of all algorithms, panel by panel."""
    for panel, cells in by_panel(results).items():
        ranking = ", ".join(f"{algorithm(cell)} {results.final(cell).mean():.1f}" for cell in cells)
        yield f"{panel}, mean regret from the least: {ranking}."


def against_each_other(results: StudyResults) -> Iterator[str]:
    """The best sampler on a network less the best neural agent, by runs with the same random numbers."""
    words: dict[str, list[str]] = {"less": [], "more": [], "no different": []}
    for panel, cells in by_panel(results).items():
        sampled = [cell for cell in cells if cell.flat.get("reward") in ("mlp", "neural_linear")]
        trained = [cell for cell in cells if cell.flat["agent"] in NEURAL]
        if not (sampled and trained):
            continue
        gap = paired_difference(results.final(sampled[0]), results.final(trained[0]))
        word = "less" if gap.high < 0 else "more" if gap.low > 0 else "no different"
        names = f"{algorithm(sampled[0])} against {algorithm(trained[0])}"
        words[word].append(f"{panel} ({names}: {gap.format()})")
    for word, panels in words.items():
        if panels:
            verb = "from" if word == "no different" else "than"
            yield (
                f"Regret of the best sampler on a network, {word} {verb} that of the best neural agent in "
                f"{counted(len(panels), 'panel')}: {', '.join(panels)}. Both were chosen among several by these runs."
            )


def diagnostics_and_regret(results: StudyResults) -> Iterator[str]:
    """Whether the total variation of actions ranks samplers as regret does, and R-hat does not."""
    cells = [cell for cell in results.done if _is_probed(results, cell)]
    if not cells:
        return
    values = np.concatenate([np.ravel(diagnostic(results.data[cell.id], TELLS)) for cell in cells])
    gated = int(np.isfinite(values).sum())
    yield (
        f"Of {counted(values.size, 'probe')} of samplers on networks, {gated} have a reference: exact draws of the "
        "last layer, or NUTS chains that passed the gate."
    )
    tells, silent = (_correlation(results, cells, metric) for metric in (TELLS, SILENT))
    if not np.isfinite(tells.low) or not np.isfinite(silent.low):
        yield "Too few samplers have both diagnostics: no verdict on what total variation and R-hat tell of regret."
        return
    if tells.low > 0:
        verdict = "still holds on networks" if silent.contains_zero else "holds in its first half only"
    else:
        verdict = "is not confirmed on networks"
    yield (
        f"What was found in the linear case (total variation tells regret, R-hat does not) {verdict}: Spearman of "
        f"total variation with regret {tells.format('+.2f')}, of R-hat {silent.format('+.2f')}, over "
        f"{counted(len(cells), 'cell')}, ranked within environment and reward."
    )


def _is_probed(results: StudyResults, cell: Cell) -> bool:
    on_network = cell.flat.get("reward") in ("mlp", "neural_linear") and cell.flat.get("sampler") != "exact"
    return on_network and "diagnostics" in results.data[cell.id].children


def _correlation(results: StudyResults, cells: Sequence[Cell], metric: str) -> Interval:
    """Rank correlation over samplers of a diagnostic's median with mean regret, within environment and reward."""
    units = list(dict.fromkeys((cell.flat["sampler"], cell.flat.get("sampler.num_steps")) for cell in cells))
    columns = list(dict.fromkeys((results.panels[cell.id], cell.flat["reward"]) for cell in cells))
    table = np.full((2, len(units), len(columns)), np.nan)
    for cell in cells:
        row = units.index((cell.flat["sampler"], cell.flat.get("sampler.num_steps")))
        column = columns.index((results.panels[cell.id], cell.flat["reward"]))
        quality = known_median(diagnostic(results.data[cell.id], metric))
        table[:, row, column] = quality, results.final(cell).mean()
    return spearman(table[0], table[1], [" ".join(column) for column in columns])
