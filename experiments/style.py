"""One look for all figures: colour-blind safe, the same colour for a sampler everywhere, the oracle in black."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fgtsva_ppl import SAMPLERS

# Okabe and Ito's palette without black and yellow, then Tol's muted colours for what comes after.
COLOURS = (
    "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
    "#882255", "#44AA99", "#332288", "#999933", "#AA4499", "#117733", "#DDCC77", "#88CCEE", "#661100", "#6699CC",
)  # fmt: skip
FIRST = ("sgld", "psgld", "mala", "hmc", "nuts")  # seen together most often: the colours furthest apart
MARKERS = "osD^vP*Xhp<>8dH"

RC: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.dpi": 120,
    "font.size": 11,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "fgtsva",
}


@contextmanager
def style() -> Iterator[None]:
    """Figures made inside have the house style and need no screen."""
    with mpl.rc_context(RC):
        yield


def distinct(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colours and lines that tell some names apart; the first two stand out, and the oracle is as everywhere."""
    lines = ("-", "--", "-.")
    return {
        name: {**look("exact"), "linewidth": 2.6}
        if "(exact)" in name
        else {
            "color": COLOURS[index % len(COLOURS)],
            "linestyle": lines[index // 6 % len(lines)],
            "linewidth": 2.6 if index < 2 else 1.5,
        }
        for index, name in enumerate(names)
    }


def graded(levels: Sequence[float]) -> dict[float, dict[str, Any]]:
    """Colours from dark to light for the values of a setting, in their order; zero is dashed."""
    shades = mpl.colormaps["viridis"](np.linspace(0.0, 0.9, len(levels)))
    return {
        level: {"color": to_hex(shade), "linestyle": "-" if level else "--"}
        for level, shade in zip(levels, shades, strict=True)
    }


def look(name: str, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """Colour and line of a sampler, or of anything else among `others`."""
    if name == "exact":
        return {"color": "black", "linestyle": "--"}
    names = [*FIRST, *(known for known in SAMPLERS.names() if known not in ("exact", *FIRST))]
    index = names.index(name) if name in names else others.index(name) if name in others else 0
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": "-" if index < len(COLOURS) else ":"}


DASHES = ("-", "--", ":", "-.")


def variants(owners: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The looks of lines, given by label whose they are: its colour, and dashes where it has several.

    Lines of one owner alone have colours of their own.
    """
    who = list(dict.fromkeys(owners.values()))
    if len(who) == 1 and len(owners) > 1:
        return {
            label: look(str(index), tuple(map(str, range(len(owners))))) for index, label in enumerate(owners)
        }
    known = {name: look(name) for name in who if name == "exact" or name in SAMPLERS.names()}
    taken = {own["color"] for own in known.values()}
    free = itertools.cycle([colour for colour in COLOURS if colour not in taken] or COLOURS)
    looks = {name: known.get(name) or {"color": next(free), "linestyle": "-"} for name in who}
    made = {}
    for label, name in owners.items():
        alike = [other for other, owner in owners.items() if owner == name]
        index = alike.index(label)
        dashes = [looks[name]["linestyle"], *(dash for dash in DASHES if dash != looks[name]["linestyle"])]
        made[label] = {
            "color": looks[name]["color"],
            "linestyle": dashes[index % len(dashes)],
            "linewidth": 1.8 if index < len(dashes) else 1.0,
        }
    return made


def marked(name: str, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """A sampler as a point: hollow where its colour is another's too."""
    own = look(name, others)
    return {"color": own["color"], "markerfacecolor": "white" if own["linestyle"] == ":" else own["color"]}


def legend_below(figure: Figure, axes: np.ndarray) -> None:
    """One for all panels, below them."""
    handles = {
        label: handle
        for ax in axes.ravel()
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    width = max(map(len, handles), default=1)
    columns = min(len(handles), max(1, int(figure.get_figwidth() / (0.6 + 0.085 * width))))
    figure.set_figheight(figure.get_figheight() + 0.2 * math.ceil(len(handles) / columns))
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=columns,
        fontsize=9,
        handlelength=2.6,
    )


def legend_beside(figure: Figure, axes: np.ndarray, title: str | None = None) -> None:
    """One for all panels, to their right."""
    lines = {
        label: line for ax in axes.flat for line, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        lines.values(), lines.keys(), loc="outside right center", fontsize=9, title=title, handlelength=2.6
    )


def plain_numbers(ax: Axes) -> None:
    """Numbers of a logarithmic upright axis as they are; over few decades also between the powers of ten."""
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1000 * low else (1.0,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
