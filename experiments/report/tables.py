"""The report's tables as plain data: captions, headings, and fields with what they sort by."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, known_median
from experiments.analysis.summary import LOCKED_IN, NAMES, Row, records
from experiments.report.answer import gap_of, signed
from fgtsva_ppl.diagnostics import METRICS

FIXED = (*NAMES, "runs", "rounds", "seed")
JOINED = (  # shown in one field with another, or in a section of their own
    "status",
    "reason",
    "final_regret_mean",
    "final_regret_se",
    "regret_gap",
    "regret_gap_low",
    "regret_gap_high",
    "regret_gap_median",
    "locked_share",
)
TAILS = {"regret_gap_median": "median gap", "locked_share": f"runs above {LOCKED_IN:g}\u00d7 exact"}
HEADINGS = {
    "final_regret_median": "median regret",
    "acceptance_rate": "acceptance",
    "divergences": "divergences",
    "num_resets": "resets",
    "gradients_per_round": "gradients / round",
    "seconds": "computing, s",
    "compile_seconds": "compiling, s",
}
SHORT = {
    "tv": "action TV",
    "tv_floor": "TV floor",
    "best_arm": "best arm",
    "best_arm_exact": "best arm, exact",
    "sliced_wasserstein": "sliced W1",
    "mean_error": "mean error",
    "covariance_error": "cov. error",
    "nested_rhat": "nested R\u2011hat",
    "rhat": "R\u2011hat",
    "ess_bulk": "bulk ESS",
    "ess_tail": "tail ESS",
    "mcse": "MCSE",
    "ebfmi": "E-BFMI",
    "ess_per_gradient": "ESS / gradient",
    "gradient_norm": "gradient",
    "unique": "moved",
}


REPLICA_METRICS = ("acceptance_rate", "divergences")  # measured on replicas of the round's own draw


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

    @property
    def numeric(self) -> list[bool]:
        """Which columns sort as numbers."""
        return [all(field.numeric for field in column) for column in zip(*self.rows, strict=True)]


class QualityTable(NamedTuple):
    """Medians of diagnostics, what its columns mean, and which cells lack a reference."""

    table: Table
    unavailable: str
    meanings: list[tuple[str, str]]


def make_table(caption: str, columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    """A table of rows."""
    fields = [[column.field(row) for column in columns] for row in rows]
    return Table(caption, [column.heading for column in columns], fields)


def heading(metric: str) -> str:
    """A diagnostic's name as a heading."""
    return SHORT.get(metric, metric.replace("_", " "))


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


def interval_of(key: str) -> Callable[[Row], Field]:
    """A row's value with the ends of its interval."""

    def field(row: Row) -> Field:
        value, low, high = (row.get(name) for name in (key, f"{key}_low", f"{key}_high"))
        if value is None:
            return Field("–", None)
        unknown = float("nan")
        ends = Interval(value, unknown if low is None else low, unknown if high is None else high)
        return Field(ends.format(shown), float(value))

    return field


def _regret(row: Row) -> Field:
    mean, error = row.get("final_regret_mean"), row.get("final_regret_se")
    if mean is None:
        return Field("–", None)
    return Field(shown(mean) if error is None else f"{shown(mean)} ± {error:.2g}", float(mean))


def _gap(row: Row) -> Field:
    gap = gap_of(row)
    return Field("–", None) if gap is None else Field(gap.format(signed), float(gap.value))


def _differing(rows: Sequence[Row], keys: Sequence[str]) -> list[str]:
    return [key for key in keys if len({row.get(key) for row in rows}) > 1]


def naming_columns(rows: Sequence[Row]) -> list[Column]:
    """The columns that distinguish rows: sampler or agent, environment, and the settings that differ."""
    who = [key for key in _differing(rows, ("agent", "posterior", "sampler")) if key != "sampler"]
    main = "sampler" if any("sampler" in row for row in rows) else "agent"
    settings = list(dict.fromkeys(key for row in rows for key in row if "." in key))
    keys = [
        main,
        *(key for key in who if key != main),
        *_differing(rows, ("environment", "runs", "rounds", "seed")),
    ]
    return [Column(key.partition(".")[2] or key, of(key)) for key in [*keys, *settings]]


