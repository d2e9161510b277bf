"""Labels at the ends of lines, and marks that tie the shapes of a figure to the cell they show."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes

CELL = "cell-"  # prefix of the id of every shape that belongs to a cell; the report reads it
MAX_LABELS = 12  # lines of a panel that have room for a label each
SPACING = 1.15  # of labels, in units of their height
BESIDE = 1.015  # where labels begin, in units of the panel's width


class LineEnd(NamedTuple):
    """The end of a line, and its label."""

    y: float
    text: str
    colour: str
    cell: str  # id


def mark(artists: Artist | Iterable[Artist], cell: str) -> None:
    """Marks artists as showing a cell: their SVG elements get an id from which the report knows the cell."""
    for artist in [artists] if isinstance(artists, Artist) else artists:
        artist.set_gid(CELL + cell)


def label_ends(ax: Axes, ends: Sequence[LineEnd], fontsize: float = 9.5) -> None:
    """Writes each line's label to the right of the panel, at the height of its end, spread so that none overlap.

    The panel's limits and scale must be final. A label that is moved has a thin line to the end of its own.
    """
    low, high = ax.get_ylim()
    log = ax.get_yscale() == "log"

    def height(y: float) -> float:
        if log:
            y, bottom, top = (math.log(max(value, 1e-300)) for value in (y, low, high))
        else:
            bottom, top = low, high
        return min(max((y - bottom) / (top - bottom), 0.0), 1.0)

    box = ax.get_position()
    figure = ax.get_figure(root=True)
    assert figure is not None
    points = box.height * figure.get_figheight() * 72
    ordered = sorted(ends, key=lambda end: end.y)
    placed = spread([height(end.y) for end in ordered], SPACING * fontsize / points)
    for end, at in zip(ordered, placed, strict=True):
        own = height(end.y)
        shift = abs(at - own) * points > fontsize / 2
        if shift:
            leader = ax.plot(
                [1.0, BESIDE + 0.015],
                [own, at],
                color=end.colour,
                lw=0.7,
                transform=ax.transAxes,
                clip_on=False,
            )
            mark(leader, end.cell)
        text = ax.text(
            BESIDE + 0.02 * shift, at, end.text, color=end.colour, fontsize=fontsize, va="center",
            transform=ax.transAxes,
        )  # fmt: skip
        mark(text, end.cell)


def spread(positions: Sequence[float], distance: float) -> list[float]:
    """Moves sorted positions as little as possible so that neighbours are at least a distance apart, around [0, 1].

    Neighbours that are too close form a group around the mean of their own positions (pool adjacent violators).
    """
    groups: list[tuple[float, int]] = []  # centre, number of members
    for position in positions:
        centre, number = position, 1
        while groups and groups[-1][0] + (groups[-1][1] + number) / 2 * distance > centre:
            before, count = groups.pop()
            centre = (centre * number + before * count) / (number + count)
            number += count
        groups.append((centre, number))
    return [
        centre + (index - (number - 1) / 2) * distance for centre, number in groups for index in range(number)
    ]
