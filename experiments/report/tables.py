"""Tables that sort: the summary's rows, and the diagnostics' medians."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.analysis.statistics import Interval
from experiments.analysis.summary import LOCKED, NAMES, Row
from experiments.report.load import Probes
from experiments.report.markup import Markup, join, tag
from experiments.report.reading import interval
from fgtsva_ppl.diagnostics import METRICS

FIXED = (*NAMES, "runs", "rounds", "seed")
TOGETHER = (
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
TAILS = {"regret_gap_median": "median gap", "locked_share": f"runs above {LOCKED:g}\u00d7 exact"}
HEADINGS = {
    "final_regret_median": "median regret",
    "acceptance_rate": "acceptance",
    "divergences": "divergences",
    "num_resets": "num_resets",
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
    "unique": "moved",
}


OF_REPLICAS = ("acceptance_rate", "divergences")


class Field(NamedTuple):
    """A table's cell: what is shown, and what it sorts by (None: it is missing, and comes last)."""

    text: str
    key: float | str | None

    @property
    def numeric(self) -> bool:
        """Whether it sorts as a number."""
        return not isinstance(self.key, str)


class Column(NamedTuple):
    """A heading and how a row's field is made."""

    heading: str
    field: Callable[[Row], Field]


def table(caption: str, columns: Sequence[Column], rows: Sequence[Row]) -> Markup:
    """A table whose headings sort it; the first column names the row. It scrolls inside its own box."""
    fields = [[column.field(row) for column in columns] for row in rows]
    numeric = [all(field.numeric for field in column) for column in zip(*fields, strict=True)]
    head = [
        tag(
            "th",
            tag("button", column.heading, type="button"),
            scope="col",
            aria_sort="none",
            class_="number" if right else None,
        )
        for column, right in zip(columns, numeric, strict=True)
    ]
    body = [
        tag("tr", *(_cell(f, n, i) for i, (f, n) in enumerate(zip(row, numeric, strict=True))))
        for row in fields
    ]
    made = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *head)),
        tag("tbody", *body),
        class_="sortable",
    )
    return tag("div", made, class_="scroll", tabindex=0, role="region", aria_label=caption.partition(".")[0])


def _cell(field: Field, numeric: bool, index: int) -> Markup:
    key = str(field.key).replace("inf", "Infinity") if isinstance(field.key, float) else field.key
    attributes: dict[str, Any] = {"data_key": key, "class_": "number" if numeric else None}
    if index == 0:
        return tag("th", field.text, scope="row", **attributes)
    return tag("td", field.text, **attributes)


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


def _regret(row: Row) -> Field:
    mean, error = row.get("final_regret_mean"), row.get("final_regret_se")
    if mean is None:
        return Field("–", None)
    return Field(shown(mean) if error is None else f"{shown(mean)} ± {error:.2g}", float(mean))


def _gap(row: Row) -> Field:
    if "regret_gap" not in row:
        return Field("–", None)
    unknown = float("nan")
    gap = Interval(row["regret_gap"], row.get("regret_gap_low", unknown), row.get("regret_gap_high", unknown))
    return Field(interval(gap), float(gap.value))


def _varied(rows: Sequence[Row], keys: Sequence[str]) -> list[str]:
    return [key for key in keys if len({row.get(key) for row in rows}) > 1]


def naming(rows: Sequence[Row]) -> list[Column]:
    """The columns that tell rows apart: who, where, and the settings that differ."""
    who = [key for key in _varied(rows, ("agent", "posterior", "sampler")) if key != "sampler"]
    main = "sampler" if any("sampler" in row for row in rows) else "agent"
    settings = list(dict.fromkeys(key for row in rows for key in row if "." in key))
    keys = [
        main,
        *(key for key in who if key != main),
        *_varied(rows, ("environment", "runs", "rounds", "seed")),
    ]
    return [Column(key.partition(".")[2] or key, of(key)) for key in [*keys, *settings]]


