"""Figures over cells: regret and sampler quality against a setting, regret against the condition number."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from experiments.analysis.arrays import CellData, diagnostic, final_regret
from experiments.analysis.diagnostics_vs_regret import condition_number
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import known_median, mean_interval
from experiments.config.cell import Cell
from experiments.config.labels import by_panel, varied
from experiments.config.text import last_key, setting_text
from experiments.figures.style import MARKERS, error_bars, legend_below, look, plain_numbers, style, variants
from experiments.figures.suitable import cells_along, cells_of
from fgtsva_ppl.diagnostics import METRICS
from samplers.errors import InputError

CROWDED = 20  # characters of all numbers below an axis; more are slanted
FLOOR: Any = {"color": "grey", "ls": ":", "lw": 1.4}  # of total variation, along a setting
DOTS: Any = {"marker": MARKERS[0]}  # where lines need no markers to be distinguished
MIN_SPAN = 10.0  # ratio of condition numbers that is worth a figure


@style()
def against_setting(results: StudyResults, key: str) -> Figure:
    """Final regret against a setting, a line per sampler; below it, where measured, the TV of actions.

    A cell that has no such setting (exact draws have no number of steps) is a horizontal line.

    Args:
        results: the results of a study.
        key: dotted name of the setting, like `sampler.num_steps`.
    """
    cells, data = cells_along(results, key), results.data
    panels = by_panel(cells)
    measured = any("diagnostics" in data[cell.id].children for cell in cells)
    figure = Figure(figsize=(5.2 * len(panels), 4.0 * (1 + measured)))
    axes = figure.subplots(1 + measured, len(panels), squeeze=False)
    other = [k for k in varied(cells) if k != key and not k.startswith(("environment", "rounds", "seed"))]
    other.sort(key=lambda k: k != "sampler")
    for column, (title, members) in enumerate(panels.items()):
        lines: dict[str, list[Cell]] = {}
        for cell in members:
            name = " ".join(_describe(cell, k) for k in other if cell.flat.get(k) is not None)
            lines.setdefault(name or str(cell.flat.get("sampler", cell.flat["agent"])), []).append(cell)
        looks = _appearances(lines)
        for name, line in lines.items():
            _line(axes[0][column], line, data, key, name, looks[name])
            if measured:
                _quality_line(axes[1][column], line, data, key, DOTS | looks[name])
        axes[0][column].set(title=title, ylabel="final regret", yscale="log")
        plain_numbers(axes[0][column])
        if measured:
            axes[1][column].set(ylabel="action TV to exact (median)")
            _floor_line(axes[1][column], members, data, key)
        axes[-1][column].set(xlabel=key)
    legend_below(figure, axes)
    return figure


def _appearances(lines: Mapping[str, Sequence[Cell]]) -> dict[str, dict[str, Any]]:
    """A colour per sampler; lines of one sampler differ in dashes and markers."""
    owners = {name: str(line[0].flat.get("sampler", line[0].flat["agent"])) for name, line in lines.items()}
    return variants(owners)


def condition_numbers(results: StudyResults) -> dict[str, float]:
    """The condition number of each cell where it was measured; none where no setting changes it."""
    data = results.data
    known = {
        cell.id: number for cell in results.done if np.isfinite(number := condition_number(data[cell.id]))
    }
    return known if known and max(known.values()) >= MIN_SPAN * min(known.values()) else {}


@style()
def against_condition_number(results: StudyResults) -> Figure:
    """Final regret against the measured condition number, a line per sampler."""
    cells, data, known = cells_of(results), results.data, condition_numbers(results)
    if not known:
        raise InputError(
            f"this figure needs probed cells whose condition numbers differ by {MIN_SPAN:g} times"
        )
    panels = by_panel([cell for cell in cells if cell.id in known])
    figure = Figure(figsize=(5.2 * len(panels), 4.0))
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, (title, members) in zip(axes, panels.items(), strict=True):
        names = tuple(dict.fromkeys(str(cell.flat["sampler"]) for cell in members))
        for name in names:
            line = [cell for cell in members if cell.flat["sampler"] == name]
            _points(
                ax, [known[cell.id] for cell in line], line, data, label=name, marker="o", **look(name, names)
            )
        ax.set(
            title=title,
            xlabel=METRICS["condition_number"].doc,
            ylabel="final regret",
            xscale="log",
            yscale="log",
        )
        plain_numbers(ax)
    legend_below(figure, axes)
    return figure


def _points(ax: Axes, at: Sequence[float], line: Sequence[Cell], data: CellData, **appearance: Any) -> None:
    """Mean final regret with its interval at each x, joined in their order."""
    mean, error = error_bars([mean_interval(final_regret(data[cell.id])) for cell in line])
    order = np.argsort(at)
    ax.errorbar(
        np.asarray(at)[order], mean[order], error[:, order], ms=4, capsize=2, elinewidth=1, **appearance
    )


def _describe(cell: Cell, key: str) -> str:
    """A member's name, or a setting; a setting that is a name needs no key."""
    value = cell.flat[key]
    return value if isinstance(value, str) else f"{last_key(key)}={setting_text(value)}"


