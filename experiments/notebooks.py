"""Notebooks from scripts with cells: `python -m experiments.notebooks` executes the scripts and writes both again.

A line `# %% Title` begins a cell. The comment directly below it is text, the rest is code. A notebook has what the code
prints, and the figures that it writes.
"""

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

HERE = Path(__file__).parent
SCRIPTS = ("tutorial", "extend")
MARK = "# %%"


class Cell(NamedTuple):
    """A cell of a notebook, and what its execution gave."""

    text: str
    is_code: bool
    printed: str = ""
    figures: tuple[bytes, ...] = ()  # PNG


def cells_of(script: str) -> list[Cell]:
    """The cells of a script: its docstring, then text and code of each part."""
    docstring = ast.get_docstring(ast.parse(script)) or ""
    title, _, rest = docstring.partition("\n")
    cells = [Cell(f"# {title.rstrip('.')}\n\n{rest.strip()}", is_code=False)]
    for part in script.split(f"\n{MARK}")[1:]:
        heading, _, body = part.partition("\n")
        lines = body.split("\n")
        number = next((i for i, line in enumerate(lines) if not line.startswith("# ")), len(lines))
        text = " ".join(line.removeprefix("# ") for line in lines[:number])
        cells.append(Cell(f"## {heading.strip()}" + (f"\n\n{text}" if text else ""), is_code=False))
        cells.append(Cell("\n".join(lines[number:]).strip(), is_code=True))
    return cells


def execute(cells: Sequence[Cell], name: str) -> list[Cell]:
    """Executes the code of all cells in one namespace and in a folder of its own.

    Args:
        cells: Of a script.
        name: Of the script, for error messages.

    Returns:
        The cells with what was printed and the figures that were written.
    """
    executed = []
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with _empty_folder() as folder:
        known: set[Path] = set()
        for number, cell in enumerate(cells):
            if not cell.is_code:
                executed.append(cell)
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(cell.text, f"{name}, cell {number}", "exec"), namespace)
            figures = sorted(set(folder.rglob("*.png")) - known, key=lambda path: path.stat().st_mtime_ns)
            known |= {*figures}
            executed.append(
                cell._replace(
                    printed=printed.getvalue(), figures=tuple(path.read_bytes() for path in figures)
                )
            )
    return executed


@contextlib.contextmanager
def _empty_folder() -> Iterator[Path]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def to_notebook(cells: Sequence[Cell]) -> dict[str, Any]:
    """The cells in Jupyter's format, version 4.5."""
    return {
        "cells": [_entry(number, cell) for number, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _entry(number: int, cell: Cell) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": f"cell-{number}",
        "metadata": {},
        "source": cell.text.splitlines(keepends=True),
    }
    if not cell.is_code:
        return entry | {"cell_type": "markdown"}
    outputs: list[dict[str, Any]] = []
    if cell.printed:
        outputs.append(
            {"output_type": "stream", "name": "stdout", "text": cell.printed.splitlines(keepends=True)}
        )
    for figure in cell.figures:
        png = base64.b64encode(figure).decode()
        outputs.append({"output_type": "display_data", "data": {"image/png": png}, "metadata": {}})
    return entry | {"cell_type": "code", "execution_count": None, "outputs": outputs}


def sources(notebook: dict[str, Any]) -> list[str]:
    """The text of every cell of a notebook."""
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def write(name: str) -> Path:
    """Executes a script and writes its notebook beside it."""
    cells = execute(cells_of((HERE / f"{name}.py").read_text()), name)
    path = HERE / f"{name}.ipynb"
    path.write_text(json.dumps(to_notebook(cells), indent=1, ensure_ascii=False) + "\n")
    return path


if __name__ == "__main__":
    mpl.use("Agg")
    for script in SCRIPTS:
        print(write(script))
