"""What diagnostics do not see: the reading of the study `blindness`."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.analysis.diagnostics_vs_regret import median_of, pairs, wrong_actions
from experiments.analysis.statistics import Interval
from experiments.analysis.text import counted
from experiments.config.cell import Cell
from experiments.storage.codecs import values
from fgtsva_ppl.diagnostics import Sizes

SETTINGS = ("posterior.c", "sampler.spread", "sampler.contamination", "sampler.stuck")
LEAST_ESS = 100 * Sizes().chains


class Sign(NamedTuple):
    """A diagnostic that needs no exact draws, and when it looks good."""

    name: str
    rule: str
    good: Callable[[float], bool]


SIGNS = {
    "rhat": Sign("R-hat", "below 1.1", lambda x: x < 1.1),
    "nested_rhat": Sign("nested R-hat", "below 1.1", lambda x: x < 1.1),
    "ess_bulk": Sign("bulk ESS", "above 100 a chain", lambda x: x > LEAST_ESS),
    "ess_tail": Sign("tail ESS", "above 100 a chain", lambda x: x > LEAST_ESS),
    "mcse": Sign("MCSE", "below 0.1 sd", lambda x: x < 0.1),
    "ebfmi": Sign("E-BFMI", "above 0.3", lambda x: x > 0.3),
    "divergences": Sign("divergences", "none", lambda x: x == 0),
    "unique": Sign("share of moves", "above 0.1", lambda x: x > 0.1),
    "acceptance_rate": Sign("acceptance", "above 0.5", lambda x: x > 0.5),
}
NO_ALARM = "acceptance_rate"  # a low one is a cost, not an error


class Seen(NamedTuple):
    """A cell in the eyes of its diagnostics."""

    label: str
    wrong: bool  # the action distribution, against exact draws
    good: Mapping[str, bool]  # by sign; a diagnostic that does not apply to the sampler is left out
    gap: Interval

    @property
    def alarms(self) -> list[str]:
        """What looks bad without exact draws."""
        return [SIGNS[key].name for key, good in self.good.items() if not good and key != NO_ALARM]

    @property
    def costly(self) -> bool:
        """Whether regret is above that of exact draws."""
        return self.gap.low > 0


def blindness(cells: Sequence[Cell], data: Mapping[str, xr.DataTree]) -> list[str]:
    """What the diagnostics do and do not see, what the cells say together, then each."""
    sentences, found = [], []
    for pair in pairs(cells, data):
        wrong = wrong_actions(pair.data)
        if wrong is None:
            continue
        measured = pair.data.children["diagnostics"]
        medians = {name: median_of(values(measured, name)) for name in ("tv", "tv_floor", *SIGNS)}
        good = {key: sign.good(medians[key]) for key, sign in SIGNS.items() if not np.isnan(medians[key])}
        seen = Seen(pair.label(*SETTINGS), wrong, good, pair.gap)
        found.append(seen)
        effect = "less than" if seen.gap.high < 0 else "more than" if seen.costly else "no different from"
        text = f"{pair.cell.flat['environment']}: {seen.label}: actions {'wrong' if wrong else 'right'} "
        text += f"(TV {medians['tv']:.2f}, floor {medians['tv_floor']:.2f}), "
        text += f"regret {effect} exact ({seen.gap.told()}); "
        text += f"bad: {', '.join(seen.alarms)}" if seen.alarms else "what needs no exact draws looks fine"
        text += f" ({', '.join(f'{SIGNS[key].name} {_short(medians[key])}' for key in good)}"
        silent = [sign.name for key, sign in SIGNS.items() if key not in good]
        sentences.append(text + (f"; does not apply: {', '.join(silent)})." if silent else ")."))
    if not found:
        return []
    actions, regret = by_diagnostic(found)
    spots = blind_spots(found)
    return [actions, *spots[:1], regret, *spots[1:], *sentences]


def _short(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}"


def by_diagnostic(found: Sequence[Seen]) -> tuple[str, str]:
    """Which diagnostics look good where something is wrong, and bad where nothing is: with actions, with regret."""
    return (
        _counts(found, lambda seen: seen.wrong, "actions are wrong"),
        _counts(found, lambda seen: seen.costly, "regret is above that of exact draws"),
    )


def _counts(found: Sequence[Seen], ill: Callable[[Seen], bool], what: str) -> str:
    sick, sound = ([seen for seen in found if ill(seen) is side] for side in (True, False))
    blind = {key: [seen.good[key] for seen in sick if key in seen.good] for key in SIGNS}
    shy = {key: [not seen.good[key] for seen in sound if key in seen.good] for key in SIGNS}
    told = [
        f"{SIGNS[key].name} ({SIGNS[key].rule}) in {_share(known, len(sick))}"
        for key, known in sorted(blind.items(), key=lambda item: -sum(item[1]))
        if any(known)
    ]
    bad = [f"{SIGNS[key].name} in {_share(known, len(sound))}" for key, known in shy.items() if any(known)]
    return (
        f"Where {what}, in {len(sick)} of {counted(len(found), 'cell')}, these diagnostics look good: "
        f"{', '.join(told) or 'none'}; in the other {len(sound)} these look bad: {', '.join(bad) or 'none'}."
    )


def _share(known: Sequence[bool], cells: int) -> str:
    """How many, and of how many where a diagnostic does not apply to all cells."""
    return f"{sum(known)}" if len(known) == cells else f"{sum(known)} of {len(known)}"


def blind_spots(found: Sequence[Seen]) -> list[str]:
    """What the cells say together."""
    kinds: dict[str, Callable[[Seen], bool]] = {
        "Actions wrong, with less regret than exact draws": lambda s: s.wrong and s.gap.high < 0,
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
        those = [seen for seen in found if holds(seen)]
        if those:
            names = ", ".join(seen.label for seen in those)
            sentences.append(f"{kind}: {len(those)} of {counted(len(found), 'cell')} ({names}).")
    return sentences
