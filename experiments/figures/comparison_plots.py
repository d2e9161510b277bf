"""Figures of algorithms compared along a setting."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from experiments.analysis.hyperparameters import LEVELS, TunedAlgorithm
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import mean_interval
from experiments.config.cell import Cell
from experiments.figures.style import distinct, error_bars, legend_below, panels_of, plain_numbers, style
from experiments.figures.suitable import algorithms_along
from experiments.figures.sweeps import scale

FILLED: Any = {"textbook": "none", "tuned": "full"}  # markers: hollow for textbook settings


@style()
def along_sweep(results: StudyResults) -> Figure:
    """Final regret against the setting that a study varies, a line per algorithm and level."""
    algorithms, key = algorithms_along(results)
    panels = list(dict.fromkeys(algorithm.panel for algorithm in algorithms))
    looks = distinct(list(dict.fromkeys(algorithm.name for algorithm in algorithms)))
    figure, axes = panels_of(len(panels), 4.8, 4.0)
    for ax, panel in zip(axes, panels, strict=False):
        for name, appearance in looks.items():
            own = [
                algorithm for algorithm in algorithms if (algorithm.panel, algorithm.name) == (panel, name)
            ]
            for label, level, cells in _levels(name, own, key):
                at = np.array([float(cell.flat[key]) for cell in cells])
                regret = np.stack([results.final(cell) for cell in cells], axis=1)
                thin = {"linewidth": 1.2} if level == "textbook" else {}
                points(ax, at, regret, label, appearance | {"fillstyle": FILLED[level]} | thin)
                scale(ax, at)
        ax.set(title=panel, xlabel=key, ylabel="final regret", yscale="log")
        plain_axes(ax)
    legend_below(figure, axes)
    return figure


def _levels(name: str, own: Sequence[TunedAlgorithm], key: str) -> Iterator[tuple[str, str, list[Cell]]]:
    """An algorithm's lines with their labels: one where nothing is tuned, or where tuning chose the textbook's."""
    chosen = {
        level: sorted(
            (setting.cell for algorithm in own if (setting := algorithm.at(level)) is not None),
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


def points(
    ax: Axes,
    x: Float[np.ndarray, " points"],
    regret: Float[np.ndarray, "runs points"],
    label: str,
    appearance: dict[str, Any],
) -> None:
    """Mean regret with its interval at each x."""
    mean, error = error_bars([mean_interval(column) for column in regret.T])
    ax.errorbar(
        x, mean, np.nan_to_num(error), label=label, marker="o", ms=5, capsize=2, elinewidth=1, **appearance
    )


def plain_axes(ax: Axes) -> None:
    """Writes the numbers of both axes without powers of ten."""
    plain_numbers(ax)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
