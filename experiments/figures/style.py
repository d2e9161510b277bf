"""One style for all figures: colour-blind safe, a sampler has the same colour everywhere, exact draws are black."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float, Shaped
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from experiments.analysis.statistics import Interval
from experiments.config.cell import REFERENCE
from fgtsva_ppl import SAMPLERS

# Okabe and Ito's palette without black and yellow, then Tol's muted colours.
COLOURS = (
    "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
    "#882255", "#44AA99", "#332288", "#999933", "#AA4499", "#117733", "#DDCC77", "#88CCEE", "#661100", "#6699CC",
)  # fmt: skip
FIRST = (
    "sgld",
    "psgld",
    "mala",
    "hmc",
    "nuts",
)  # drawn together most often: they get the colours that differ most
MARKERS = "osD^vP*Xhp<>8dH"
DASHES = ("-", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))  # of settings; plain dashes are reserved for exact draws

# Algorithms, agents and posteriors: none has the colour of one of FIRST, and those of one colour differ in their lines.
# Thompson sampling is solid, confidence bounds are dashed, Gaussians around a regression are dash-dotted, perturbed
# networks are dotted.
ALGORITHMS: dict[str, tuple[str, Any]] = {
    "FGTS-VA": ("#A50026", "-"), "fgts_va": ("#A50026", "-"), "thompson": ("#A50026", "-"),
    "TS, weighted": ("#44AA99", "-"), "ts": ("#44AA99", "-"),
    "FGTS-A": ("#AA4499", "-"), "fgts_a": ("#AA4499", "-"),
    "FGTS-B": ("#56B4E9", "-"), "fgts_b": ("#56B4E9", "-"),
    "OFUL": ("#999933", (0, (5, 1))), "oful": ("#999933", (0, (5, 1))),
    "Weighted OFUL+": ("#332288", (0, (5, 1))), "weighted_oful": ("#332288", (0, (5, 1))),
    "Weighted OFUL (sub-Gaussian)": ("#117733", (0, (5, 1))),
    "SAVE": ("#882255", (0, (5, 1))), "save": ("#882255", (0, (5, 1))),
    "SAVE (practical)": ("#CC6677", (0, (5, 1))),
    "LinTS": ("#6699CC", "-."), "lints": ("#6699CC", "-."),
    "LinNATS-style": ("#661100", "-."), "linnats": ("#661100", "-."),
    "LinVDTS-style": ("#DDCC77", "-."), "linvdts": ("#DDCC77", "-."),
    "ensemble": ("#0F6E84", "-"), "greedy": ("#5D4E00", "-"), "epsilon_greedy": ("#AA7744", "-"),
    "neural_linear": ("#1B7837", "-"), "neural_ts": ("#762A83", "-"), "neural_ucb": ("#762A83", (0, (5, 1))),
    "bootstrapped_ensemble": ("#B35806", ":"), "randomised_prior": ("#2166AC", ":"),
    "ensemble_plus_plus": ("#01665E", ":"), "dropout": ("#C51B7D", ":"),
    "linear_ensemble_plus_plus": ("#01665E", "-"), "published_ulmc": ("#7F3B08", "-"),
    "ts_sa": ("#8C510A", "-"), "beta_ts": ("#5E3C99", "-"),
    "uniform": ("#777777", "-"), "clairvoyant": ("#333333", ":"),
}  # fmt: skip
MAX_LEGEND = 14  # lines of a legend that fit into a panel
FEW = 3  # lines of one colour that markers distinguish; more get shades

type Handle = Any  # an Artist, or the Container of an error bar, which matplotlib's types leave out

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
    """Applies the style to figures that are drawn inside; no display is needed."""
    with mpl.rc_context(RC):
        yield


def look(name: str, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """Colour and line style of a sampler, algorithm, agent or posterior.

    An algorithm that is named after its sampler, like `FGTS-VA (SGLD)`, looks like that sampler.

    Args:
        name: what is drawn.
        others: all names in the figure, from which an unknown name gets its colour.
    """
    name = _sampler_of(name)
    if name == REFERENCE:
        return {"color": "black", "linestyle": "--", "zorder": 2.5}  # above the other lines, which are at 2
    if name in ALGORITHMS:
        colour, line = ALGORITHMS[name]
        return {"color": colour, "linestyle": line}
    names = [*FIRST, *(known for known in SAMPLERS.names() if known not in (REFERENCE, *FIRST))]
    index = names.index(name) if name in names else others.index(name) if name in others else 0
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": "-" if index < len(COLOURS) else ":"}


def _sampler_of(name: str) -> str:
    inside = name.rpartition("(")[2].rstrip(")").lower()
    return inside if inside in SAMPLERS.names() else name


def _unknown(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        name for name in names if name not in ALGORITHMS and _sampler_of(name) not in SAMPLERS.names()
    )


def distinct(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The appearance of algorithms; the first two and exact draws have thicker lines."""
    return {
        name: look(name, _unknown(names))
        | {"linewidth": 2.6 if index < 2 or _sampler_of(name) == REFERENCE else 1.5}
        for index, name in enumerate(names)
    }


def graded(levels: Sequence[float]) -> dict[float, dict[str, Any]]:
    """Colours from dark to light for the values of a setting; zero is dash-dotted."""
    shades = mpl.colormaps["viridis"](np.linspace(0.0, 0.9, len(levels)))
    return {
        level: {"color": to_hex(shade), "linestyle": "-" if level else "-."}
        for level, shade in zip(levels, shades, strict=True)
    }


