"""What is shown on a terminal: a table that fits, progress with the time that is left."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
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

from experiments.cells import Cell
from experiments.runner import Progress as Tell
from experiments.summary import NAMES, Row


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


def table(rows: Sequence[Row], width: int = 80) -> Table:
    """Regret and what it cost, a cell a row; columns of names that do not differ are left out.

    Where a terminal is too narrow, what is of least interest goes first: it is in summary.csv.
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
        if sum(max(map(len, [head, *cells])) + GUTTER for head, cells in columns.items()) > width:
            del columns[name]
    made = _plain("gap: paired difference to exact, 95% interval; acc: acceptance; s: seconds of computing")
    for name in columns:
        made.add_column(name, justify="right" if name in FIGURES else "left", no_wrap=True)
    for cells in zip(*columns.values(), strict=True):
        made.add_row(*cells)
    return made


def _regret(row: Row) -> str:
    if "final_regret_mean" not in row:
        return str(row["status"])
    return f"{_number(row['final_regret_mean'], 1)} ± {_number(row['final_regret_se'], 1)}"


def _shown(key: str, digits: int) -> Callable[[Row], str]:
    return lambda row: _number(row[key], digits) if key in row else ""


FIGURES: dict[str, Callable[[Row], str]] = {
    "regret": _regret,
    "gap to exact": lambda row: _gap(row) if "final_regret_mean" in row else "",
    "acc": _shown("acceptance", 2),
    "grads": _shown("gradients_per_round", 1),
    "s": _shown("seconds", 1),
}
EXPENDABLE = ("acc", "s", "grads")
GUTTER = 3  # between columns


def _plain(caption: str) -> Table:
    """Without lines between columns: the default study fits a terminal of 80 columns."""
    return Table(caption=caption, box=box.SIMPLE_HEAD, pad_edge=False, caption_justify="left")


def standings(rows: Sequence[Row]) -> Table:
    """Algorithms at textbook and tuned settings."""
    made = _plain("tuned on another seed; growth: log2 of the regret at the end over that at half time")
    for name in ("environment", "algorithm", "level", "setting"):
        made.add_column(name, no_wrap=name != "setting")
    for name in ("regret", "growth"):
        made.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        regret = f"{_number(row['final_regret_mean'], 1)} ± {_number(row['final_regret_se'], 1)}"
        told = [row[name] for name in ("environment", "algorithm", "level", "setting")]
        made.add_row(*told, regret, _number(row["growth"]))
    return made


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
    with bar:
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
