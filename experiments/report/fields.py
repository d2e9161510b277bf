"""Fields and columns of which the report's tables are made: text in few digits, and what it sorts by."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from experiments.analysis.summary import Row, interval_of

CELL = "_cell"  # key of a row's cell id


class Field(NamedTuple):
    """A field of a table: what is shown, and what it sorts by (None: it is missing, and comes last)."""

    text: str
    key: float | str | None

    @property
    def numeric(self) -> bool:
        """Whether it sorts as a number."""
        return not isinstance(self.key, str)

    @property
    def sort_key(self) -> str:
        """The key as JavaScript reads it."""
        return str(self.key).replace("inf", "Infinity") if self.numeric else str(self.key)


class Column(NamedTuple):
    """A heading, and a function from a row to its field."""

    heading: str
    field: Callable[[Row], Field]


class Table(NamedTuple):
    """A table whose headings sort it; the first column names the row."""

    caption: str
    headings: list[str]
    rows: list[list[Field]]
    cells: list[str]  # the id of each row's cell; empty for a row that is no cell

    @property
    def numeric(self) -> list[bool]:
        """Which columns sort as numbers."""
        return [all(field.numeric for field in column) for column in zip(*self.rows, strict=True)]


def make_table(caption: str, columns: Sequence[Column], rows: Sequence[Row]) -> Table | None:
    """A table of rows; None if there are none."""
    if not rows:
        return None
    fields = [[column.field(row) for column in columns] for row in rows]
    cells = [str(row.get(CELL, "")) for row in rows]
    return Table(caption, [column.heading for column in columns], fields, cells)


def without_constants(table: Table, keep: int) -> Table:
    """The table without columns whose values are all the same, but for the first ones; the caption has them."""
    if len(table.rows) < 2:
        return table
    texts = [[field.text for field in column] for column in zip(*table.rows, strict=True)]
    constant = [index for index, column in enumerate(texts) if index >= keep and len(set(column)) == 1]
    named = [f"{table.headings[i]} {texts[i][0]}" for i in constant if texts[i][0] != "–"]
    kept = [index for index in range(len(texts)) if index not in constant]
    caption = table.caption + (f" The same in all cells: {', '.join(named)}." if named else "")
    rows = [[row[index] for index in kept] for row in table.rows]
    return Table(caption, [table.headings[index] for index in kept], rows, table.cells)


def shown(value: object) -> str:
    """A value in a few digits."""
    if isinstance(value, float):
        if value != value:
            return "–"
        text = (
            f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}" if abs(value) < 1e6 else f"{value:.2e}"
        )
        return text.replace("-", "−").replace("inf", "∞")
    return "–" if value is None else str(value)


def plain(value: Any) -> Field:
    """A value on its own."""
    if value is None or value != value:
        return Field("–", None)
    return Field(shown(value), str(value) if isinstance(value, bool | str) else float(value))


def of(key: str) -> Callable[[Row], Field]:
    """A row's value on its own."""
    return lambda row: plain(row.get(key))


def interval(key: str, *, signed: bool = False) -> Callable[[Row], Field]:
    """A row's value with the ends of its interval, in as many digits as its width deserves."""

    def field(row: Row) -> Field:
        ends = interval_of(row, key)
        if ends is None:
            return Field("–", None)
        text = ends.format(f"{'+' if signed else ''}.{ends.decimals}f")
        return Field(text.replace("-", "−").replace("inf", "∞"), float(ends.value))

    return field
