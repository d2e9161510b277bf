"""What is shown on a terminal: a table that fits, progress with the time that is left."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from experiments.analysis.summary import NAMES, Row
from experiments.cli import signals
from experiments.config.cell import Cell, by_panel, labels_of
from experiments.execute.runner import Progress as Tell


def _number(value: object, digits: int = 2) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.{digits}f}"
    return "–" if value in (None, "") else str(value)


def _setting(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else _number(value)


def _gap(row: Row) -> str:
    if "regret_gap" not in row:
        return "–"
    return f"{row['regret_gap']:+.1f} [{row['regret_gap_low']:+.1f}, {row['regret_gap_high']:+.1f}]"


def table(rows: Sequence[Row], width: int = 80, cells: Sequence[Cell] = ()) -> Table:
    """Regret and what it cost, a cell a row; columns of names that do not differ are left out.

    Where a terminal is too narrow, what is of least interest goes first: it is in summary.csv. Then, where the cells of
    the rows are given, one column with what tells them apart takes the place of names and settings.
    """
    named = [name for name in NAMES if len({row[name] for row in rows}) > 1]
    named = named or ["environment", "sampler"]
    fixed = (*NAMES, "runs", "rounds", "seed", "status", "reason")
    extra = (
        [key for key in rows[0] if key not in fixed and ("." in key or key in ("noise", "reward"))]
        if rows
        else []
    )
    columns = {name.rpartition(".")[2]: [_setting(row[name]) for row in rows] for name in (*named, *extra)}
    columns |= {name: [tell(row) for row in rows] for name, tell in FIGURES.items()}
    for name in EXPENDABLE:
        if _width(columns) > width:
            del columns[name]
    if _width(columns) > width and cells:
        columns = {TOLD: _told(cells)} | {name: columns[name] for name in columns if name in FIGURES}
    made = _plain("; ".join(text for name, text in EXPLAINED.items() if name in columns))
    room = width - _width({name: texts for name, texts in columns.items() if name != TOLD}) - EDGES
    for name in columns:
        wide = _fit([[TOLD, *columns[TOLD]]], room)[0] if name == TOLD else None
        made.add_column(
            name, justify="right" if name in FIGURES else "left", no_wrap=name != TOLD, width=wide
        )
    for texts in zip(*columns.values(), strict=True):
        made.add_row(*texts)
    return made


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    return sum(max(map(len, [head, *texts])) + GUTTER for head, texts in columns.items())


def _told(cells: Sequence[Cell]) -> list[str]:
    """What tells cells apart, in words."""
    labels, panels = labels_of(cells), by_panel(cells)
    of = {cell.id: panel for panel, members in panels.items() for cell in members}
    return [f"{of[cell.id]} {labels[cell.id]}" if len(panels) > 1 else labels[cell.id] for cell in cells]


def longest_word(texts: Iterable[str]) -> int:
    """The least width of a column in which no word is broken."""
    return max(len(word) for text in texts for word in (text.split() or [""]))


def _fit(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Widths of columns of text that share a room: no word broken, the rest to whoever lacks most."""
    widths, needs = [longest_word(texts) for texts in columns], [max(map(len, texts)) for texts in columns]
    for _ in range(room - sum(widths)):
        lacking = [need / width if need > width else 0 for need, width in zip(needs, widths, strict=True)]
        if any(lacking):
            widths[lacking.index(max(lacking))] += 1
    return widths


def _regret(row: Row) -> str:
    if "final_regret_mean" not in row:
        return str(row["status"])
    return f"{_number(row['final_regret_mean'], 1)} ± {_number(row['final_regret_se'], 1)}"


def _shown(key: str, digits: int) -> Callable[[Row], str]:
    return lambda row: _number(row[key], digits) if key in row else ""


FIGURES: dict[str, Callable[[Row], str]] = {
    "regret": _regret,
    "gap to exact": lambda row: _gap(row) if "final_regret_mean" in row else "",
    "acc": _shown("acceptance_rate", 2),
    "grads": _shown("gradients_per_round", 1),
    "s": _shown("seconds", 1),
}
EXPENDABLE = ("acc", "s", "grads")
EXPLAINED = {
    "gap to exact": "gap: paired difference to exact, 95% interval",
    "acc": "acc: acceptance",
    "grads": "grads: gradients a round",
    "s": "s: seconds of computing",
}
TOLD = "cell"  # the column with all that tells cells apart
GUTTER, EDGES = 3, 2  # between columns, and at both sides of all


def _plain(caption: str) -> Table:
    """Without lines between columns: the default study fits a terminal of 80 columns."""
    return Table(caption=caption or None, box=box.SIMPLE_HEAD, pad_edge=False, caption_justify="left")


def standings(rows: Sequence[Row], width: int = 80) -> Group:
    """Algorithms at textbook and tuned settings, environment by environment."""
    told = {name: [str(row[name]) for row in rows] for name in ("algorithm", "level", "setting")}
    told["regret"] = [
        f"{_number(row['final_regret_mean'], 1)} ± {_number(row['final_regret_se'], 1)}" for row in rows
    ]
    told["growth"] = [_number(row["growth"]) for row in rows]
    wrapped = {name: [name, *told[name]] for name in ("algorithm", "setting")}
    room = width - _width({name: texts for name, texts in told.items() if name not in wrapped})
    wide = _fit(list(wrapped.values()), room - EDGES - GUTTER * len(wrapped))
    widths = dict(zip(wrapped, wide, strict=True))
    shown: list[RenderableType] = []
    for environment in dict.fromkeys(str(row["environment"]) for row in rows):
        made = _plain("")
        for name in told:
            side: JustifyMethod = "right" if name in ("regret", "growth") else "left"
            made.add_column(name, justify=side, no_wrap=name not in wrapped, width=widths.get(name))
        for row, line in zip(rows, zip(*told.values(), strict=True), strict=True):
            if row["environment"] == environment:
                made.add_row(*line)
        shown += [Text(environment, style="bold"), made]
    return Group(
        *shown, Text("tuned on another seed; growth: log2 of regret at the end over that at half time")
    )


@contextmanager
def progress(console: Console, cells: Sequence[Cell], probes: int) -> Iterator[Tell]:
    """A bar over all rounds of all cells, with the cell that is running and the time that is left."""
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    done: dict[str, int] = {}
    with signals.in_place_of(2 if probes else 1), bar:
        task = bar.add_task("compiling", total=sum(cell.rounds for cell in cells))
        looking = bar.add_task("diagnosing", total=probes, visible=probes > 0)
        seen: dict[str, int] = {}

        def tell(cell: Cell, rounds: int, diagnosed: int) -> None:
            done[cell.id], seen[cell.id] = rounds, diagnosed
            bar.update(looking, completed=sum(seen.values()))
            names = " ".join(
                str(cell.flat[key]) for key in ("environment", "sampler", "agent") if key in cell.flat
            )
            bar.update(task, completed=sum(done.values()), description=names)

        yield tell
