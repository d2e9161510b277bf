"""Progress of a run: on a terminal a bar under a table that fills; elsewhere a line per finished cell.

Both state the regret of finished cells, their gap to exact draws, and the remaining time.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from experiments.analysis.arrays import final_regret
from experiments.analysis.statistics import paired_difference, standard_error
from experiments.cli import signals
from experiments.cli.terminal import borderless
from experiments.config.cell import REFERENCE, Cell
from experiments.config.labels import by_panel, labels_of
from experiments.config.text import format_duration
from experiments.execute.estimate import Estimate
from experiments.execute.job import Progress as Report
from experiments.storage.errors import DamagedError
from experiments.storage.folder import Folder

BELOW = 7  # lines of a terminal that the table of finished cells leaves free
HEADER = 4  # lines of that table beside its rows
LINE_EVERY = 30.0  # seconds after which an unfinished cell has a line of its own

type Count = Callable[[Cell, int, int], list[Cell]]  # takes a report, returns the cells that are newly stored


@dataclass
class Finished:
    """The finished cells of a study, read from its folder as they appear there.

    Attributes:
        cells: All cells of the study, in its order.
        folder: Where finished cells are stored; None if none are to be read.
    """

    cells: Sequence[Cell]
    folder: Folder | None = None
    _final: dict[str, Float[np.ndarray, " runs"]] = field(
        default_factory=dict
    )  # by cell, in order of appearance

    def __post_init__(self) -> None:
        self._gaps: dict[
            str, str
        ] = {}  # by cell; intervals take time, and the table is drawn ten times a second
        self._labels = labels_of(self.cells)
        self._panels = {cell.id: panel for panel, cells in by_panel(self.cells).items() for cell in cells}
        self._references = {
            cell.reference_key(): cell.id
            for cell in self.cells
            if self.folder is not None and cell.flat.get("sampler") == REFERENCE
        }

    def new(self, candidates: Iterable[Cell]) -> list[Cell]:
        """Those of the candidates that have been stored since the last call."""
        found = []
        for cell in candidates:
            if self.folder is None or cell.id in self._final or not self.folder.holds(cell):
                continue
            try:
                data = self.folder.read(cell)
            except DamagedError:  # it will be computed again
                continue
            if data is not None and "regret" in data.dataset:
                self._final[cell.id] = final_regret(data)
                found.append(cell)
        return found

    def __len__(self) -> int:
        return len(self._final)

    def texts(self, cell: Cell) -> tuple[str, str, str]:
        """Name, regret, and gap to exact draws if those are finished."""
        name = f"{self._panels[cell.id]} {self._labels[cell.id]}"
        final = self._final.get(cell.id)
        if final is None:
            return name, "", ""
        regret = f"{final.mean():.1f} ± {standard_error(final):.1f}".replace("nan", "–")
        reference = self._references.get(cell.reference_key()) if "sampler" in cell.flat else None
        exact = self._final.get(reference or "")
        if exact is None or reference == cell.id or exact.shape != final.shape:
            return name, regret, ""
        if cell.id not in self._gaps:
            self._gaps[cell.id] = paired_difference(final, exact).format("+.1f")
        return name, regret, self._gaps[cell.id]

    def table(self, max_rows: int) -> RenderableType:
        """The last finished cells in the order of the study."""
        table = borderless("")
        for name in ("finished", "regret", "gap to exact"):
            table.add_column(name, justify="left" if name == "finished" else "right", no_wrap=True)
        known = set([*self._final][-max_rows:])
        for cell in self.cells:
            if cell.id in known:
                table.add_row(*self.texts(cell))
        return table


class _Bar(Progress):
    """A bar under the table of finished cells."""

    stored: Finished | None = None
    max_rows = 0

    def get_renderables(self) -> Iterable[RenderableType]:
        """The table if it has rows, then the bars."""
        if self.stored:
            yield self.stored.table(self.max_rows)
        yield self.make_tasks_table(self.tasks)


@contextmanager
def progress(
    console: Console,
    cells: Sequence[Cell],
    num_probes: int,
    estimate: Estimate | None = None,
    folder: Folder | None = None,
    lines: Console | None = None,
) -> Iterator[Report]:
    """Shows how far a study is, which cells are finished with which regret, and the remaining time.

    Args:
        console: Where the bar is shown, if it is a terminal.
        cells: The cells of the study.
        num_probes: The number of probe rounds of all cells; 0 for no second bar.
        estimate: Of the study, by which the remaining time weighs its cells; None for no remaining time.
        folder: Where finished cells are stored; None for no table of them.
        lines: Where a line per finished cell goes if the first console is no terminal; None for none.

    Yields:
        The function that `execute` reports progress to.
    """
    begin = time.monotonic()
    rounds_done: dict[str, int] = {}
    probes_done: dict[str, int] = {}
    finished = Finished(cells, folder if console.is_terminal or lines is not None else None)

    def left() -> str:
        if estimate is None:
            return ""
        done = {cell.id: rounds_done.get(cell.id, 0) / cell.rounds for cell in cells}
        return f"left: {format_duration(estimate.seconds_left(time.monotonic() - begin, done))}"

    def count(cell: Cell, rounds: int, diagnosed: int) -> list[Cell]:
        rounds_done[cell.id], probes_done[cell.id] = rounds, diagnosed
        complete = {key for key, number in rounds_done.items() if number}
        return finished.new(one for one in cells if one.id in complete and rounds_done[one.id] == one.rounds)

    if not console.is_terminal:
        yield _in_lines(lines, cells, finished, count, left)
        return
    bar = _Bar(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
        transient=True,
    )
    bar.stored, bar.max_rows = finished, max(1, console.height - BELOW)
    bars = 2 if num_probes else 1
    with signals.replacing_lines(bars), bar:
        simulating = bar.add_task("compiling", total=sum(cell.rounds for cell in cells), left=left())
        diagnosing = bar.add_task("diagnosing", total=num_probes, visible=num_probes > 0, left="")

        def report(cell: Cell, rounds: int, diagnosed: int) -> None:
            count(cell, rounds, diagnosed)
            shown = min(len(finished), bar.max_rows)
            signals.replace_lines(bars + (shown + HEADER if shown else 0))
            bar.update(diagnosing, completed=sum(probes_done.values()))
            names = " ".join(
                str(cell.flat[key]) for key in ("environment", "sampler", "agent") if key in cell.flat
            )
            bar.update(simulating, completed=sum(rounds_done.values()), description=names, left=left())

        yield report


def _in_lines(
    lines: Console | None, cells: Sequence[Cell], finished: Finished, count: Count, left: Callable[[], str]
) -> Report:
    """Prints a line for each finished cell, and for an unfinished one now and then."""
    last = time.monotonic()

    def show(text: str) -> None:
        nonlocal last
        last = time.monotonic()
        if lines is not None:
            rest = left()
            lines.print(
                f"{len(finished)}/{len(cells)} {text}{f'; {rest}' if rest else ''}",
                soft_wrap=True,
                markup=False,
                highlight=False,
            )

    def report(cell: Cell, rounds: int, diagnosed: int) -> None:
        new = count(cell, rounds, diagnosed)
        for one in new:
            name, regret, gap = finished.texts(one)
            show(f"{name}: regret {regret}{f', gap to exact {gap}' if gap else ''}")
        if not new and time.monotonic() - last > LINE_EVERY:
            what = "diagnosing" if diagnosed else f"{rounds} of {cell.rounds} rounds"
            show(f"{finished.texts(cell)[0]}: {what}")

    return report
