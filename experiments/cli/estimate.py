"""Shows what a study will take, for `fgtsva run --dry-run`."""

from rich.console import Console
from rich.table import Table

from experiments.config.labels import by_panel, labels_of
from experiments.config.study import Study
from experiments.config.text import counted, format_duration
from experiments.execute.estimate import Estimate
from experiments.storage.folder import Folder

MAX_LISTED = 8  # cells of an environment that are named


def show(console: Console, study: Study, estimate: Estimate, folder: Folder) -> None:
    """Prints the settings in which the cells differ, the number of cells, and how long they take."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for key in dict.fromkeys(key for cell in study.cells for key in cell.flat):
        values = list(dict.fromkeys(str(cell.flat[key]) for cell in study.cells if key in cell.flat))
        if len(values) > 1:
            table.add_row(key, ", ".join(values))
    console.print(table)
    labels = labels_of(study.cells)
    for panel, cells in by_panel(study.cells).items():
        # A single remaining cell is shown instead of "and 1 more".
        shown = len(cells) if len(cells) == MAX_LISTED + 1 else MAX_LISTED
        for cell in cells[:shown]:
            console.print(f"  {panel}: {labels[cell.id]}", soft_wrap=True, markup=False, highlight=False)
        if len(cells) > shown:
            console.print(f"  {panel}: and {len(cells) - shown} more")
    stored = f", {estimate.stored} of them stored already" if estimate.stored else ""
    console.print(
        f"{counted(estimate.cells, 'cell')}{stored}; {counted(estimate.programs, 'program')} to compile, "
        f"{estimate.decisions:,} decisions"
    )
    console.print(f"Roughly {format_duration(estimate.seconds)} on two cores, if nothing was compiled before")
    console.print(f"Output: {folder.path}", soft_wrap=True, markup=False)