def variants(owners: Mapping[str, str], several: bool = True) -> dict[str, dict[str, Any]]:
    """The appearance of lines: a colour per sampler (or agent, or posterior), a marker per setting.

    The same setting has the same marker and dash for every sampler, but exact draws are always black and dashed. Many
    lines of one sampler go from dark to light.

    Args:
        owners: the sampler, agent or posterior of each line, by the line's label.
        several: whether one has several lines in a panel; otherwise colours are enough.
    """
    who = list(dict.fromkeys(owners.values()))
    looks = {name: look(name, _unknown(who)) for name in who}
    shared = Counter(own["color"] for own in looks.values())
    rest = {label: " ".join(word for word in label.split() if word != own) for label, own in owners.items()}
    kinds = [kind for kind in dict.fromkeys(rest.values()) if kind] if several else []
    dashes = DASHES if len(kinds) <= len(DASHES) else DASHES[:1]
    appearances = {}
    for label, name in owners.items():
        own = looks[name]
        if name != REFERENCE and shared[own["color"]] == 1:
            own = own | {"linestyle": "-"}
        if rest[label] in kinds and len(kinds) > 1:
            index = kinds.index(rest[label])
            own = own | {"marker": MARKERS[index % len(MARKERS)]}
            if own["linestyle"] == "-":
                own = own | {"linestyle": dashes[index % len(dashes)]}
            alike = [other for other, owner in owners.items() if owner == name]
            if name != REFERENCE and (len(who) == 1 or len(alike) > FEW):
                own = own | {"color": _shades(own["color"] if len(who) > 1 else None, alike)[label]}
        appearances[label] = own
    return appearances


def _shades(colour: str | None, labels: Sequence[str]) -> dict[str, str]:
    """Shades of a colour from dark to light; of a colour map if it is None."""
    if colour is None:
        ramp: Any = mpl.colormaps["viridis"]
        return {
            label: to_hex(ramp(at))
            for label, at in zip(labels, np.linspace(0, 0.9, len(labels)), strict=True)
        }
    ramp = LinearSegmentedColormap.from_list("", ["black", colour, "white"])
    return {
        label: to_hex(ramp(at)) for label, at in zip(labels, np.linspace(0.3, 0.78, len(labels)), strict=True)
    }


def marked(name: str, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """A sampler as a point, hollow where it shares its colour with another."""
    own = look(name, others)
    return {"color": own["color"], "markerfacecolor": "white" if own["linestyle"] == ":" else own["color"]}


def error_bars(
    intervals: Sequence[Interval],
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, "2 points"]]:
    """Estimates, and the lengths of their error bars below and above."""
    mean = np.array([one.value for one in intervals])
    return mean, np.array([[one.value - one.low, one.high - one.value] for one in intervals]).T


def panels_of(count: int, width: float, height: float) -> tuple[Figure, Shaped[np.ndarray, "..."]]:
    """A figure with that many panels, at most two beside each other, so that it is legible in a column."""
    columns = min(count, 2)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(max(width * columns, 7.0), height * rows))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes


def handles_of(axes: Shaped[np.ndarray, "..."]) -> dict[str, Handle]:
    """The legend handles of all panels, by label."""
    return {
        label: handle
        for ax in axes.flat
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }


def legend_below(figure: Figure, axes: Shaped[np.ndarray, "..."]) -> None:
    """Adds one legend for all panels, below them."""
    handles_below(figure, handles_of(axes))


def handles_below(figure: Figure, handles: Mapping[str, Handle]) -> None:
    """Adds a legend of these handles below all panels, in as many columns as fit."""
    labels = list(handles)
    columns = max(1, _columns(labels, figure.get_figwidth()))
    rows = math.ceil(len(labels) / columns)
    figure.set_figheight(figure.get_figheight() + 0.2 * rows)
    figure.legend(
        handles.values(), labels, loc="outside lower center", ncols=math.ceil(len(labels) / rows), fontsize=9,
        handlelength=2.6,
    )  # fmt: skip


def _columns(labels: Sequence[str], width: float) -> int:
    """How many columns fit beside each other, each as wide as its longest label."""

    def needed(columns: int) -> float:
        rows = math.ceil(len(labels) / columns)
        longest = [max(map(len, labels[start : start + rows])) for start in range(0, len(labels), rows)]
        return sum(0.75 + 0.075 * length for length in longest)

    return next((columns for columns in range(len(labels), 1, -1) if needed(columns) <= width), 1)


def legend_spare(figure: Figure, axes: Shaped[np.ndarray, "..."], count: int) -> None:
    """Adds one legend for all panels: in an empty panel if there is one and it fits, else below."""
    handles = handles_of(axes)
    if count == len(axes) or len(handles) > MAX_LEGEND:
        handles_below(figure, handles)
    else:
        axes[-1].legend(handles.values(), handles.keys(), loc="center", fontsize=10, handlelength=2.6)


def legend_beside(figure: Figure, axes: Shaped[np.ndarray, "..."], title: str | None = None) -> None:
    """Adds one legend for all panels, to their right."""
    handles = handles_of(axes)
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside right center",
        fontsize=9,
        title=title,
        handlelength=2.6,
    )


def plain_numbers(ax: Axes) -> None:
    """Writes plain numbers on a logarithmic y axis, over few decades also between the powers of ten."""
    plain_axis(ax.yaxis)


def plain_axis(axis: Axis, decades: float = 3) -> None:
    """The same for either axis; up to so many decades have numbers between the powers of ten."""
    low, high = axis.get_view_interval()
    steps = {4.0: (1, 1.5, 2, 3, 4, 5, 6, 8), 12.0: (1, 2, 3, 5, 7), 10.0**decades: (1, 2, 5), math.inf: (1,)}
    axis.set_major_locator(LogLocator(subs=next(subs for most, subs in steps.items() if high < most * low)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
