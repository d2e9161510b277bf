"""What the paper claims of its Figure 2: the ablation of c."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.analysis.hyperparameters import LEVELS, Setting, TunedAlgorithm
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import bootstrap, paired_difference
from experiments.analysis.verdicts import Evidence, Verdict

C = "posterior.c"  # the scale of the feel-good term
SMALL = 0.01  # a c up to this is close to 0, where the theory's is of order 1


def claims(results: StudyResults) -> Iterator[Verdict]:
    """The best c is bounded away from 0 in sparse noise, and close to 0 in dense noise."""
    algorithms = results.tuned_algorithms
    for panel in dict.fromkeys(algorithm.panel for algorithm in algorithms):
        ablations = list(_ablations([algorithm for algorithm in algorithms if algorithm.panel == panel]))
        if panel.startswith("sparse"):
            yield Verdict(
                "Experiments, Figure 2",
                f"{panel} noise: c bounded away from 0 is better than c=0",
                f"regret at the best c above {SMALL:g}, which is chosen on the other seed, less regret at c=0, paired; "
                f"holds if the interval is below 0. A c up to {SMALL:g} counts as close to 0.",
                tuple(evidence for ablation in ablations for evidence in _gain(results, ablation)),
            )
        else:
            yield Verdict(
                "Experiments, Figure 2",
                f"{panel} noise: the best c is close to 0",
                "the c of the grid with the least mean regret, with a bootstrap interval; holds if that ends at "
                f"{SMALL:g} or before, where the theory's c is of order 1.",
                tuple(_best(results, ablation) for ablation in ablations),
            )


class Ablation(NamedTuple):
    """An algorithm at one level of tuning, along c."""

    condition: str
    at: Mapping[float, Setting]
    settings: Mapping[float, str]  # c and the other settings


def _ablations(algorithms: Sequence[TunedAlgorithm]) -> Iterator[Ablation]:
    for name in dict.fromkeys(algorithm.name for algorithm in algorithms):
        for level in LEVELS:
            at, settings = {}, {}
            for algorithm in algorithms:
                if algorithm.name == name and (chosen := algorithm.at(level)) is not None:
                    c = float(chosen.cell.flat[C])
                    at[c], settings[c] = chosen, algorithm.describe(level)
            if len(at) > 1:
                yield Ablation(f"{name}, {level} settings", at, settings)


def _gain(results: StudyResults, ablation: Ablation) -> Iterator[Evidence]:
    """Regret at the best c that is not small against that at c = 0."""
    tried = {
        c: chosen.tuning_regret
        for c, chosen in ablation.at.items()
        if c > SMALL and np.isfinite(chosen.tuning_regret)
    }
    if 0.0 in ablation.at and tried:
        best = min(tried, key=lambda c: tried[c])
        gap = paired_difference(results.final(ablation.at[best].cell), results.final(ablation.at[0.0].cell))
        both = " against ".join(ablation.settings[c] or "no hyperparameter" for c in (best, 0.0))
        yield Evidence(ablation.condition, gap, gap.high < 0, f"best: {both}")


def _best(results: StudyResults, ablation: Ablation) -> Evidence:
    """The c with the least mean regret."""
    grid = np.array(sorted(ablation.at))
    regret = np.stack([results.final(ablation.at[c].cell) for c in grid], axis=1)
    best = bootstrap(regret, lambda rows: grid[np.argmin(rows.mean(axis=-2), axis=-1)])
    least = int(np.argmin(regret.mean(axis=0)))
    note = f"{ablation.settings[float(grid[least])]}: regret {regret[:, least].mean():.3g}"
    if grid[0] == 0 and least:
        note += f", {regret[:, 0].mean():.3g} with {ablation.settings[0.0]}"
    return Evidence(ablation.condition, best, best.high <= SMALL, note)
