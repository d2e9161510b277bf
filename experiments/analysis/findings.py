"""Sentences derived from the numbers of any study: the best algorithms, and the samplers as good as exact draws."""

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.analysis.arrays import final_regret
from experiments.analysis.costs import Cost
from experiments.analysis.hyperparameters import LEVELS
from experiments.analysis.pairs import Pair
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import MIN_UNITS
from experiments.analysis.summary import LARGE_REGRET, fraction_large_regret
from experiments.config.cell import REFERENCE, Cell
from experiments.config.text import counted, last_key
from fgtsva_ppl.diagnostics import METRICS

MANY = 10  # from this number of intervals on, some exclude zero by chance

STEPS = "sampler.num_steps"  # the setting that is a sampler's budget

type Budget = tuple[str, int]  # a sampler and its number of steps, 0 where it has none


def default_findings(results: StudyResults) -> list[str]:
    """Which algorithms lead where a study compares some, else which samplers keep up with exact draws."""
    if not results.tuned_algorithms:
        return added_regret(results.pairs) + best_diagnostics(results) + gaps_to_exact(results.pairs)
    return standings(results) if results.comparison.sweep is None else along_sweep(results)


def standings(results: StudyResults) -> list[str]:
    """Algorithms by their regret, at textbook and at tuned settings."""
    sentences = []
    for panel in dict.fromkeys(algorithm.panel for algorithm in results.tuned_algorithms):
        for level in LEVELS:
            regret = {
                (algorithm.name, algorithm.describe(level)): results.final(chosen.cell).mean()
                for algorithm in results.tuned_algorithms
                if algorithm.panel == panel and (chosen := algorithm.at(level)) is not None
            }
            order = sorted(regret, key=lambda key: regret[key])
            ranking = ", ".join(
                f"{name} {regret[name, setting]:.1f}"
                + (f" ({setting})" if setting and level == "tuned" else "")
                for name, setting in order
            )
            if order:
                sentences.append(f"{panel}, {level} settings, mean regret from the least: {ranking}.")
    return sentences


def along_sweep(results: StudyResults) -> list[str]:
    """Where along the study's varied setting each algorithm has its least regret."""
    sentences, key = [], str(results.comparison.sweep)
    algorithms = results.tuned_algorithms
    for panel, name, level in dict.fromkeys((a.panel, a.name, level) for a in algorithms for level in LEVELS):
        line = {
            chosen.cell.flat[key]: results.final(chosen.cell).mean()
            for algorithm in algorithms
            if (algorithm.panel, algorithm.name) == (panel, name)
            and (chosen := algorithm.at(level)) is not None
        }
        if line:
            best = min(line, key=lambda x: line[x])
            points = ", ".join(f"{x:g}: {regret:.1f}" for x, regret in line.items())
            sentences.append(
                f"{panel}: {name}, {level} settings, has its least mean regret at "
                f"{last_key(key)}={best:g} ({points})."
            )
    return sentences


