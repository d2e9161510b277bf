"""Small figures of claims: regret of a few cells against rounds, and numbers with intervals against a setting."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.cell import Cell
from experiments.figures.style import (
    COLOURS,
    DASHES,
    MARKERS,
    error_bars,
    handles_below,
    handles_of,
    plain_axis,
    style,
)
from experiments.storage.codecs import values

SIZE = (5.4, 3.3)  # inches; the page shows it in a column
POINTS = 200  # of a curve
BLACK = "exact draws"  # the line of this name is black and dashed


def _look(name: str, index: int) -> dict[str, Any]:
    if name == BLACK:
        return {"color": "black", "linestyle": "--"}
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}


@style()
def regret_lines(results: StudyResults, lines: Mapping[str, Cell], *, log: bool = False) -> Figure:
    """Mean cumulative regret against rounds, with bands of two standard errors.

    Args:
        results: the results of a study.
        lines: the cells by the name of their line.
        log: logarithmic axes, on which a slope is a growth exponent.
    """
    figure = Figure(figsize=SIZE)
    axes = figure.subplots(1, 1, squeeze=False)
    ax: Axes = axes[0, 0]
    for index, (name, cell) in enumerate(lines.items()):
        data = results.data[cell.id]
        t, regret = values(data, "round"), np.cumsum(values(data, "regret"), axis=1)
        spaced = np.geomspace(1, len(t), POINTS) if log else np.linspace(1, len(t), POINTS)
        keep = np.unique(spaced.astype(int)) - 1
        mean, error = regret.mean(axis=0)[keep], 2 * regret.std(axis=0)[keep] / np.sqrt(len(regret))
        look = _look(name, index)
        ax.plot(t[keep], mean, label=name, **look)
        low, high = mean - error, mean + error
        if log:  # of the logarithm, so that the band stays positive
            with np.errstate(divide="ignore", invalid="ignore"):
                factor = np.exp(error / mean)
                low, high = mean / factor, mean * factor
        ax.fill_between(t[keep], low, high, color=str(look["color"]), alpha=0.15, linewidth=0)
    ax.set(xlabel="round", ylabel="cumulative regret")
    if log:
        ax.set(xscale="log", yscale="log")
    handles_below(figure, handles_of(axes))
    return figure


@style()
def numbers_along(
    groups: Mapping[str, Mapping[float, Interval]],
    xlabel: str,
    ylabel: str,
    *,
    log: str = "",
    marks: Sequence[float] = (),
) -> Figure:
    """Numbers with intervals against a setting, a line a group.

    Args:
        groups: by the name of the line, the numbers by their place on the x axis.
        xlabel: label of the x axis.
        ylabel: label of the y axis.
        log: which axes are logarithmic: "x", "y", "xy" or none.
        marks: heights of grey lines to compare with.
    """
    figure = Figure(figsize=SIZE)
    axes = figure.subplots(1, 1, squeeze=False)
    ax: Axes = axes[0, 0]
    for index, (name, numbers) in enumerate(groups.items()):
        shown = {x: number for x, number in sorted(numbers.items()) if np.isfinite(number.value)}
        if not shown:
            continue
        mean, error = error_bars(list(shown.values()))
        look = _look(name, index)
        error = np.where(np.isfinite(error), np.maximum(error, 0), 0)
        ax.errorbar(
            list(shown),
            mean,
            yerr=error,
            label=name,
            marker=MARKERS[index % len(MARKERS)],
            ms=5,
            capsize=2,
            **look,
        )
    for height in marks:
        ax.axhline(height, color="grey", lw=0.8)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if "x" in log:
        ax.set_xscale("log")
        plain_axis(ax.xaxis)
    if "y" in log:
        ax.set_yscale("log")
        plain_axis(ax.yaxis)
    handles_below(figure, handles_of(axes))
    return figure


@style()
def named_numbers(numbers: Mapping[str, Interval], xlabel: str, *, marks: Sequence[float] = ()) -> Figure:
    """Numbers with intervals, a row each."""
    figure = Figure(figsize=(SIZE[0], 0.9 + 0.33 * len(numbers)))
    ax = figure.subplots(1, 1)
    for row, number in enumerate(numbers.values()):
        error = np.array([[number.value - number.low], [number.high - number.value]])
        error = np.where(np.isfinite(error), np.maximum(error, 0), 0)
        ax.errorbar(number.value, row, xerr=error, marker="o", ms=5, capsize=2, color=COLOURS[1])
    for place in marks:
        ax.axvline(place, color="grey", lw=0.8)
    ax.set_yticks(range(len(numbers)), list(numbers))
    ax.set_ylim(len(numbers) - 0.5, -0.5)
    ax.set_xlabel(xlabel)
    return figure
