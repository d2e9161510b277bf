"""Figures of a study, from its cells alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.cells import Cell, varied
from experiments.store import values
from experiments.style import look, style

POINTS = 400  # of a curve: enough for any screen


def draw(folder: Path, cells: Sequence[Cell], data: Mapping[str, xr.DataTree]) -> list[Path]:
    """Draws what the cells allow, as SVG and PNG."""
    made = []
    done = [cell for cell in cells if cell.id in data]
    for rounds in dict.fromkeys(cell.rounds for cell in done):
        chosen = [cell for cell in done if cell.rounds == rounds]
        name = "regret" if len({cell.rounds for cell in done}) == 1 else f"regret_{rounds}"
        with style():
            made += save(regret_curves(chosen, data), folder / name)
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
        ax.legend(fontsize=9)
    return figure


def _curve(ax: Axes, data: xr.DataTree, label: str, appearance: Mapping[str, str]) -> None:
    total = np.cumsum(values(data, "regret"), axis=1)
    at = np.unique(np.linspace(0, total.shape[1] - 1, POINTS).astype(int))
    rounds, total = values(data, "round")[at], total[:, at]
    mean = total.mean(axis=0)
    ax.plot(rounds, mean, label=label, **appearance)  # type: ignore[arg-type]
    if total.shape[0] > 1:
        error = 2 * total.std(axis=0, ddof=1) / np.sqrt(total.shape[0])
        floor = mean / 10  # a band that reaches zero has no place on a log axis
        ax.fill_between(
            rounds, np.maximum(mean - error, floor), mean + error, color=appearance["color"], alpha=0.15, lw=0
        )


def by_panel(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Cells by environment, with whatever settings of it differ."""
    keys = [key for key in varied(cells) if key.startswith("environment.")]
    panels: dict[str, list[Cell]] = {}
    for cell in cells:
        settings = [f"{key.partition('.')[2]}={cell.flat[key]:g}" for key in keys if key in cell.flat]
        panels.setdefault(" ".join([cell.flat["environment"], *settings]), []).append(cell)
    return panels


def labels_of(cells: Sequence[Cell]) -> dict[str, str]:
    """What tells a cell from the others of its panel."""
    keys = [key for key in varied(cells) if not key.startswith(("environment", "rounds"))]
    main = [key for key in keys if key in ("agent", "posterior", "sampler", "reward")] or ["sampler"]
    fine = [key for key in keys if key not in main]
    labels = {}
    for cell in cells:
        names = [str(cell.flat[key]) for key in main if cell.flat.get(key) is not None] or [
            cell.flat["agent"]
        ]
        settings = [f"{key.rpartition('.')[2]}={_short(cell.flat[key])}" for key in fine if key in cell.flat]
        labels[cell.id] = " ".join([*names, *settings])
    return labels


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
