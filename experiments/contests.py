"""Figures of algorithms compared: regret along a setting, and how it scales."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from experiments.scaling import AXES, Line, exponent
from experiments.statistics import mean_interval
from experiments.style import distinct, legend_beside, plain_numbers
from experiments.summary import final_regret
from experiments.sweeps import scale
from experiments.tuning import LEVELS, Data, Place

FILLED = {"textbook": "none", "tuned": "full"}  # markers: hollow for textbook settings


def along_sweep(found: Sequence[Place], data: Data, key: str) -> Figure:
    """Final regret against the setting along which a study goes, a line per algorithm and level."""
    panels = list(dict.fromkeys(place.panel for place in found))
    names = list(dict.fromkeys(place.name for place in found))
    looks = distinct(names)
    figure = Figure(figsize=(4.4 * len(panels) + 2.4, 4.0))
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        for name in names:
            own = [place for place in found if (place.panel, place.name) == (panel, name)]
            for level in LEVELS if own and own[0].knobs else LEVELS[:1]:
                cells = [chosen.cell for place in own if (chosen := place.at(level)) is not None]
                cells.sort(key=lambda cell: float(cell.flat[key]))
                if not cells:
                    continue
                at = np.array([float(cell.flat[key]) for cell in cells])
                regret = np.stack([final_regret(data[cell.id]) for cell in cells], axis=1)
                label = f"{name}, {level}" if own[0].knobs else name
                line = ":" if level == "textbook" and own[0].knobs else "-"
                shown = {**looks[name], "fillstyle": FILLED[level], "linestyle": line}
                _points(ax, at, regret, label, shown)
                scale(ax, at)
        ax.set(title=panel, xlabel=key, ylabel="final regret", yscale="log")
        _plain(ax)
    legend_beside(figure, axes)
    return figure


def along_axes(found: Sequence[Line]) -> Figure:
    """Final regret against d and Lambda, an axis a column, textbook settings above tuned ones."""
    axes_shown = [axis for axis in AXES if any(line.axis == axis for line in found)]
    levels = [level for level in LEVELS if any(line.level == level for line in found)]
    looks = distinct(list(dict.fromkeys(line.name for line in found)))
    figure = Figure(figsize=(3.3 * len(axes_shown) + 2.8, 3.4 * len(levels)))
    axes = figure.subplots(len(levels), len(axes_shown), squeeze=False, sharex="col", sharey=True)
    for row, level in zip(axes, levels, strict=True):
        for ax, axis in zip(row, axes_shown, strict=True):
            for line in found:
                if (line.level, line.axis) == (level, axis):
                    _points(ax, line.x, line.regret, line.name, looks[line.name])
            ax.set(title=f"{axis.name}\n{level} settings", xscale="log", yscale="log")
            ax.set_xlabel({"dim": "d", "p": "p", "scale": "scale²"}[axis.along])
            _plain(ax)
            at = sorted({float(x) for line in found if line.axis == axis for x in line.x})
            ax.xaxis.set_major_locator(FixedLocator(at))
        row[0].set_ylabel("final regret")
    legend_beside(figure, axes)
    return figure


def exponents(found: Sequence[Line]) -> Figure:
    """Fitted exponents with their intervals, hollow at textbook settings; the theory's as a bar."""
    axes_shown = [axis for axis in AXES if any(line.axis == axis for line in found)]
    names = list(dict.fromkeys(line.name for line in found))
    looks = distinct(names)
    figure = Figure(figsize=(3.2 * len(axes_shown) + 1.8, 0.55 * len(names) + 1.4))
    axes = figure.subplots(1, len(axes_shown), squeeze=False, sharey=True)[0]
    for ax, axis in zip(axes, axes_shown, strict=True):
        for line in found:
            if line.axis != axis:
                continue
            y = names.index(line.name) + (-0.14 if line.level == "textbook" else 0.14)
            fitted = exponent(line.x, line.regret)
            error = [[fitted.value - fitted.low], [fitted.high - fitted.value]]
            ax.errorbar(
                fitted.value, y, xerr=error, marker="o", ms=6, capsize=2,
                color=looks[line.name]["color"], fillstyle=FILLED[line.level],
            )  # fmt: skip
            if line.theory is not None:
                ax.plot([line.theory] * 2, [round(y) - 0.35, round(y) + 0.35], color="black", lw=2)
        ax.axvline(0, color="grey", lw=0.8)
        ax.set(title=axis.name, xlabel="exponent")
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    return figure


def _points(ax: Axes, x: np.ndarray, regret: np.ndarray, label: str, appearance: dict[str, object]) -> None:
    intervals = [mean_interval(column) for column in regret.T]
    mean = np.array([one.value for one in intervals])
    error = np.array([[one.value - one.low, one.high - one.value] for one in intervals]).T
    ax.errorbar(x, mean, np.nan_to_num(error), label=label, marker="o", ms=5, capsize=2, **appearance)  # type: ignore[arg-type]


def _plain(ax: Axes) -> None:
    """Plain numbers on both axes."""
    plain_numbers(ax)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
