"""Figures of the regret gap to exact draws: cell by cell, and against diagnostics."""

import itertools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from experiments.analysis.arrays import diagnostic
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, known_median
from experiments.config.labels import by_panel, labels_of
from experiments.figures.labels import mark
from experiments.figures.style import MARKERS, handles_below, marked, panels_of, plain_axis, style
from experiments.figures.suitable import pairs_of
from experiments.figures.sweeps import total_variation_floor
from fgtsva_ppl.diagnostics import METRICS

LINEAR = 2.0  # gaps up to this are drawn linearly where others are far larger
FAR = 20.0  # far larger: beyond this
SCALES = f"(linear up to {LINEAR:g}, logarithmic beyond)"
FROM_FLOOR = 0.8  # width of the line from a cell's floor of total variation to its own
ROW, LETTER = 0.24, 0.08  # inches
SHOWN = ("total_variation", "nested_rhat", "rhat", "covariance_error")  # against the gap, in this order


@style()
def by_cell(results: StudyResults) -> Figure:
    """Each cell's gap with its interval, a cell a row and an environment a panel; the largest on top."""
    cells = [pair.cell for pair in pairs_of(results)]
    labels, gaps = labels_of(cells), results.regret_gaps
    panels = by_panel(cells)
    largest: dict[str, float] = {}
    for cell in cells:
        largest[labels[cell.id]] = max(largest.get(labels[cell.id], -math.inf), gaps[cell.id].value)
    rows = sorted(largest, key=lambda label: -largest[label])
    names = tuple(dict.fromkeys(str(cell.flat["sampler"]) for cell in cells))
    width = 3.0 + LETTER * max(map(len, rows))
    figure, axes = panels_of(len(panels), max(4.4, width), ROW * len(rows) + 1.4)
    for ax, (title, members) in zip(axes, panels.items(), strict=False):
        for cell in members:
            gap, y = gaps[cell.id], rows.index(labels[cell.id])
            shown = marked(str(cell.flat["sampler"]), names)
            bar = ax.errorbar(gap.value, y, xerr=_bar(gap), marker="o", ms=5, capsize=2, lw=1, **shown)
            mark(bar.get_children(), cell.id)
        ax.axvline(0, color="black", ls="--", lw=1)
        ax.set(title=title)
        _gap_axis(ax, "x", [gaps[cell.id] for cell in members])
        ax.set_yticks(range(len(rows)), rows if ax in axes[::2] else [""] * len(rows), fontsize=10)
        ax.set_ylim(len(rows) - 0.4, -0.6)
    return figure


@style()
def against_quality(results: StudyResults) -> Figure:
    """Each diagnostic's median against the mean regret gap to exact draws, a point a cell, coloured by sampler.

    Total variation has a Monte Carlo floor, which differs between cells: a thin line leads from it to the point.
    A diagnostic that is infinite (R-hat of chains that do not move) is drawn as an arrow at the right edge.
    """
    pairs = pairs_of(results, probed=True)
    figure = Figure(figsize=(9.0, 7.6))
    axes = figure.subplots(2, 2).ravel()
    environments = dict.fromkeys(pair.environment for pair in pairs)
    markers = dict(zip(environments, itertools.cycle(MARKERS), strict=False))
    names = tuple(dict.fromkeys(pair.sampler for pair in pairs))
    gaps, floors = [pair.regret_gap for pair in pairs], [total_variation_floor(pair.data) for pair in pairs]
    for ax, metric in zip(axes, SHOWN, strict=True):
        medians = np.array([known_median(diagnostic(pair.data, metric)) for pair in pairs])
        finite = medians[np.isfinite(medians)]
        edge = float(finite.max()) * 1.3 if finite.size else 1.0
        for pair, gap, x, floor in zip(pairs, gaps, medians, floors, strict=True):
            marker = markers[pair.environment] if np.isfinite(x) else ">"
            at = edge if np.isposinf(x) else x
            shown = marked(pair.sampler, names)
            bar = ax.errorbar(at, gap.value, _bar(gap), marker=marker, ms=6, capsize=2, lw=1, **shown)
            mark(bar.get_children(), pair.cell.id)
            if metric == "total_variation" and np.isfinite(floor):
                mark(ax.plot([floor, at], [gap.value] * 2, lw=FROM_FLOOR, color=shown["color"]), pair.cell.id)
        ax.axhline(0, color="black", ls="--", lw=1)
        ax.set(xlabel=METRICS[metric].doc)
        _gap_axis(ax, "y", gaps)
        if finite.size and finite.min() > 0 and finite.max() > 5 * finite.min():
            ax.set_xscale("log")
            plain_axis(ax.xaxis, decades=2.5)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for ax in axes[1::2]:
        ax.set_ylabel("")
    handles = [Line2D([], [], marker="o", ls="", label=name, **marked(name, names)) for name in names]
    handles += [
        Line2D([], [], color="grey", marker=marker, ls="", label=name) for name, marker in markers.items()
    ]
    handles += (
        [Line2D([], [], label="from its floor of TV", lw=FROM_FLOOR, color="grey")]
        if np.any(np.isfinite(floors))
        else []
    )
    handles_below(figure, {str(handle.get_label()): handle for handle in handles})
    return figure


def _bar(gap: Interval) -> list[list[float]]:
    return [[max(0.0, gap.value - gap.low)], [max(0.0, gap.high - gap.value)]]  # rounding may give -1e-17


def _gap_axis(ax: Axes, which: Literal["x", "y"], gaps: Sequence[Interval]) -> None:
    """Sets up the axis of gaps: linear, or logarithmic on both sides of zero where some are far larger."""
    low = min(-1.0, *(end for gap in gaps for end in (gap.value, gap.low)))
    high = max(1.0, *(end for gap in gaps for end in (gap.value, gap.high)))
    label, axis = "regret gap to exact", ax.xaxis if which == "x" else ax.yaxis
    if max(-low, high) > FAR:
        (ax.set_xscale if which == "x" else ax.set_yscale)("symlog", linthresh=LINEAR)
        ax.set(**{f"{which}lim": (1.5 * low, 1.5 * high)})
        axis.set_major_locator(
            FixedLocator(_symmetric_ticks(1.5 * max(-low, high), 100.0 if which == "x" else 1000.0))
        )
        label += f"\n{SCALES}"
    ax.set(**{f"{which}label": label})
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _symmetric_ticks(reach: float, few: float = 1000.0) -> list[float]:
    """Ticks of an axis that is logarithmic on both sides of zero; up to `few` also between powers of ten."""
    powers = [10.0**power for power in range(math.ceil(math.log10(reach)) + 1)]
    steps = [step * power for power in powers for step in ((1, 2, 5) if reach < few else (1,))]
    return [0.0, *steps, *(-step for step in steps)]
