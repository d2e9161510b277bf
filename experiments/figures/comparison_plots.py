"""Figures of algorithms compared: regret along a setting, and how it scales."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from experiments.analysis.hyperparameters import LEVELS, Data, TunedAlgorithm
from experiments.analysis.scaling import AXES, Line, exponent
from experiments.analysis.statistics import mean_interval
from experiments.analysis.summary import final_regret
from experiments.config.cell import Cell
from experiments.figures.style import distinct, handles_below, legend_below, panels_of, plain_numbers
from experiments.figures.sweeps import scale

FILLED: Any = {"textbook": "none", "tuned": "full"}  # markers: hollow for textbook settings
THEORY: Any = {"color": "0.6", "linewidth": 4, "solid_capstyle": "butt"}


def along_sweep(found: Sequence[TunedAlgorithm], data: Data, key: str) -> Figure:
    """Final regret against the setting along which a study goes, a line per algorithm and level."""
    panels = list(dict.fromkeys(place.panel for place in found))
    looks = distinct(list(dict.fromkeys(place.name for place in found)))
    figure, axes = panels_of(len(panels), 4.8, 4.0)
    for ax, panel in zip(axes, panels, strict=False):
        for name, appearance in looks.items():
            own = [place for place in found if (place.panel, place.name) == (panel, name)]
            for label, level, cells in _levels(name, own, key):
                at = np.array([float(cell.flat[key]) for cell in cells])
                regret = np.stack([final_regret(data[cell.id]) for cell in cells], axis=1)
                thin = {"linewidth": 1.2} if level == "textbook" else {}
                _points(ax, at, regret, label, appearance | {"fillstyle": FILLED[level]} | thin)
                scale(ax, at)
        ax.set(title=panel, xlabel=key, ylabel="final regret", yscale="log")
        _plain(ax)
    legend_below(figure, axes)
    return figure


def _levels(name: str, own: Sequence[TunedAlgorithm], key: str) -> Iterator[tuple[str, str, list[Cell]]]:
    """An algorithm's lines with their labels: one where nothing is tuned, or where tuning chose the textbook's."""
    chosen = {
        level: sorted(
            (setting.cell for place in own if (setting := place.at(level)) is not None),
            key=lambda cell: float(cell.flat[key]),
        )
        for level in LEVELS
    }
    textbook, tuned = (chosen[level] for level in LEVELS)
    if own and not own[0].hyperparameters:
        yield name, "tuned", textbook
    elif textbook == tuned and tuned:
        yield f"{name}, textbook and tuned", "tuned", tuned
    else:
        yield from ((f"{name}, {level}", level, cells) for level, cells in chosen.items() if cells)


def along_axes(found: Sequence[Line]) -> Figure:
    """Final regret against d and Lambda, an axis a row, textbook settings beside tuned ones."""
    axes_shown = [axis for axis in AXES if any(line.axis == axis for line in found)]
    levels = [level for level in LEVELS if any(line.level == level for line in found)]
    looks = distinct(list(dict.fromkeys(line.name for line in found)))
    figure = Figure(figsize=(max(4.6 * len(levels), 7.0), 3.2 * len(axes_shown)))
    axes = figure.subplots(len(axes_shown), len(levels), squeeze=False, sharex="row", sharey=True)
    for row, axis in zip(axes, axes_shown, strict=True):
        for ax, level in zip(row, levels, strict=True):
            for line in found:
                if (line.level, line.axis) == (level, axis):
                    _points(ax, line.x, line.regret, line.name, looks[line.name])
            ax.set(title=f"along {axis.name}, {level} settings", xscale="log", yscale="log")
            ax.set_xlabel({"dim": "d", "p": "p", "scale": "scale²"}[axis.along])
            _plain(ax)
            at = sorted({float(x) for line in found if line.axis == axis for x in line.x})
            ax.xaxis.set_major_locator(FixedLocator(at))
        row[0].set_ylabel("final regret")
    legend_below(figure, axes)
    return figure


def exponents(found: Sequence[Line]) -> Figure:
    """Fitted exponents with their intervals, hollow at textbook settings; the theory's as a grey bar."""
    axes_shown = [axis for axis in AXES if any(line.axis == axis for line in found)]
    names = list(dict.fromkeys(line.name for line in found))
    looks = distinct(names)
    figure, axes = panels_of(len(axes_shown), 5.0, 0.5 * len(names) + 1.2)
    for ax, axis in zip(axes, axes_shown, strict=False):
        for line in found:
            if line.axis != axis:
                continue
            y = names.index(line.name) + (-0.14 if line.level == "textbook" else 0.14)
            fitted = exponent(line.x, line.regret)
            error = np.maximum([[fitted.value - fitted.low], [fitted.high - fitted.value]], 0)  # of rounding
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
        if any(line.level == level for line in found)
    }
    handles_below(figure, handles | {"theory": Line2D([], [], **THEORY)})
    return figure


def _points(ax: Axes, x: np.ndarray, regret: np.ndarray, label: str, appearance: dict[str, Any]) -> None:
    intervals = [mean_interval(column) for column in regret.T]
    mean = np.array([one.value for one in intervals])
    error = np.array([[one.value - one.low, one.high - one.value] for one in intervals]).T
    ax.errorbar(
        x, mean, np.nan_to_num(error), label=label, marker="o", ms=5, capsize=2, elinewidth=1, **appearance
    )


def _plain(ax: Axes) -> None:
    """Plain numbers on both axes."""
    plain_numbers(ax)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
