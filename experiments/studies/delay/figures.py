"""Figure of the study `delay`: its cost against the delay, and along the rounds."""

from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.analysis.results import StudyResults
from experiments.figures.draw import Draft
from experiments.figures.style import error_bars, handles_below, handles_of, look, plain_axis, style
from experiments.studies.delay.costs import CONSTANT, DelayCost, delay_costs

OTHERS = {"geometric": "s", "heavy_tailed": "D"}


def figures(results: StudyResults) -> dict[str, Draft]:
    """The two panels; none where no sampler was run both with and without a delay."""
    if not delay_costs(results):
        return {}
    return {
        "delay": Draft(
            partial(cost_of_delay, results),
            "cost of a delay, and when it is paid",
            "Regret beyond that of the same sampler without a delay. Left: at the last round, with 95% intervals; the "
            "grey line is proportional to the delay. Right: along the rounds at the longest constant delay, with bands "
            "of two standard errors; dotted, a cost in proportion to the regret so far that ends at the same height. "
            "An additive cost is level at the end.",
        )
    }


@style()
def cost_of_delay(results: StudyResults) -> Figure:
    """Final cost against the delay, and its path."""
    found = delay_costs(results)
    figure = Figure(figsize=(10.0, 3.9))
    axes = figure.subplots(1, 2, squeeze=False)
    left, right = axes[0]
    constant = [one for one in found if one.distribution == CONSTANT] or found
    for sampler in dict.fromkeys(one.sampler for one in constant):
        line = sorted((one for one in constant if one.sampler == sampler), key=lambda one: one.delay)
        mean, error = error_bars([one.total for one in line])
        left.errorbar(
            [one.delay for one in line], mean, yerr=error, label=sampler, marker="o", ms=5, capsize=2, **look(sampler)
        )  # fmt: skip
        _path(right, line[-1])
    for one in found:
        if all(one is not other for other in constant):
            mean, error = error_bars([one.total])
            label = f"{one.sampler}, {one.distribution.replace('_', '-')} delays"
            own = look(one.sampler) | {"linestyle": ""}
            left.errorbar(
                [one.delay], mean, yerr=error, label=label, marker=OTHERS.get(one.distribution, "v"), ms=7, mfc="white",
                capsize=2, **own,
            )  # fmt: skip
    if constant:
        delays = np.array(sorted({one.delay for one in constant}), float)
        first = max(np.mean([one.total.value for one in constant if one.delay == delays[-1]]), 1e-9)
        left.plot(delays, first * delays / delays[-1], color="grey", lw=0.8, zorder=1)
    left.set(xscale="log", yscale="log", xlabel="delay in rounds", ylabel="cost in regret")
    plain_axis(left.xaxis)
    plain_axis(left.yaxis)
    right.axhline(0, color="grey", lw=0.8)
    right.set(xlabel="round", ylabel="cost so far")
    handles_below(figure, handles_of(axes))
    return figure


def _path(ax: Axes, one: DelayCost) -> None:
    mean, error = one.cost.mean(axis=0), 2 * one.cost.std(axis=0) / np.sqrt(len(one.cost))
    regret, own = one.regret.mean(axis=0), look(one.sampler)
    ax.plot(one.rounds, mean, label=one.sampler, **own)
    ax.fill_between(one.rounds, mean - error, mean + error, color=own["color"], alpha=0.12, linewidth=0)
    ax.plot(one.rounds, regret * mean[-1] / regret[-1], color=own["color"], linestyle=":", lw=1.0)
