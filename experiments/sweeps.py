"""Figures of a study over cells: regret against a setting, and diagnostics against the regret gap."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.cells import Cell, by_panel, varied
from experiments.relation import Pair, median_of
from experiments.statistics import mean_interval
from experiments.store import values
from experiments.style import MARKERS, look
from experiments.summary import final_regret

SHOWN = ("tv", "nested_rhat", "rhat", "spread")  # diagnostics set against the gap, in this order


def against_setting(cells: Sequence[Cell], data: Mapping[str, xr.DataTree], key: str) -> Figure:
    """Final regret against a setting, a line per sampler; below it, where measured, the TV of actions.

    A cell that has no such setting (exact draws have no number of steps) is a level line.
    """
    panels = by_panel(cells)
    measured = any("diagnostics" in data[cell.id].children for cell in cells)
    figure = Figure(figsize=(5.2 * len(panels), 4.0 * (1 + measured)))
    axes = figure.subplots(1 + measured, len(panels), squeeze=False)
    other = [k for k in varied(cells) if k != key and not k.startswith(("environment", "rounds", "seed"))]
    for column, (title, members) in enumerate(panels.items()):
        lines: dict[str, list[Cell]] = {}
        for cell in members:
            name = " ".join(_told(cell, k) for k in other if cell.flat.get(k) is not None)
            lines.setdefault(name or str(cell.flat.get("sampler", cell.flat["agent"])), []).append(cell)
        for name, line in lines.items():
            appearance = look(name, tuple(lines))
            _line(axes[0][column], line, data, key, name, appearance)
            if measured:
                _quality_line(axes[1][column], line, data, key, appearance)
        axes[0][column].set(title=title, ylabel="final regret", yscale="log")
        if measured:
            axes[1][column].set(ylabel="action TV to exact (median)")
        axes[-1][column].set(xlabel=key)
        axes[0][column].legend(fontsize=8, ncols=2)
    return figure


def _told(cell: Cell, key: str) -> str:
    value = cell.flat[key]
    if "." not in key:
        return str(value)
    return f"{key.rpartition('.')[2]}={value:g}" if isinstance(value, float | int) else f"{value}"


def _line(
    ax: Axes,
    line: Sequence[Cell],
    data: Mapping[str, xr.DataTree],
    key: str,
    name: str,
    appearance: dict[str, Any],
) -> None:
    found = [mean_interval(final_regret(data[cell.id])) for cell in line]
    mean = np.array([one.value for one in found])
    if any(key not in cell.flat for cell in line):
        ax.axhline(mean[0], label=name, **appearance)
        return
    at = np.array([float(cell.flat[key]) for cell in line])
    order = np.argsort(at)
    error = np.array([[one.value - one.low, one.high - one.value] for one in found]).T
    ax.errorbar(
        at[order], mean[order], error[:, order], label=name, marker="o", ms=4, capsize=2, **appearance
    )
    _scale(ax, at)


def _quality_line(
    ax: Axes, line: Sequence[Cell], data: Mapping[str, xr.DataTree], key: str, appearance: dict[str, Any]
) -> None:
    known = [cell for cell in line if key in cell.flat and "diagnostics" in data[cell.id].children]
    known = sorted(known, key=lambda cell: float(cell.flat[key]))
    tv = [median_of(values(data[cell.id].children["diagnostics"], "tv")) for cell in known]
    at = np.array([float(cell.flat[key]) for cell in known])
    if known:
        ax.plot(at, tv, marker="o", ms=4, **appearance)
        _scale(ax, at)


def _scale(ax: Axes, at: np.ndarray) -> None:
    """Logarithmic where a setting goes over decades; zero has its place beside them."""
    positive = at[at > 0]
    if positive.size > 1 and positive.max() >= 10 * positive.min():
        ax.set_xscale("symlog", linthresh=float(positive.min()))


def against_gap(found: Sequence[Pair], labels: Mapping[str, str]) -> Figure:
    """Each diagnostic's median against the mean regret gap to exact draws, a point a cell."""
    figure = Figure(figsize=(4.0 * len(SHOWN), 4.4))
    axes = figure.subplots(1, len(SHOWN), squeeze=False)[0]
    names = tuple(dict.fromkeys(labels[pair.cell.id] for pair in found))
    environments = list(dict.fromkeys(pair.cell.flat["environment"] for pair in found))
    for ax, metric in zip(axes, SHOWN, strict=True):
        for pair in found:
            x = median_of(values(pair.data.children["diagnostics"], metric))
            gap = mean_interval(pair.gaps)
            marker = MARKERS[environments.index(pair.cell.flat["environment"])]
            label = labels[pair.cell.id] if pair.cell.flat["environment"] == environments[0] else None
            error = [[gap.value - gap.low], [gap.high - gap.value]]
            colour = look(labels[pair.cell.id], names)["color"]
            ax.errorbar(x, gap.value, error, marker=marker, color=colour, ms=6, capsize=2, lw=1, label=label)
        ax.axhline(0, color="black", ls="--", lw=1)
        ax.set(xlabel=metric, yscale="symlog")
        medians = [median_of(values(pair.data.children["diagnostics"], metric)) for pair in found]
        if metric in ("nested_rhat", "rhat") and np.any(np.isfinite(medians)):
            ax.set_xscale("log")
    axes[0].set_ylabel("regret gap to exact")
    marks = ", ".join(f"{_mark(i)} {name}" for i, name in enumerate(environments))
    figure.suptitle(f"Sampler quality against regret ({marks})", fontsize=11)
    if len(names) <= 30:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    return figure


def _mark(index: int) -> str:
    return {"o": "●", "s": "■", "D": "◆", "^": "▲", "v": "▼"}.get(MARKERS[index], MARKERS[index])
