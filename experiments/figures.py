"""Figures of a study, from its cells alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from experiments import sweeps
from experiments.cells import Cell, by_panel, labels_of
from experiments.relation import pairs
from experiments.store import values
from experiments.style import look, style

POINTS = 400  # of a curve: enough for any screen


def draw(
    folder: Path, cells: Sequence[Cell], data: Mapping[str, xr.DataTree], sweep: str | None = None
) -> list[Path]:
    """Draws what the cells allow, as SVG and PNG; `sweep` is the setting along which a study goes."""
    made = []
    done = [cell for cell in cells if cell.id in data]
    with style():
        if sweep is not None and len({cell.flat.get(sweep) for cell in done}) > 1:
            made += save(sweeps.against_setting(done, data, sweep), folder / "sweep")
        else:
            for rounds in dict.fromkeys(cell.rounds for cell in done):
                chosen = [cell for cell in done if cell.rounds == rounds]
                name = "regret" if len({cell.rounds for cell in done}) == 1 else f"regret_{rounds}"
                made += save(regret_curves(chosen, data), folder / name)
        found = [pair for pair in pairs(done, data) if "diagnostics" in pair.data.children]
        if found:
            made += save(sweeps.against_gap(found), folder / "quality")
    return made


def save(figure: Figure, path: Path) -> list[Path]:
    """Writes a figure as SVG, for the report, and as PNG, for everything else."""
    paths = [path.with_suffix(suffix) for suffix in (".svg", ".png")]
    for target in paths:
        figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)
    return paths


def regret_curves(cells: Sequence[Cell], data: Mapping[str, xr.DataTree]) -> Figure:
    """Cumulative regret against rounds, an environment a panel; bands are two standard errors either way."""
    panels = by_panel(cells)
    figure = Figure(figsize=(5.2 * len(panels), 4.2))
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    labels = labels_of(cells)
    for ax, (title, members) in zip(axes, panels.items(), strict=True):
        for cell in members:
            _curve(ax, data[cell.id], labels[cell.id], look(labels[cell.id], tuple(labels.values())))
        ax.set(title=title, xlabel="round", ylabel="cumulative regret", yscale="log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        start = min(
            np.cumsum(values(data[cell.id], "regret").mean(axis=0))[cell.rounds // 100] for cell in members
        )
        ax.set_ylim(bottom=max(start / 2, 1e-3))
        ax.legend(fontsize=9)
    return figure


def _curve(ax: Axes, data: xr.DataTree, label: str, appearance: Mapping[str, Any]) -> None:
    total = np.cumsum(values(data, "regret"), axis=1)
    at = np.unique(np.linspace(0, total.shape[1] - 1, POINTS).astype(int))
    rounds, total = values(data, "round")[at], total[:, at]
    mean = total.mean(axis=0)
    ax.plot(rounds, mean, label=label, **appearance)
    if total.shape[0] > 1:
        error = 2 * total.std(axis=0, ddof=1) / np.sqrt(total.shape[0])
        floor = mean / 10  # a band that reaches zero has no place on a log axis
        ax.fill_between(
            rounds, np.maximum(mean - error, floor), mean + error, color=appearance["color"], alpha=0.15, lw=0
        )
