"""Figure of the study `drift`: distance from the oracle around the jump, and regret beyond exact draws after it."""

from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import mean_interval
from experiments.config.cell import REFERENCE
from experiments.figures.draw import Draft
from experiments.figures.style import error_bars, handles_below, handles_of, look, style
from experiments.studies.drift.recovery import (
    CARRIED,
    COLD,
    RESTARTED,
    WARM,
    Recovery,
    recoveries,
    regret_after,
)

DASHES: dict[str, Any] = {WARM: "-", CARRIED: "-", COLD: ":", RESTARTED: "-."}
MARKERS = {WARM: "o", CARRIED: "D", COLD: "v", RESTARTED: "s"}


def figures(results: StudyResults) -> dict[str, Draft]:
    """The two panels; none where nothing was probed around a jump."""
    if not recoveries(results):
        return {}
    return {
        "recovery": Draft(
            partial(around_jump, results),
            "distance from the oracle and regret around the jump",
            "Left: action-TV to exact draws from the same posterior above its Monte Carlo floor, mean with its 95% "
            "interval, against rounds since the jump (before it, left of the grey line). Right: regret since the jump "
            "beyond exact draws from the discounted posterior, mean over runs; bands are two standard errors.",
        )
    }


@style()
def around_jump(results: StudyResults) -> Figure:
    """TV against rounds since the jump, and the paired regret gap."""
    found = recoveries(results)
    figure = Figure(figsize=(10.0, 3.9))
    axes = figure.subplots(1, 2, squeeze=False)
    left, right = axes[0]
    reference = next((one for one in found if one.cell.flat["sampler"] == REFERENCE and one.discounted), None)
    for one in found:
        _distance(left, one)
        if reference is not None and one is not reference:
            _gap(right, results, one, reference)
    left.axvline(0, color="grey", lw=0.8)
    left.axhline(0, color="grey", lw=0.8)
    right.axhline(0, color="grey", lw=0.8)
    left.set_xscale("symlog", linthresh=1)
    ticks = [-50, -10, -1, 1, 10, 100]
    left.set_xticks(ticks, [str(tick) for tick in ticks])
    left.set(xlabel="rounds since the jump", ylabel="action-TV above its floor")
    right.set(xlabel="rounds since the jump", ylabel="regret beyond exact draws")
    handles_below(figure, handles_of(axes))
    return figure


def _look(one: Recovery) -> dict[str, Any]:
    own = look(str(one.cell.flat["sampler"]))
    if one.cell.flat["sampler"] == REFERENCE:
        return own | {"linestyle": "--" if one.discounted else (0, (1, 1))}
    return own | {"linestyle": DASHES[one.start]}


def _distance(ax: Axes, one: Recovery) -> None:
    mean, error = error_bars([mean_interval(column) for column in one.excess.T])
    marker = "" if one.cell.flat["sampler"] == REFERENCE else MARKERS[one.start]
    ax.errorbar(
        one.probes, mean, yerr=error, label=one.name, marker=marker, ms=4, capsize=2, lw=1.4, **_look(one)
    )


def _gap(ax: Axes, results: StudyResults, one: Recovery, reference: Recovery) -> None:
    gaps = regret_after(results, one.cell) - regret_after(results, reference.cell)
    since = np.arange(gaps.shape[1])
    mean, error = gaps.mean(axis=0), 2 * gaps.std(axis=0) / np.sqrt(len(gaps))
    own = _look(one)
    ax.plot(since, mean, label=one.name, **own)
    ax.fill_between(since, mean - error, mean + error, color=own["color"], alpha=0.12, linewidth=0)
