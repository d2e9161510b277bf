"""Tables on a terminal."""

from collections.abc import Callable, Sequence

from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from experiments.analysis.summary import NAMES, Row, interval_of, regret_gap_of
from experiments.cli.columns import EDGES, GUTTER, fit_widths, total_width
from experiments.config.cell import Cell
from experiments.config.labels import by_panel, labels_of
from experiments.config.text import setting_text


def _number(value: object, digits: int = 2) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.{digits}f}"
    return "–" if value in (None, "") else str(value)


def _setting(value: object) -> str:
    return "–" if value in (None, "") else setting_text(value)


def _gap(row: Row) -> str:
    gap = regret_gap_of(row)
    return "–" if gap is None else gap.format("+.1f")


def _gap_to_best(row: Row) -> str:
    gap = interval_of(row, "gap_to_best")
    return "–" if gap is None else gap.format("+.1f")


def _regret(row: Row) -> str:
    if "final_regret_mean" not in row:
        return str(row["status"])
    return f"{_number(row['final_regret_mean'], 1)} ± {_number(row['final_regret_se'], 1)}"


def _rounded(key: str, digits: int) -> Callable[[Row], str]:
    return lambda row: _number(row[key], digits) if key in row else ""


RESULTS: dict[str, Callable[[Row], str]] = {  # columns of numbers
    "regret": _regret,
    "gap to exact": lambda row: _gap(row) if "final_regret_mean" in row else "",
    "gap to best": lambda row: _gap_to_best(row) if "final_regret_mean" in row else "",
    "acc": _rounded("acceptance_rate", 2),
    "grads": _rounded("gradients_per_round", 1),
    "s": _rounded("seconds", 1),
}
GAPS = {"gap to exact": "regret_gap", "gap to best": "gap_to_best"}  # shown where some cell has one
EXPENDABLE = ("acc", "s", "preconditioner", "grads")  # columns that a narrow terminal does not show
CAPTIONS = {
    "gap to exact": "gap: paired difference to exact, 95% interval",
    "gap to best": "gap: paired difference to the least regret, 95% interval",
    "acc": "acc: acceptance",
    "grads": "grads: gradients a round",
    "s": "s: seconds of computing",
}
LABEL = "cell"  # a column that replaces those of names and settings


def summary_table(rows: Sequence[Row], width: int = 80, cells: Sequence[Cell] = ()) -> Table:
    """Regret and its cost, a row for each cell; columns of names that do not differ are omitted.

    On a narrow terminal the columns of least interest are omitted, as summary.csv has them. If that is not enough, one
    column of labels replaces those of names and settings.

    Args:
        rows: The rows of summary.csv.
        width: Columns of the terminal.
        cells: The cells of the rows, for their labels.
    """
    named = [name for name in NAMES if len({row[name] for row in rows}) > 1]
    named = named or ["environment", "sampler"]
    fixed = (*NAMES, "runs", "rounds", "seed", "status", "reason")
    settings = (
        [
            key
            for key in rows[0]
            if key not in fixed
            and ("." in key or key in ("noise", "drift", "feedback", "reward", "likelihood"))
        ]
        if rows
        else []
    )
    columns = {name.rpartition(".")[2]: [_setting(row[name]) for row in rows] for name in (*named, *settings)}
    columns |= {name: [text(row) for row in rows] for name, text in RESULTS.items()}
    for name, key in GAPS.items():
        if not any(key in row for row in rows):
            columns.pop(name, None)
    for name in EXPENDABLE:
        if total_width(columns) > width:
            columns.pop(name, None)
    if total_width(columns) > width and cells:
        columns = {LABEL: _labels(cells)} | {name: columns[name] for name in columns if name in RESULTS}
    table = borderless("; ".join(text for name, text in CAPTIONS.items() if name in columns))
    others = total_width({name: texts for name, texts in columns.items() if name != LABEL})
    for name in columns:
        fitted = fit_widths([[LABEL, *columns[LABEL]]], width - others - EDGES)[0] if name == LABEL else None
        table.add_column(
            name, justify="right" if name in RESULTS else "left", no_wrap=name != LABEL, width=fitted
        )
    for texts in zip(*columns.values(), strict=True):
        table.add_row(*texts)
    return table


def _labels(cells: Sequence[Cell]) -> list[str]:
    """The labels of cells, with their panels if there are several."""
    labels, panels = labels_of(cells), by_panel(cells)
    panel_of = {cell.id: panel for panel, members in panels.items() for cell in members}
    return [
        f"{panel_of[cell.id]} {labels[cell.id]}" if len(panels) > 1 else labels[cell.id] for cell in cells
    ]


def borderless(caption: str) -> Table:
    """A table without lines between columns: the default study fits a terminal of 80 columns."""
    return Table(caption=caption or None, box=box.SIMPLE_HEAD, pad_edge=False, caption_justify="left")


def standings_table(rows: Sequence[Row], width: int = 80) -> Group:
    """Algorithms at textbook and tuned settings, a table for each environment.

    Args:
        rows: The rows of standings.csv.
        width: Columns of the terminal.
    """
    columns = {name: [str(row[name]) for row in rows] for name in ("algorithm", "level", "setting")}
    columns["regret"] = [_regret(row) for row in rows]
    columns["growth"] = [_number(row["growth"]) for row in rows]
    wrapped = {name: [name, *columns[name]] for name in ("algorithm", "setting")}
    others = total_width({name: texts for name, texts in columns.items() if name not in wrapped})
    fitted = fit_widths(list(wrapped.values()), width - others - EDGES - GUTTER * len(wrapped))
    widths = dict(zip(wrapped, fitted, strict=True))
    parts: list[RenderableType] = []
    for environment in dict.fromkeys(str(row["environment"]) for row in rows):
        table = borderless("")
        for name in columns:
            side: JustifyMethod = "right" if name in ("regret", "growth") else "left"
            table.add_column(name, justify=side, no_wrap=name not in wrapped, width=widths.get(name))
        for row, texts in zip(rows, zip(*columns.values(), strict=True), strict=True):
            if row["environment"] == environment:
                table.add_row(*texts)
        parts += [Text(environment, style="bold"), table]
    caption = "tuned on another seed; growth: log2 of regret at the end over that at half time"
    return Group(*parts, Text(caption))
