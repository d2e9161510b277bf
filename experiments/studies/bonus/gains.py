"""What the feel-good term saves, sampler by sampler."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from experiments.analysis.diagnostics_vs_regret import wrong_actions
from experiments.analysis.findings import Budget, budget_of
from experiments.analysis.results import StudyResults
from experiments.config.cell import Cell

C = "posterior.c"  # the scale of the feel-good term


class Gain(NamedTuple):
    """What a c above zero saves, which c were best, and whether sampling is accurate there.

    Attributes:
        saved: Regret at c = 0 minus that at the best c.
        best: The best c of each half of the runs.
        wrong: Whether actions are wrong at c = 0 or at a best c; None where that was not measured.
    """

    saved: Float[np.ndarray, " runs"]
    best: tuple[float, ...]
    wrong: bool | None = None


def gain(regret: Mapping[float, Float[np.ndarray, " runs"]]) -> Gain:
    """What the best c saves, by two-fold cross-validation over runs: a choice looks too good on its own runs.

    Args:
        regret: final regret by c, which must include c = 0.
    """
    saved = np.zeros_like(regret[0.0])
    halves = (slice(0, None, 2), slice(1, None, 2))
    best = []
    for half, other in (halves, halves[::-1]):
        best.append(min(regret, key=lambda c, other=other: regret[c][other].mean()))  # type: ignore[misc]
        saved[half] = regret[0.0][half] - regret[best[-1]][half]
    return Gain(saved, tuple(best))


def gains(results: StudyResults) -> dict[str, dict[Budget, Gain]]:
    """The gain of every sampler and budget, by environment."""
    lines: dict[str, dict[Budget, dict[float, Cell]]] = {}
    for cell in results.done:
        if C in cell.flat:
            line = lines.setdefault(cell.flat["environment"], {}).setdefault(budget_of(cell), {})
            line[float(cell.flat[C])] = cell
    found: dict[str, dict[Budget, Gain]] = {}
    for environment, here in lines.items():
        for who, line in here.items():
            if 0.0 not in line or len(line) < 2 or results.final(line[0.0]).size < 2:
                continue
            own = gain({c: results.final(cell) for c, cell in line.items()})
            wrong = [wrong_actions(results.data[line[c].id]) for c in (0.0, *own.best)]
            found.setdefault(environment, {})[who] = own._replace(wrong=None if None in wrong else any(wrong))
    return found
