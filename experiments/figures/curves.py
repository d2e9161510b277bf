"""Figures of regret against rounds."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.analysis.bounds import bound
from experiments.analysis.hyperparameters import LEVELS, TunedAlgorithm
from experiments.analysis.results import StudyResults
from experiments.config.cell import Cell
from experiments.config.labels import by_panel, labels_of
from experiments.config.text import last_key
from experiments.figures.labels import MAX_LABELS, LineEnd, label_ends, mark
from experiments.figures.style import (
    MARKERS,
    distinct,
    graded,
    legend_below,
    legend_beside,
    legend_spare,
    panels_of,
    plain_numbers,
    style,
    variants,
)
from experiments.figures.suitable import algorithms_along, algorithms_of, cells_of
from experiments.storage.codecs import values

POINTS = 400  # of a curve, enough for any screen
BAND = 2  # standard errors on either side of a mean


class Shown(NamedTuple):
    """A cell in a panel."""

    cell: Cell
    label: str
    appearance: dict[str, Any]


@style()
def regret_curves(results: StudyResults, rounds: int | None = None) -> Figure:
    """Cumulative regret against rounds, an environment a panel; bands are two standard errors on either side.

    Args:
        results: the results of a study.
        rounds: draws the cells of this horizon; all cells by default.
    """
    cells = cells_of(results, rounds)
    panels = by_panel(cells)
    labels, owners = labels_of(cells), _owners(cells)
    several = any(len(members) > len({owners[cell.id] for cell in members}) for members in panels.values())
    looks = variants({labels[cell.id]: owners[cell.id] for cell in cells}, several)
    figure, axes = panels_of(len(panels), 5.2, 4.0)
    labelled = not several and max(map(len, panels.values())) <= MAX_LABELS and not results.comparison.bounds
    for ax, (title, members) in zip(axes, panels.items(), strict=False):
        shown = [Shown(cell, labels[cell.id], looks[labels[cell.id]]) for cell in members]
        _panel(ax, results, shown)
        ax.set(title=title)
        if labelled:
            ax.set_xlim(right=max(cell.rounds for cell in members))
            label_ends(ax, [_end(results, *one) for one in shown])
    if not labelled:
        legend_spare(figure, axes, len(panels))
    return figure


def _end(results: StudyResults, cell: Cell, label: str, appearance: Mapping[str, Any]) -> LineEnd:
    return LineEnd(float(results.final(cell).mean()), label, appearance["color"], cell.id)


def _owners(cells: Sequence[Cell]) -> dict[str, str]:
    """The name that sets each line's colour: the sampler or agent, or the posterior where only that differs."""
    owners = {cell.id: str(cell.flat.get("sampler", cell.flat["agent"])) for cell in cells}
    posteriors = {cell.id: str(cell.flat.get("posterior")) for cell in cells}
    return posteriors if len(set(owners.values())) == 1 < len(set(posteriors.values())) else owners


@style()
def standing_curves(results: StudyResults) -> Figure:
    """The same for algorithms: a row of panels with textbook settings, and one with tuned ones."""
    algorithms = algorithms_of(results)
    levels = [level for level in LEVELS if any(algorithm.at(level) for algorithm in algorithms)]
    panels = list(dict.fromkeys(algorithm.panel for algorithm in algorithms))
    looks = distinct(list(dict.fromkeys(algorithm.name for algorithm in algorithms)))
    figure = Figure(figsize=(max(4.8 * len(panels), 7.0), 3.8 * len(levels)))
    axes = figure.subplots(len(levels), len(panels), squeeze=False, sharex=True, sharey="col")
    for row, level in zip(axes, levels, strict=True):
        for ax, panel in zip(row, panels, strict=True):
            shown = [
                Shown(chosen.cell, algorithm.name, looks[algorithm.name])
                for algorithm in algorithms
                if algorithm.panel == panel and (chosen := algorithm.at(level)) is not None
            ]
            _panel(ax, results, shown)
            ax.set(title=f"{panel}, {level} settings")
    _label_last_row(axes)
    legend_below(figure, axes)
    return figure