def _by_environment(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    grouped: dict[str, list[Pair]] = {}
    for pair in pairs:
        grouped.setdefault(pair.environment, []).append(pair)
    return grouped


def added_regret(pairs: Sequence[Pair]) -> list[str]:
    """Which samplers have other regret than exact draws, in a sentence for all environments."""
    parts = []
    for environment, here in _by_environment(pairs).items():
        different = [pair for pair in here if not pair.regret_gap.contains_zero]
        names = [
            f"{pair.label()} {pair.regret_gap.value:+.1f}"
            if len(here) >= MANY
            else f"{pair.label()} {pair.regret_gap.format()}"
            for pair in different
        ]
        even = len(here) - len(different)
        names += [f"{even} of {len(here)} within sampling error"] if even else []
        parts.append(f"on {environment}: {', '.join(names)}")
    if not parts:
        return []
    return [f"Regret added to that of exact draws, by paired 95% intervals, {'; '.join(parts)}."]


def gaps_to_exact(pairs: Sequence[Pair]) -> list[str]:
    """Which samplers keep up with exact draws, environment by environment."""
    sentences = []
    for environment, here in _by_environment(pairs).items():
        level = final_regret(here[0].reference).mean()
        different = [pair for pair in here if not pair.regret_gap.contains_zero]
        even, many = [pair for pair in here if pair not in different], len(here) >= MANY
        text = f"{environment}: exact draws have a mean regret of {level:.1f}."
        if even:
            names = [
                pair.label() if many else f"{pair.label()} ({pair.regret_gap.format()})" for pair in even
            ]
            text += f" Within sampling error of it, by paired 95% intervals: {', '.join(names)}."
        for pair in different:
            large = fraction_large_regret(final_regret(pair.data), final_regret(pair.reference))
            median = np.median(pair.regret_gap_by_run)
            text += f" {pair.label()}: {pair.regret_gap.format()} per run, median {median:+.1f}, "
            text += f"{large:.0%} of runs above {LARGE_REGRET:g} times exact."
        if many:
            expected = f"{0.05 * len(here):.0f}"
            verb = "leaves" if expected == "1" else "leave"
            text += f" Of {len(here)} such intervals about {expected} {verb} 0 out by chance alone."
        sentences.append(text)
    return sentences


def best_diagnostics(results: StudyResults) -> list[str]:
    """Which diagnostics rank the samplers as regret does."""
    probed = results.probed_pairs
    samplers = len({pair.sampler for pair in probed})
    if samplers < MIN_UNITS:
        return []
    clear = {
        name: correlation
        for name, correlation in results.associations.items()
        if METRICS[name].of_sampler and np.isfinite(correlation.low) and not correlation.contains_zero
    }
    if not clear:
        return ["No diagnostic's rank correlation with the regret gap over these cells excludes zero."]
    best = sorted(clear.items(), key=lambda item: -abs(item[1].value))[:3]
    names = ", ".join(f"{name} (Spearman {correlation.format('+.2f')})" for name, correlation in best)
    whose = "its" if len(best) == 1 else "their"
    return [
        f"{names}: of all diagnostics, {whose} ranks go closest with those of the regret gap, over "
        f"{counted(len(probed), 'cell')} of {samplers} samplers."
    ]


def cheapest_samplers(costs: Mapping[tuple[str, str], Cost]) -> list[str]:
    """The least work that comes within a tenth of exact regret, in a sentence for all environments."""
    parts = []
    for environment in dict.fromkeys(case for case, _ in costs):
        here = {name: cost for (case, name), cost in costs.items() if case == environment}
        close = sorted(
            (cost.gradients_per_round, name)
            for name, cost in here.items()
            if np.isfinite(cost.gradients_per_round.value)
        )
        names = ", ".join(f"{name} ({format_work(here[name])})" for _, name in close[:4])
        parts.append(f"on {environment}: {names or 'none'}")
    return [f"Within 10% of exact regret for the least gradients, {'; '.join(parts)}."] if parts else []


def format_work(cost: Cost) -> str:
    """The gradients and seconds of closeness, with what their error leaves open."""
    gradients, seconds = cost.gradients_per_round, cost.seconds
    text = f"{counted(gradients.value, 'gradient')} a round"
    if (
        gradients.value <= 1 and cost.work != "num_steps"
    ):  # a kernel without gradients documents what it counts
        text += f", that is {cost.work}"
    if gradients.low < gradients.value:
        text += f", by its interval perhaps {gradients.low:.0f}"
    if not np.isfinite(gradients.high):
        text += ", surely at none of these settings"
    elif gradients.high > gradients.value:
        text += f", surely {gradients.high:.0f}"
    return f"{text}; {seconds.value:.1f} s"


def budget_of(cell: Cell) -> Budget:
    """A cell's sampler and its number of steps, 0 where it has none."""
    return str(cell.flat["sampler"]), int(cell.flat.get(STEPS, 0))


def format_budget(budget: Budget) -> str:
    """A sampler with its number of steps."""
    sampler, steps = budget
    if steps:
        return f"{sampler} at {counted(steps, 'step')}"
    return "exact draws" if sampler == REFERENCE else sampler
