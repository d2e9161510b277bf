"""What diagnostics say of a cell, and what is true of it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from experiments.analysis.arrays import diagnostic
from experiments.analysis.diagnostics_vs_regret import wrong_actions
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, known_median
from fgtsva_ppl.diagnostics import METRICS, ProbeSizes

SETTINGS = ("posterior.c", "sampler.spread", "sampler.contamination", "sampler.stuck")
MIN_ESS = 100 * ProbeSizes().num_chains


class Sign(NamedTuple):
    """When a diagnostic that needs no exact draws looks good."""

    rule: str
    good: Callable[[float], bool]


SIGNS = {
    "rhat": Sign("below 1.1", lambda x: x < 1.1),
    "nested_rhat": Sign("below 1.1", lambda x: x < 1.1),
    "ess_bulk": Sign("above 100 a chain", lambda x: x > MIN_ESS),
    "ess_tail": Sign("above 100 a chain", lambda x: x > MIN_ESS),
    "mcse": Sign("below 0.1 sd", lambda x: x < 0.1),
    "ebfmi": Sign("above 0.3", lambda x: x > 0.3),
    "num_divergent": Sign("none", lambda x: x == 0),
    "fraction_moved": Sign("above 0.1", lambda x: x > 0.1),
    "acceptance_rate": Sign("above 0.5", lambda x: x > 0.5),
}
NO_ALARM = "acceptance_rate"  # a low one is a cost, not an error


class Examined(NamedTuple):
    """A cell as its diagnostics show it, and as it is."""

    label: str
    wrong: bool  # the action distribution, against exact draws
    good: Mapping[str, bool]  # by sign; a diagnostic that does not apply to the sampler is left out
    regret_gap: Interval
    environment: str = ""
    medians: Mapping[str, float] = MappingProxyType({})

    @property
    def alarms(self) -> list[str]:
        """The diagnostics without exact draws that look bad."""
        return [METRICS[key].heading for key, good in self.good.items() if not good and key != NO_ALARM]

    @property
    def costly(self) -> bool:
        """Whether regret is above that of exact draws."""
        return self.regret_gap.low > 0


def examine(results: StudyResults) -> list[Examined]:
    """The cells whose actions can be compared with those of exact draws."""
    cells = []
    for pair in results.pairs:
        wrong = wrong_actions(pair.data)
        if wrong is None:
            continue
        names = ("total_variation", "total_variation_floor", *SIGNS)
        medians = {name: known_median(diagnostic(pair.data, name)) for name in names}
        good = {key: sign.good(medians[key]) for key, sign in SIGNS.items() if not np.isnan(medians[key])}
        cells.append(Examined(pair.label(*SETTINGS), wrong, good, pair.regret_gap, pair.environment, medians))
    return cells