def _line(
    ax: Axes,
    line: Sequence[Cell],
    data: CellData,
    key: str,
    name: str,
    appearance: dict[str, Any],
) -> None:
    if any(key not in cell.flat for cell in line):
        _level(ax, float(final_regret(data[line[0].id]).mean()), label=name, **appearance)
        return
    at = np.array([float(cell.flat[key]) for cell in line])
    _points(ax, at.tolist(), line, data, label=name, **DOTS | appearance)
    scale(ax, at)


def _level(ax: Axes, level: float, **appearance: Any) -> None:
    """A line from side to side; the markers of two such lines do not coincide."""
    first = 3 * MARKERS.index(appearance.get("marker", MARKERS[0]))
    across = np.linspace(0, 1, 49)
    at: Any = {"transform": ax.get_yaxis_transform(), "markevery": (2 + first % 6, 6), "ms": 4}
    ax.plot(across, np.full(across.size, level), **at, **appearance)


def _quality_line(
    ax: Axes, line: Sequence[Cell], data: CellData, key: str, appearance: dict[str, Any]
) -> None:
    probed = [cell for cell in line if key in cell.flat and "diagnostics" in data[cell.id].children]
    probed = sorted(probed, key=lambda cell: float(cell.flat[key]))
    tv = [known_median(diagnostic(data[cell.id], "total_variation")) for cell in probed]
    at = np.array([float(cell.flat[key]) for cell in probed])
    if probed:
        ax.plot(at, tv, ms=4, **appearance)
        scale(ax, at)


def _floor_line(ax: Axes, cells: Sequence[Cell], data: CellData, key: str) -> None:
    """The Monte Carlo floor of total variation at each value of the setting: the median over samplers."""
    floors: dict[float, list[float]] = {}
    for cell in cells:
        if key in cell.flat and np.isfinite(floor := total_variation_floor(data[cell.id])):
            floors.setdefault(float(cell.flat[key]), []).append(floor)
    at = sorted(floors)
    if at:
        ax.plot(at, [np.median(floors[x]) for x in at], label="floor of TV", **FLOOR)


def total_variation_floor(data: xr.DataTree) -> float:
    """Mean total variation between samples of equal distributions, median over probes; NaN where not measured."""
    if "diagnostics" not in data.children:
        return math.nan
    return known_median(diagnostic(data, "total_variation_floor"))


def scale(ax: Axes, at: Float[np.ndarray, " points"]) -> None:
    """Makes the axis of a setting logarithmic where its values span decades; zero is drawn beside them."""
    positive = at[at > 0]
    if positive.size > 1 and positive.max() >= 10 * positive.min():
        ax.set_xscale("symlog", linthresh=float(positive.min()))
        ax.xaxis.set_major_locator(FixedLocator(sorted(set(at.tolist()))))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
        if sum(len(f"{value:g}") for value in set(at.tolist())) > CROWDED:
            ax.tick_params(axis="x", labelrotation=45)
