"""What diagnostics do not see: the reading of the study `blindness`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.cells import Cell
from experiments.relation import median_of, pairs
from experiments.statistics import Interval
from experiments.store import values


class Seen(NamedTuple):
    """A cell in the eyes of its diagnostics."""

    label: str
    wrong: bool  # the action distribution, against exact draws
    shown: bool  # by R-hat, nested R-hat or unique draws, for which no exact draws are needed
    accepting: bool  # acceptance above one half
    gap: Interval


def blindness(cells: Sequence[Cell], data: Mapping[str, xr.DataTree]) -> list[str]:
    """What the cells say together, then each."""
    sentences, found = [], []
    for pair in pairs(cells, data):
        if "diagnostics" not in pair.data.children:
            continue
        measured = pair.data.children["diagnostics"]
        names = ("tv", "tv_floor", "rhat", "nested_rhat", "unique", "acceptance")
        medians = {name: median_of(values(measured, name)) for name in names}
        label = pair.label("posterior.c", "sampler.spread", "sampler.contamination", "sampler.stuck")
        wrong = medians["tv"] > 3 * medians["tv_floor"] + 0.02
        alarms = _alarms(medians)
        seen = Seen(label, wrong, bool(alarms), medians["acceptance"] > 0.5, pair.gap)
        found.append(seen)
        effect = "less" if seen.gap.high < 0 else "more" if seen.gap.low > 0 else "no different"
        text = f"{pair.cell.flat['environment']}: {label}: actions {'wrong' if wrong else 'right'} "
        text += f"(TV {medians['tv']:.2f}, floor {medians['tv_floor']:.2f}), "
        text += f"regret {effect} than exact ({seen.gap.told()}); "
        text += f"bad: {', '.join(alarms)}" if alarms else "what needs no exact draws looks fine"
        told = [f"{SIGNS[name]} {medians[name]:.2f}" for name in SIGNS if not np.isnan(medians[name])]
        silent = [SIGNS[name] for name in SIGNS if np.isnan(medians[name])]
        text += f" ({', '.join(told)}" + (f"; does not apply: {', '.join(silent)})" if silent else ")")
        sentences.append(text + ".")
    return blind_spots(found) + sentences


SIGNS = {
    "rhat": "R-hat",
    "nested_rhat": "nested R-hat",
    "unique": "share of moves",
    "acceptance": "acceptance",
}


def _alarms(medians: Mapping[str, float]) -> list[str]:
    """What looks bad without exact draws; a diagnostic that does not apply to a sampler is silent."""
    bad = {"rhat": medians["rhat"] > 1.1, "nested_rhat": medians["nested_rhat"] > 1.1}
    bad["unique"] = medians["unique"] < 0.1
    return [SIGNS[name] for name, alarm in bad.items() if alarm]


def blind_spots(found: Sequence[Seen]) -> list[str]:
    """What the cells say together."""
    kinds = {
        "wrong, and no sign of it without exact draws": [s for s in found if s.wrong and not s.shown],
        "wrong, with an acceptance above one half": [s for s in found if s.wrong and s.accepting],
        "right, although R-hat, nested R-hat or unique draws look bad": [
            s for s in found if not s.wrong and s.shown
        ],
        "wrong, with less regret than exact draws": [s for s in found if s.wrong and s.gap.high < 0],
        "right, with more regret than exact draws": [s for s in found if not s.wrong and s.gap.low > 0],
    }
    return [
        f"Actions {kind}: {len(those)} of {len(found)} cells ({', '.join(s.label for s in those)})."
        for kind, those in kinds.items()
        if those
    ]
