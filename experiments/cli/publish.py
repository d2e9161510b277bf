"""Fills README, gallery and the pages of studies from stored studies: `python -m experiments.cli.publish FOLDER ...`.

`make studies` runs every study and calls it. No number on these pages is typed by hand.
"""

import io
import sys
from pathlib import Path

from rich.console import Console

from experiments.analysis.results import StudyResults
from experiments.analysis.summary import defaults_note
from experiments.cli import terminal
from experiments.report import gallery, readme

README = gallery.HERE.parent / "README.md"
WIDTH = 80  # columns of the terminal that the README shows


def publish(folder: Path, page: Path = README, here: Path = gallery.HERE) -> None:
    """Updates all pages that show a study.

    Args:
        folder: the output folder of the study.
        page: the README.
        here: the folder of the gallery.
    """
    results = gallery.add(folder, here)
    demo = f"```text\n{demo_output(results)}\n```" if results.name == readme.DEMO else ""
    page.write_text(readme.update(page.read_text(), results, demo))


def demo_output(results: StudyResults) -> str:
    """The table that a run of the study prints."""
    text = io.StringIO()
    console = Console(file=text, width=WIDTH, color_system=None)
    console.print(f"{results.title}: {len(results.cells)} cells", markup=False)
    console.print(terminal.summary_table(results.summary_rows, WIDTH, results.cells))
    console.print(defaults_note(results.summary_rows), markup=False)
    return "\n".join(line.rstrip() for line in text.getvalue().strip().splitlines())


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        publish(Path(argument))
