"""Figures of the study `table1`: regret against the dimension and the total variance, and fitted exponents."""

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from experiments.analysis.hyperparameters import LEVELS
from experiments.analysis.results import StudyResults
from experiments.figures.comparison_plots import FILLED, plain_axes, points
from experiments.figures.draw import Draft
from experiments.figures.style import distinct, handles_below, legend_below, panels_of, style
from experiments.studies.table1.scaling import AXES, Line, scaling_lines
from samplers.errors import InputError

THEORY: Any = {"color": "0.6", "linewidth": 4, "solid_capstyle": "butt"}


def figures(results: StudyResults) -> dict[str, Draft]:
    """Both figures; none where no axis has two points."""
    if not scaling_lines(results):
        return {}
    return {
        "exponents": Draft(
            partial(exponents, results),
            "how regret scales",
            "Fitted exponents with 95% intervals, hollow at textbook settings; grey bars are the theory's.",
        ),
        "scaling": Draft(
            partial(along_axes, results),
            "regret against the dimension and the total variance",
            "Final regret against the dimension and the total variance; bars are 95% intervals.",
        ),
    }


def _lines(results: StudyResults) -> list[Line]:
    lines = scaling_lines(results)
    if not lines:
        raise InputError("this figure needs algorithms at two values of d, p or scale, like study=table1")
    return lines


@style()
def along_axes(results: StudyResults) -> Figure:
    """Final regret against d and Lambda, an axis a row, textbook settings beside tuned ones."""
    lines = _lines(results)
    axes_shown = [axis for axis in AXES if any(line.axis == axis for line in lines)]
    levels = [level for level in LEVELS if any(line.level == level for line in lines)]
    looks = distinct(list(dict.fromkeys(line.name for line in lines)))
    figure = Figure(figsize=(max(4.6 * len(levels), 7.0), 3.2 * len(axes_shown)))
    axes = figure.subplots(len(axes_shown), len(levels), squeeze=False, sharex="row", sharey=True)
    for row, axis in zip(axes, axes_shown, strict=True):
        for ax, level in zip(row, levels, strict=True):
            for line in lines:
                if (line.level, line.axis) == (level, axis):
                    points(ax, line.x, line.regret, line.name, looks[line.name])
            ax.set(title=f"along {axis.name}, {level} settings", xscale="log", yscale="log")
            ax.set_xlabel({"dim": "d", "p": "p", "scale": "scale²"}[axis.along])
            plain_axes(ax)
            at = sorted({float(x) for line in lines if line.axis == axis for x in line.x})
            ax.xaxis.set_major_locator(FixedLocator(at))
        row[0].set_ylabel("final regret")
    legend_below(figure, axes)
    return figure


@style()
def exponents(results: StudyResults) -> Figure:
    """Fitted exponents with their intervals, hollow at textbook settings; the theory's as a grey bar."""
    lines = _lines(results)
    axes_shown = [axis for axis in AXES if any(line.axis == axis for line in lines)]
    names = list(dict.fromkeys(line.name for line in lines))
    looks = distinct(names)
    figure, axes = panels_of(len(axes_shown), 5.0, 0.5 * len(names) + 1.2)
    for ax, axis in zip(axes, axes_shown, strict=False):
        for line in lines:
            if line.axis != axis:
                continue
            y = names.index(line.name) + (-0.14 if line.level == "textbook" else 0.14)
            fitted = line.exponent
            error = np.maximum([[fitted.value - fitted.low], [fitted.high - fitted.value]], 0)  # rounding
            ax.errorbar(
                fitted.value, y, xerr=error, marker="o", ms=6, capsize=2,
                color=looks[line.name]["color"], fillstyle=FILLED[line.level],
            )  # fmt: skip
            if line.theory is not None:
                ax.plot([line.theory] * 2, [round(y) - 0.35, round(y) + 0.35], zorder=1, **THEORY)
        ax.axvline(0, color="grey", lw=0.8)
        ax.set_title(f"exponent of regret in {axis.name}", fontsize=11)
        ax.set_yticks(range(len(names)), names if ax in axes[::2] else [""] * len(names))
        ax.set_ylim(len(names) - 0.5, -0.5)
    handles = {
        f"{level} settings": Line2D([], [], color="black", marker="o", lw=0, fillstyle=FILLED[level])
        for level in LEVELS
        if any(line.level == level for line in lines)
    }
    handles_below(figure, handles | {"theory": Line2D([], [], **THEORY)})
    return figure
