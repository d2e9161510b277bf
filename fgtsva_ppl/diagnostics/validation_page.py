"""The tables of fgtsva_ppl/VALIDATION.md: rows by class of rewards and sampler, and the references."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from fgtsva_ppl.diagnostics.validation_cases import cases
from samplers import SAMPLERS

PAGE = Path(__file__).parent.parent / "VALIDATION.md"
HEADINGS = (
    "rewards", "sampler", "acceptance", "divergent per draw", "R-hat", "mean error", "sd ratio", "action TV",
    "TV floor", "gradients",
)  # fmt: skip
BEGIN, END = "<!-- validation: begin -->", "<!-- validation: end -->"
REFERENCE_HEADINGS = ("rewards", "NUTS", "tempered SMC", "mean error", "sd ratio", "action TV (floor)")
REFERENCES_BEGIN, REFERENCES_END = "<!-- references: begin -->", "<!-- references: end -->"
LONG_HEADINGS = ("rewards", "sampler", "noise", "acceptance", "gradient norm", "divergent", "repeated")
LONG_BEGIN, LONG_END = "<!-- long runs: begin -->", "<!-- long runs: end -->"


class Outcome(NamedTuple):
    """How a sampler did on a class of rewards; see the columns of the table."""

    acceptance_rate: float
    divergent: float
    rhat: float
    mean_error: float
    sd_ratio: float
    total_variation: float
    floor: float
    num_gradients: float


def format_row(case: str, name: str, outcome: Outcome) -> str:
    """Returns an outcome as a row of the table."""

    def number(value: float, digits: int) -> str:
        return "–" if np.isnan(value) else f"{value:.{digits}f}"

    digits = (2, 2, 2, 2, 2, 3, 3, 0)
    columns = [number(value, places) for value, places in zip(outcome, digits, strict=True)]
    return f"| {case} | {name} | " + " | ".join(columns) + " |"


def _split(page: Path, begin: str, end: str) -> tuple[str, str, str]:
    head, rest = page.read_text().split(begin)
    table, tail = rest.split(end)
    return head + begin, table, end + tail


def _table(headings: tuple[str, ...], rows: list[str]) -> list[str]:
    return ["| " + " | ".join(headings) + " |", "|---" * len(headings) + "|", *rows]


def update_references(page: Path, rows: dict[str, str]) -> None:
    """Replaces rows of the table of references, and keeps the others."""
    head, table, tail = _split(page, REFERENCES_BEGIN, REFERENCES_END)
    all_rows = reference_rows(table) | rows
    listed = [all_rows[case] for case in cases() if case in all_rows]
    page.write_text("\n".join([head, *_table(REFERENCE_HEADINGS, listed), tail]))


def reference_rows(table: str) -> dict[str, str]:
    """Returns the rows of the table of references, by class of rewards."""
    split = {line: line.split("|") for line in table.splitlines()}
    return {c[1].strip(): line for line, c in split.items() if len(c) > 2 and c[1].strip() in cases()}


def update_long_runs(page: Path, rows: dict[tuple[str, str, str], str]) -> None:
    """Replaces rows of the table of long runs, and keeps the others."""
    head, table, tail = _split(page, LONG_BEGIN, LONG_END)
    order = list(cases())
    listed = sorted((long_rows(table) | rows).items(), key=lambda item: order.index(item[0][0]))
    page.write_text("\n".join([head, *_table(LONG_HEADINGS, [line for _, line in listed]), tail]))


def long_rows(table: str) -> dict[tuple[str, str, str], str]:
    """Returns the rows of the table of long runs, by class of rewards, sampler and noise."""
    split = {line: [column.strip() for column in line.split("|")] for line in table.splitlines()}
    known, noises = cases(), ("revealed", "constant", "sparse")
    return {
        (c[1], c[2], c[3]): line
        for line, c in split.items()
        if len(c) > 3 and c[1] in known and c[3] in noises
    }


def update_table(page: Path, rows: dict[tuple[str, str], str]) -> None:
    """Replaces rows of the table between the marks, and keeps the others."""
    head, table, tail = _split(page, BEGIN, END)
    all_rows = table_rows(table) | rows
    listed = [
        all_rows[key]
        for case in cases()
        for name in validated_samplers()
        if (key := (case, name)) in all_rows
    ]
    page.write_text("\n".join([head, *_table(HEADINGS, listed), tail]))


def table_rows(table: str) -> dict[tuple[str, str], str]:
    """Returns the rows of a table, by class of rewards and sampler."""
    split = {line: [column.strip() for column in line.split("|")] for line in table.splitlines()}
    known, samplers = cases(), SAMPLERS.names()
    return {
        (c[1], c[2]): line for line, c in split.items() if len(c) > 2 and c[1] in known and c[2] in samplers
    }


def validated_samplers() -> list[str]:
    """Returns the names of all samplers that any reward can be sampled with."""
    excluded = {"exact", *(name for name, cls in SAMPLERS if cls.info.family in ("control", "Gibbs"))}
    return [name for name in SAMPLERS.names() if name not in excluded]
