"""Figure of the study `batches`: regret against m, and against gradients."""

from functools import partial

from matplotlib.figure import Figure

from experiments.analysis.results import StudyResults
from experiments.figures.draw import Draft
from experiments.figures.style import error_bars, handles_below, handles_of, look, plain_axis, style
from experiments.studies.batches.schedules import WITHIN, schedules


def figures(results: StudyResults) -> dict[str, Draft]:
    """The two panels; none where no sampler was run both in every round and more rarely."""
    if not any(one.every > 1 for one in schedules(results)):
        return {}
    return {
        "batches": Draft(
            partial(against_period, results),
            "regret against the rounds between two draws, and against gradients",
            "Left: final regret over that of the same sampler with m = 1, with 95% intervals, against m; filled, a "
            "draw is kept for m rounds, hollow, rewards come in batches of m and each round has a fresh draw; the grey "
            f"line is {WITHIN:g}. Right: final regret against the gradients of a run; numbers are m.",
        )
    }


@style()
def against_period(results: StudyResults) -> Figure:
    """Ratio of regrets against m; regret against gradients."""
    found = schedules(results)
    figure = Figure(figsize=(10.0, 3.9))
    axes = figure.subplots(1, 2, squeeze=False)
    left, right = axes[0]
    for batched in (False, True):
        for sampler in dict.fromkeys(one.sampler for one in found if one.batched is batched):
            line = [one for one in found if one.batched is batched and one.sampler == sampler]
            mean, error = error_bars([one.ratio for one in line])
            own = look(sampler) | ({"mfc": "white", "linestyle": ":"} if batched else {})
            label = f"{sampler}, rewards in batches" if batched else f"{sampler}, draw kept"
            left.errorbar(
                [one.every for one in line], mean, yerr=error, label=label, marker="o", ms=5, capsize=2, **own
            )
            if line[0].gradients > 0:
                height, bars = error_bars([one.mean for one in line])
                work = [one.gradients for one in line]
                right.errorbar(work, height, yerr=bars, label=label, marker="o", ms=5, capsize=2, **own)
                for one in line if not batched else ():
                    place = (one.gradients, one.mean.value)
                    right.annotate(
                        str(one.every), place, xytext=(4, 4), textcoords="offset points", fontsize=8
                    )
    left.axhline(WITHIN, color="grey", lw=0.8)
    left.set(xscale="log", yscale="log", xlabel="m, rounds", ylabel="regret over that with m = 1")
    plain_axis(left.xaxis)
    plain_axis(left.yaxis)
    right.set(xscale="log", yscale="log", xlabel="gradients of a run", ylabel="final regret")
    plain_axis(right.yaxis)
    handles_below(figure, handles_of(axes))
    return figure