def summary_table(rows: Sequence[Row]) -> Table | None:
    """Regret, its gap to exact draws, and what it cost; None without cells."""
    if not rows:
        return None
    present = dict.fromkeys(key for row in rows for key in row if "." not in key)
    known = [key for key in HEADINGS if key in present]
    others = [key for key in present if key not in (*FIXED, *JOINED, *HEADINGS, *METRICS)]
    columns = [
        *naming_columns(rows),
        Column("regret", _regret),
        *(Column(HEADINGS.get(key, key.replace("_", " ")), of(key)) for key in [*known, *others]),
    ]
    caption = "Regret and cost. Regret at the end: mean over runs ± standard error, and median."
    if any("regret_gap" in row for row in rows):
        at = 1 + next((i for i, c in enumerate(columns) if c.heading == "median regret"), len(columns) - 1)
        tails = [Column(text, of(key)) for key, text in TAILS.items() if key in present]
        columns[at:at] = [Column("gap to exact", _gap), *tails]
        caption += (
            " Gap: paired difference to exact draws under the same random numbers, mean with its 95% interval, and "
            f"median. Beside them the share of runs with more than {LOCKED_IN:g} times the mean regret of exact draws: "
            "a few that are locked in carry a mean."
        )
    constant = [
        f"{key} {rows[0][key]}" for key in FIXED if key in rows[0] and key not in _differing(rows, FIXED)
    ]
    return make_table(caption + (f" All cells: {', '.join(constant)}." if constant else ""), columns, rows)


def standings_table(rows: Sequence[Row]) -> Table | None:
    """Algorithms at textbook and tuned settings; None where none were compared."""
    if not rows:
        return None
    columns = [Column(key, of(key)) for key in ("algorithm", "environment", "level", "setting")]
    columns += [Column("regret", _regret), Column("growth", interval_of("growth"))]
    caption = (
        "Textbook and tuned settings. Tuned: least mean regret on other seeds than the one shown. Growth: log2 of the "
        "regret after all rounds over that after half of them; 0 when everything is learnt, 0.5 like the root of T, "
        "1 when nothing is."
    )
    return make_table(caption, columns, rows)


def scaling_table(rows: Sequence[Row]) -> Table | None:
    """Fitted exponents beside those of Table 1; None where none were fitted."""
    if not rows:
        return None
    columns = [Column(key, of(key)) for key in ("algorithm", "axis", "level")]
    columns += [Column("exponent", interval_of("exponent")), Column("theory", of("theory"))]
    columns += [Column("growth", interval_of("growth"))]
    caption = (
        "Exponents. Slopes of log regret with 95% intervals, beside those of Table 1. Growth with the rounds, at the "
        "point where it is fastest: where it is near 1, regret is linear and the exponent is not a rate."
    )
    return make_table(caption, columns, rows)


def quality_table(results: StudyResults) -> QualityTable | None:
    """Medians of the diagnostics over diagnosed runs and probe rounds; None where nothing was diagnosed."""
    rows = records(results.summary)
    medians = [_medians(results, cell.id) for cell in results.cells]
    chosen = [{**row, "_medians": known} for row, known in zip(rows, medians, strict=True) if known]
    if not chosen:
        return None
    keys = [key for key in METRICS if any(key in row["_medians"] for row in chosen)]
    columns = [*naming_columns(rows), *(Column(heading(key), _median_field(key)) for key in keys)]
    caption = (
        "Sampler quality. Medians over diagnosed runs and probe rounds; – where a diagnostic does not apply."
    )
    meanings = [(heading(key), _meaning(key)) for key in keys]
    return QualityTable(make_table(caption, columns, chosen), _unavailable(results), meanings)


def _meaning(key: str) -> str:
    return METRICS[key] + (", over replicas of the round's own draw" if key in REPLICA_METRICS else "")


def _unavailable(results: StudyResults) -> str:
    """Which cells have rounds without an exact reference, and why: there a dash means unknown."""
    sentences = []
    for cell in results.done:
        stored = results.data[cell.id].children.get("diagnostics")
        refused = "" if stored is None else str(stored.attrs.get("refused", ""))
        if refused:
            sentences.append(f"{cell.flat['environment']} {cell.flat.get('sampler', '')}: {refused}.")
    return " ".join(sentences)


def _median_field(key: str) -> Callable[[Row], Field]:
    return lambda row: plain(row["_medians"].get(key))


def _medians(results: StudyResults, cell: str) -> Mapping[str, float]:
    """Of the diagnostics that a cell has, without those that are NaN everywhere."""
    data = results.data.get(cell)
    if data is None or "diagnostics" not in data.children:
        return {}
    stored = data.children["diagnostics"].dataset
    medians = {name: known_median(stored[name].values) for name in METRICS if name in stored}
    return {name: median for name, median in medians.items() if not np.isnan(median)}
