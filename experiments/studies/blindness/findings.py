"""Findings of the study `blindness`: which diagnostics look good where the sampler is wrong, and the reverse."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.analysis.arrays import diagnostic
from experiments.analysis.diagnostics_vs_regret import wrong_actions
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, known_median
from experiments.config.text import counted
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

    @property
    def alarms(self) -> list[str]:
        """The diagnostics without exact draws that look bad."""
        return [METRICS[key].heading for key, good in self.good.items() if not good and key != NO_ALARM]

    @property
    def costly(self) -> bool:
        """Whether regret is above that of exact draws."""
        return self.regret_gap.low > 0


def findings(results: StudyResults) -> list[str]:
    """What the diagnostics miss, what the cells show together, then each cell."""
    sentences, cells = [], []
    for pair in results.pairs:
        wrong = wrong_actions(pair.data)
        if wrong is None:
            continue
        names = ("total_variation", "total_variation_floor", *SIGNS)
        medians = {name: known_median(diagnostic(pair.data, name)) for name in names}
        good = {key: sign.good(medians[key]) for key, sign in SIGNS.items() if not np.isnan(medians[key])}
        cell = Examined(pair.label(*SETTINGS), wrong, good, pair.regret_gap)
        cells.append(cell)
        effect = (
            "less than" if cell.regret_gap.high < 0 else "more than" if cell.costly else "no different from"
        )
        text = f"{pair.environment}: {cell.label}: actions {'wrong' if wrong else 'right'} "
        text += f"(TV {medians['total_variation']:.2f}, floor {medians['total_variation_floor']:.2f}), "
        text += f"regret {effect} exact ({cell.regret_gap.format()}); "
        text += f"bad: {', '.join(cell.alarms)}" if cell.alarms else "what needs no exact draws looks fine"
        text += f" ({', '.join(f'{METRICS[key].heading} {_two_digits(medians[key])}' for key in good)}"
        silent = [METRICS[key].heading for key in SIGNS if key not in good]
        sentences.append(text + (f"; does not apply: {', '.join(silent)})." if silent else ")."))
    if not cells:
        return []
    actions, regret = by_diagnostic(cells)
    spots = blind_spots(cells)
    return [actions, *spots[:1], regret, *spots[1:], *sentences]


def _two_digits(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}"


def by_diagnostic(cells: Sequence[Examined]) -> tuple[str, str]:
    """Which diagnostics look good where something is wrong, and bad where nothing is: with actions, with regret."""
    return (
        _counts(cells, lambda cell: cell.wrong, "actions are wrong"),
        _counts(cells, lambda cell: cell.costly, "regret is above that of exact draws"),
    )


def _counts(cells: Sequence[Examined], is_bad: Callable[[Examined], bool], what: str) -> str:
    bad, fine = ([cell for cell in cells if is_bad(cell) is side] for side in (True, False))
    misses = {key: [cell.good[key] for cell in bad if key in cell.good] for key in SIGNS}
    false_alarms = {key: [not cell.good[key] for cell in fine if key in cell.good] for key in SIGNS}
    missing = [
        f"{METRICS[key].heading} ({SIGNS[key].rule}) in {_share(known, len(bad))}"
        for key, known in sorted(misses.items(), key=lambda item: -sum(item[1]))
        if any(known)
    ]
    alarming = [
        f"{METRICS[key].heading} in {_share(known, len(fine))}"
        for key, known in false_alarms.items()
        if any(known)
    ]
    return (
        f"Where {what}, in {len(bad)} of {counted(len(cells), 'cell')}, these diagnostics look good: "
        f"{', '.join(missing) or 'none'}; in the other {len(fine)} these look bad: {', '.join(alarming) or 'none'}."
    )


def _share(known: Sequence[bool], num_cells: int) -> str:
    """How many, and of how many where a diagnostic does not apply to all cells."""
    return f"{sum(known)}" if len(known) == num_cells else f"{sum(known)} of {len(known)}"


def blind_spots(cells: Sequence[Examined]) -> list[str]:
    """What the cells say together."""
    kinds: dict[str, Callable[[Examined], bool]] = {
        "Actions wrong, with less regret than exact draws": lambda s: s.wrong and s.regret_gap.high < 0,
        "More regret than exact draws, and no sign of it without them": lambda s: s.costly and not s.alarms,
        "Actions wrong, and no sign of it without exact draws": lambda s: s.wrong and not s.alarms,
        "Actions wrong, with an acceptance above one half": lambda s: (
            s.wrong and s.good.get("acceptance_rate", False)
        ),
        "Actions right, although some diagnostic looks bad": lambda s: not s.wrong and bool(s.alarms),
        "Actions right, with more regret than exact draws": lambda s: not s.wrong and s.costly,
    }
    sentences = []
    for kind, holds in kinds.items():
        those = [cell for cell in cells if holds(cell)]
        if those:
            names = ", ".join(cell.label for cell in those)
            sentences.append(f"{kind}: {len(those)} of {counted(len(cells), 'cell')} ({names}).")
    return sentences
