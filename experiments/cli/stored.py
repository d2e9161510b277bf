"""Shows stored studies on a terminal: one, or two side by side."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.console import Console
from rich.table import Table

from experiments import studies
from experiments.analysis.load import load_results
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, bootstrap, paired_difference
from experiments.analysis.summary import defaults_note
from experiments.cli.terminal import borderless, standings_table, summary_table
from experiments.config.cell import Cell
from experiments.config.text import counted, setting_text
from samplers.errors import InputError

NUMBERS = ("rounds", "runs", "seed")


def show(console: Console, folder: Path) -> None:
    """Prints the title, the findings and the table of a stored study."""
    results = load_results(folder)
    console.print(results.title, style="bold", markup=False)
    if results.command:
        console.print(results.command, style="dim", markup=False, soft_wrap=True)
    for sentence in studies.findings(results)[:3]:
        console.print(sentence, markup=False)
    rows = results.standing_rows
    console.print(
        standings_table(rows, console.width)
        if rows
        else summary_table(results.summary_rows, console.width, results.cells)
    )
    if note := defaults_note(results.summary_rows):
        console.print(note, style="dim", markup=False)
    num_missing = len(results.cells) - len(results.done)
    if num_missing:
        console.print(f"{num_missing} of {counted(len(results.cells), 'cell')} have no results")


def compare(console: Console, first: Path, second: Path) -> None:
    """Prints the regret of cells that two studies have in common, with the difference second - first.

    Settings that are the same in all cells of each study but differ between the two are what is compared; the others
    identify a cell. Differences are paired by run where environment, seed, runs and rounds are the same.
    """
    studies_ = load_results(first), load_results(second)
    constant = [_constant(results) for results in studies_]
    compared = {
        key: (constant[0].get(key), constant[1].get(key))
        for key in dict.fromkeys([*constant[0], *constant[1]])
        if constant[0].get(key) != constant[1].get(key) and key in constant[0] and key in constant[1]
    }
    by_key = [{_key(cell, compared): cell for cell in results.done} for results in studies_]
    common = [key for key in by_key[0] if key in by_key[1]]
    if not common:
        raise InputError(f"{first} and {second} have no cells with the same settings; {_counts(by_key)}")
    for name, folder in (("first", first), ("second", second)):
        console.print(f"{name}: {folder}", markup=False, soft_wrap=True)
    for key, values in compared.items():
        console.print(f"  {key}: {' -> '.join(map(setting_text, values))}", markup=False, soft_wrap=True)
    console.print(_differences(studies_, [(by_key[0][key], by_key[1][key]) for key in common]))
    only = [len(keys) - len(common) for keys in by_key]
    if any(only):
        console.print(f"Only in the first: {counted(only[0], 'cell')}; only in the second: {only[1]}")


def _differences(both: tuple[StudyResults, StudyResults], pairs: list[tuple[Cell, Cell]]) -> Table:
    table = borderless("difference: second - first, mean with its 95% interval")
    for name in ("environment", "cell", "first", "second", "difference", ""):
        table.add_column(name, justify="left" if name in ("environment", "cell", "") else "right")
    for one, other in pairs:
        final = both[0].final(one), both[1].final(other)
        paired = _same_randomness(one, other)
        difference = paired_difference(final[1], final[0]) if paired else unpaired_difference(*final)
        table.add_row(
            both[0].panels[one.id],
            both[0].labels[one.id],
            *(f"{values.mean():.1f}" for values in final),
            difference.format("+.1f"),
            "" if paired else "not paired",
        )
    return table


def unpaired_difference(
    first: Float[np.ndarray, " runs"], second: Float[np.ndarray, " other_runs"]
) -> Interval:
    """Mean of the second minus mean of the first, where runs have nothing in common; bootstrap of each sample."""
    intervals = [bootstrap(values[:, None], lambda x: x[..., 0].mean(axis=-1)) for values in (first, second)]
    value = intervals[1].value - intervals[0].value
    low, high = (
        np.hypot(
            intervals[1].value - intervals[1].low if side < 0 else intervals[1].high - intervals[1].value,
            intervals[0].high - intervals[0].value if side < 0 else intervals[0].value - intervals[0].low,
        )
        for side in (-1, 1)
    )
    return Interval(value, float(value - low), float(value + high))


def _settings(cell: Cell) -> dict[str, Any]:
    return {**cell.flat, **{name: getattr(cell, name) for name in NUMBERS}}


def _constant(results: StudyResults) -> dict[str, Any]:
    """The settings that are the same in all cells that have them."""
    values: dict[str, set[Any]] = {}
    for cell in results.done:
        for key, value in _settings(cell).items():
            values.setdefault(key, set()).add(value)
    return {key: next(iter(known)) for key, known in values.items() if len(known) == 1}


def _key(cell: Cell, compared: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """What identifies a cell in both studies."""
    return tuple(sorted((key, value) for key, value in _settings(cell).items() if key not in compared))


def _same_randomness(one: Cell, other: Cell) -> bool:
    def world(cell: Cell) -> dict[str, Any]:
        return {
            key: value
            for key, value in _settings(cell).items()
            if key in NUMBERS or key.startswith(("environment", "noise", "drift", "feedback"))
        }

    return world(one) == world(other)


def _counts(by_key: list[dict[Any, Cell]]) -> str:
    return f"the first has {counted(len(by_key[0]), 'cell')} with results, the second {len(by_key[1])}"