def summary_table(rows: Sequence[Row]) -> Markup:
    """Regret, its gap to exact draws, and what was paid for it."""
    there = dict.fromkeys(key for row in rows for key in row if "." not in key)
    known = [key for key in HEADINGS if key in there]
    others = [key for key in there if key not in (*FIXED, *TOGETHER, *HEADINGS, *METRICS)]
    rest = [*known, *others]
    columns = [
        *naming(rows),
        Column("regret", _regret),
        *(Column(HEADINGS.get(key, key.replace("_", " ")), of(key)) for key in rest),
    ]
    caption = "Regret and cost. Regret at the end: mean over runs ± standard error, and median."
    if any("regret_gap" in row for row in rows):
        at = 1 + next((i for i, c in enumerate(columns) if c.heading == "median regret"), len(columns) - 1)
        tails = [Column(heading, of(key)) for key, heading in TAILS.items() if key in there]
        columns[at:at] = [Column("gap to exact", _gap), *tails]
        caption += (
            " Gap: paired difference to exact draws under the same random numbers, mean with its 95% interval, and "
            f"median. Beside them the share of runs with more than {LOCKED:g} times the mean regret of exact draws: a "
            "few that are locked in carry a mean."
        )
    constant = [
        f"{key} {rows[0][key]}" for key in FIXED if key in rows[0] and key not in _varied(rows, FIXED)
    ]
    return table(caption + (f" All cells: {', '.join(constant)}." if constant else ""), columns, rows)


def standings_table(rows: Sequence[Row]) -> Markup | None:
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
    return table(caption, columns, rows)


def scaling_table(rows: Sequence[Row]) -> Markup | None:
    """Exponents beside the theory's; None where none were fitted."""
    if not rows:
        return None
    columns = [Column(key, of(key)) for key in ("algorithm", "axis", "level")]
    columns += [Column("exponent", interval_of("exponent")), Column("theory", of("theory"))]
    columns += [Column("growth", interval_of("growth"))]
    caption = (
        "Exponents. Slopes of log regret with 95% intervals, beside those of Table 1. Growth with the rounds, at the "
        "point where it is fastest: an exponent says nothing of a rate where it is near 1."
    )
    return table(caption, columns, rows)


def interval_of(key: str) -> Callable[[Row], Field]:
    """A row's value with the ends of its interval."""

    def field(row: Row) -> Field:
        value, low, high = (row.get(name) for name in (key, f"{key}_low", f"{key}_high"))
        if value is None:
            return Field("–", None)
        return Field(f"{shown(value)} [{shown(low)}, {shown(high)}]", float(value))

    return field


def quality_table(rows: Sequence[Row], probes: Sequence[Probes | None]) -> Markup | None:
    """Medians of the diagnostics over diagnosed runs and probe rounds; None where nothing was diagnosed."""
    medians = [_medians(known) for known in probes]
    chosen = [{**row, "_medians": found} for row, found in zip(rows, medians, strict=True) if found]
    if not chosen:
        return None
    keys = [key for key in METRICS if any(key in row["_medians"] for row in chosen)]
    columns = [*naming(rows), *(Column(SHORT.get(key, key.replace("_", " ")), _median(key)) for key in keys)]
    meanings = [
        join([tag("dt", SHORT.get(key, key.replace("_", " "))), tag("dd", _meaning(key))]) for key in keys
    ]
    caption = (
        "Sampler quality. Medians over diagnosed runs and probe rounds; – where a notion does not apply."
    )
    legend = tag("details", tag("summary", "What the columns mean"), tag("dl", *meanings))
    return join([table(caption, columns, chosen), *_refusals(rows, probes), legend])


def _meaning(key: str) -> str:
    return METRICS[key] + (", over replicas of the round's own draw" if key in OF_REPLICAS else "")


def _refusals(rows: Sequence[Row], probes: Sequence[Probes | None]) -> list[Markup]:
    """Which cells have rounds without a reference, and why: there a dash means unknown."""
    told = [
        f"{row['environment']} {row['sampler']}: {known.refused}."
        for row, known in zip(rows, probes, strict=True)
        if known is not None and known.refused
    ]
    return [tag("p", " ".join(told))] if told else []


def _median(key: str) -> Callable[[Row], Field]:
    return lambda row: plain(row["_medians"].get(key))


def _medians(probes: Probes | None) -> Mapping[str, float]:
    """Of the values that are numbers, infinite ones included."""
    if probes is None or probes.diagnostics is None:
        return {}
    found = {}
    for name, values in probes.diagnostics.data_vars.items():
        if str(name) in METRICS and np.issubdtype(values.dtype, np.number):
            known = values.values[~np.isnan(values.values)]
            if known.size:
                found[str(name)] = float(np.median(known))
    return found
