"""The leaderboard's figure: errors against gradients, and against seconds."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import handles_below, look, style
from experiments.targets.leaderboard import ERRORS
from experiments.targets.worker import REFERENCE
from samplers.registry import SAMPLERS

MAIN = "sliced_wasserstein"
COSTS = {"gradients": "gradients per chain + 1", "seconds": "seconds of one core per chain"}


@style()
def error_figure(table: pd.DataFrame) -> Figure:
    """A column per target. First the sliced Wasserstein distance against seconds, then all errors against gradients.

    Lines are cold, crosses follow; one's own samplers are black. The dotted line is as many reference draws.
    """
    targets = list(dict.fromkeys(table["target"]))
    samplers = [name for name in dict.fromkeys(table["sampler"]) if name != REFERENCE]
    panels = [(MAIN, "gradients"), (MAIN, "seconds"), *((e, "gradients") for e in ERRORS if e != MAIN)]
    figure = Figure(figsize=(2.9 * len(targets) + 1, 2.4 * len(panels)))
    axes = figure.subplots(len(panels), len(targets), squeeze=False, sharey="row")
    handles = {}
    for row, (error, cost) in zip(axes, panels, strict=True):
        for ax, target in zip(row, targets, strict=True):
            here = table[(table["target"] == target) & (table["status"] == "done")]
            for name in samplers:
                handles[name] = _line(ax, here[here["sampler"] == name], error, cost, _look(name))
            for level in here[here["sampler"] == REFERENCE][error]:
                ax.axhline(level, color="0.5", linestyle=":")
            if len(here[here["sampler"] != REFERENCE]):
                ax.set_xscale("log")
            ax.set_yscale("symlog", linthresh=0.01)
            ax.set_ylim(bottom=0)
            ax.set_xlabel(COSTS[cost], fontsize="x-small")
            if error == MAIN and cost == "gradients":
                ax.set_title(target)
        row[0].set_ylabel(ERRORS[error], fontsize="x-small")
    handles_below(figure, handles)
    figure.set_layout_engine("constrained")
    return figure


def _look(name: str) -> dict[str, object]:
    if name not in SAMPLERS.names():
        return {"color": "black", "linestyle": "-", "linewidth": 2.5, "zorder": 3}
    return look(name) | {"linewidth": 1.0}


def _line(ax: Axes, own: pd.DataFrame, error: str, cost: str, appearance: dict[str, object]) -> object:
    shift = 1 if cost == "gradients" else 0
    cold, warm = own[own["mode"] == "cold"], own[own["mode"] == "following"]
    extra = {"marker": "o", "markersize": 2.5}
    (line,) = ax.plot(cold[cost] + shift, cold[error], **appearance, **extra)  # type: ignore[arg-type]
    ax.plot(warm[cost] + shift, warm[error], color=str(appearance["color"]), marker="x", linestyle="none")
    return line
