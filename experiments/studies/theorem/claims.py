"""What the paper's main theorem claims: expected regret is below its bound."""

from collections.abc import Iterator

import numpy as np

from experiments.analysis.bounds import bound
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, mean_interval
from experiments.analysis.verdicts import Evidence, Verdict
from experiments.config.labels import by_panel, labels_of


def claims(results: StudyResults) -> Iterator[Verdict]:
    """Regret against the bound, where the theorem's conditions hold."""
    labels = labels_of(results.done)
    for panel, members in by_panel(results.done).items():
        evidence = []
        for cell in members:
            limit = bound(cell, np.array([cell.rounds]))
            if limit is None or not limit.conditions_hold:
                continue
            limits = {labels[cell.id]: limit.regret}
            if limit.stated is not None:
                limits[f"{labels[cell.id]}, the theorem's own c and bound"] = limit.stated
            regret = mean_interval(results.final(cell))
            for condition, (most,) in limits.items():
                if most < cell.rounds:
                    share = Interval(*(end / most for end in regret))
                    note = f"regret {regret.value:.3g}, bound {most:.4g}"
                    evidence.append(Evidence(condition, share, share.high < 1, note))
        yield Verdict(
            "Abstract and main theorem",
            f"{panel}: expected regret is below the bound",
            "mean regret over the bound with the constants of the proof at the cell's own c, and where that is the "
            "theorem's c over the theorem's 9/4 sqrt((alpha^2 T + Λ) Z dc) + dc as well; holds if the interval is "
            "below 1. A bound above the number of rounds says nothing, and is left out.",
            tuple(evidence),
        )
