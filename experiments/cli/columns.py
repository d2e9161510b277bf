"""Widths of columns of text on a terminal."""

from collections.abc import Iterable, Mapping, Sequence

GUTTER, EDGES = 3, 2  # characters between columns, and at both sides of a table


def total_width(columns: Mapping[str, Sequence[str]]) -> int:
    """The width of columns whose texts are not wrapped, by their headings."""
    return sum(max(map(len, [heading, *texts])) + GUTTER for heading, texts in columns.items())


def longest_word(texts: Iterable[str]) -> int:
    """The least width of a column in which no word is broken."""
    return max(len(word) for text in texts for word in (text.split() or [""]))


def fit_widths(columns: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths of wrapped columns: no word is broken, and the rest of the width goes where most is missing."""
    widths, needs = [longest_word(texts) for texts in columns], [max(map(len, texts)) for texts in columns]
    for _ in range(width - sum(widths)):
        missing = [need / width if need > width else 0 for need, width in zip(needs, widths, strict=True)]
        if any(missing):
            widths[missing.index(max(missing))] += 1
    return widths