@style()
def sweep_curves(results: StudyResults) -> Figure:
    """The same along the study's varied setting: a row per algorithm and level, a line per value from dark to light."""
    algorithms, key = algorithms_along(results)
    rows = [
        (name, level)
        for name in dict.fromkeys(algorithm.name for algorithm in algorithms)
        for level in LEVELS
        if any(algorithm.name == name and algorithm.at(level) for algorithm in algorithms)
        and (level == LEVELS[0] or any(a.name == name and a.hyperparameters for a in algorithms))
    ]
    panels = list(dict.fromkeys(algorithm.panel for algorithm in algorithms))
    looks = graded(sorted({float(cell.flat[key]) for cell in map(_any_cell, algorithms) if cell is not None}))
    figure = Figure(figsize=(4.6 * len(panels) + 1.6, 3.3 * len(rows)))
    axes = figure.subplots(len(rows), len(panels), squeeze=False, sharex=True, sharey="col")
    for row, (name, level) in zip(axes, rows, strict=True):
        for ax, panel in zip(row, panels, strict=True):
            chosen = {
                float(setting.cell.flat[key]): setting.cell
                for algorithm in algorithms
                if (algorithm.name, algorithm.panel) == (name, panel)
                and (setting := algorithm.at(level)) is not None
            }
            _panel(ax, results, [Shown(chosen[at], f"{at:g}", looks[at]) for at in sorted(chosen)])
            ax.set_title(f"{panel}: {name},\n{level} settings", fontsize=10)
    _label_last_row(axes)
    legend_beside(figure, axes, title=last_key(key))
    return figure


def _label_last_row(axes: np.ndarray) -> None:
    """Panels above each other share the numbers of their rounds."""
    for ax in axes[:-1].flat:
        ax.set_xlabel("")


def _any_cell(algorithm: TunedAlgorithm) -> Cell | None:
    return next((setting.cell for level in LEVELS if (setting := algorithm.at(level)) is not None), None)


def _panel(ax: Axes, results: StudyResults, shown: Sequence[Shown]) -> None:
    for cell, label, appearance in shown:
        mark(_curve(ax, results.data[cell.id], label, appearance), cell.id)
    if results.comparison.bounds:
        _bounds(ax, shown)
    ax.set(xlabel="round", ylabel="cumulative regret", yscale="log")
    starts = []
    for cell, *_ in shown:
        mean = np.cumsum(values(results.data[cell.id], "regret").mean(axis=0))
        starts.append(mean[mean.size // 100])
    ax.set_ylim(bottom=max(min(starts) / 2, 1e-3))
    plain_numbers(ax)


def _curve(ax: Axes, data: xr.DataTree, label: str, appearance: Mapping[str, Any]) -> list[Artist]:
    total = np.cumsum(values(data, "regret"), axis=1)
    at = np.unique(np.linspace(0, total.shape[1] - 1, POINTS).astype(int))
    rounds, total = values(data, "round")[at], total[:, at]
    mean = total.mean(axis=0)
    drawn: list[Artist] = [*ax.plot(rounds, mean, label=label, **_sparse(appearance), **appearance)]
    if total.shape[0] > 1:
        error = BAND * total.std(axis=0, ddof=1) / np.sqrt(total.shape[0])
        floor = mean / 10  # a band that reaches zero cannot be drawn on a log axis
        band = ax.fill_between(
            rounds, np.maximum(mean - error, floor), mean + error, color=appearance["color"], lw=0,
            alpha=0.06 if "marker" in appearance else 0.15,  # bands of one colour overlap
        )  # fmt: skip
        drawn.append(band)
    return drawn


def _sparse(appearance: Mapping[str, Any]) -> dict[str, Any]:
    """A marker now and then, not where another line has its own."""
    if "marker" not in appearance:
        return {}
    return {"markevery": (0.13 * (MARKERS.index(appearance["marker"]) % 5) / 5, 0.13), "markersize": 5}


def _bounds(ax: Axes, shown: Sequence[Shown]) -> None:
    """The bounds of every cell that has some, in the cell's colour; equal ones are drawn once.

    The bound of the proof is dotted; the theorem's own, where c is the theorem's, is dash-dotted.
    """
    drawn: set[tuple[float, bool, str]] = set()
    for cell, _, appearance in shown:
        rounds = np.unique(np.linspace(1, cell.rounds, POINTS).astype(int))
        limit = bound(cell, rounds)
        if limit is None:
            continue
        for line, regret in ((":", limit.regret), ("-.", limit.stated)):
            if regret is not None and (key := (float(regret[-1]), limit.conditions_hold, line)) not in drawn:
                drawn.add(key)
                looks = appearance | {"linestyle": line, "linewidth": 1.4}
                ax.plot(rounds, regret, **_sparse(appearance), **looks)
    for conditions_hold, line in sorted({(holds, line) for _, holds, line in drawn}, reverse=True):
        name = "bound of the proof, at this c" if line == ":" else "bound of the theorem, at its own c"
        name += "" if conditions_hold else ",\nwhose conditions are not met"
        ax.plot([], [], color="grey", ls=line, lw=1.4, label=name)
