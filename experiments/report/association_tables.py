"""Tables of quality against regret: cost of closeness, association of diagnostics with the gap, rounds."""

from collections.abc import Sequence

import numpy as np

from experiments.analysis.diagnostics_vs_regret import ACROSS
from experiments.analysis.summary import Row
from experiments.report.fields import Column, Table, interval, make_table, of
from experiments.report.tables import heading
from fgtsva_ppl.diagnostics import METRICS

BESIDE = (
    "total_variation",
    "nested_rhat",
    "rhat",
)  # beside the regret of a round; the others are in by_round.csv
COST = (
    Column("sampler", of("sampler")),
    Column("of", of("case")),
    Column("gradients / round", interval("gradients_per_round")),
    Column("gradients of a draw", of("work")),
    Column("computing, s", interval("seconds")),
)
ASSOCIATION = (
    Column("diagnostic", of("diagnostic")),
    Column("across samplers", interval("spearman")),
    Column("within, median", of("median")),
    Column("within, above 0", of("above")),
    Column("within, below 0", of("below")),
    Column("cells", of("cells")),
)
BY_ROUND = (
    Column("cell", of("cell")),
    Column("environment", of("environment")),
    Column("round", of("round")),
    Column("regret / round", of("regret_per_round")),
    Column("median", of("regret_median")),
    Column("exact", of("exact")),
    Column("gap to exact", interval("regret_gap")),
    Column("median gap", of("regret_gap_median")),
    *(Column(heading(key), of(key)) for key in BESIDE),
)


def cost_table(rows: Sequence[Row]) -> Table | None:
    """The least work close to exact regret; None where there is nothing to be close to."""
    caption = (
        "Cost of closeness. The least work of a cell whose mean regret is within 10% of that of exact draws. In "
        "brackets what the 95% interval of the ratio leaves open: the least work of a cell that it does not exclude, "
        "and of one that is within 10% by all of it; ∞ where there is none."
    )
    return make_table(caption, COST, rows)


def association_table(rows: Sequence[Row]) -> Table | None:
    """Rank correlations of every diagnostic with the regret gap; None where no diagnostic has one."""
    caption = (
        "Diagnostics against the regret gap. Spearman's rank correlation with its 95% interval. Across: medians of "
        "cells, ranked among those of one environment and posterior, samplers resampled. Within: a cell's runs with "
        "the gap around the probe round, ranked within that round, runs resampled; in how many cells the interval is "
        "above or below 0. Of a handful of samplers or runs such an interval is too short. All: association.csv."
    )
    known = [row for metric in METRICS if _is_known(row := _associated(metric, rows))]
    return make_table(caption, ASSOCIATION, known)


def _is_known(row: Row) -> bool:
    return "spearman" in row or row["cells"] > 0


def _associated(metric: str, rows: Sequence[Row]) -> Row:
    own = [one for one in rows if one.get("diagnostic") == metric]
    across = next((one for one in own if one.get("scope") == ACROSS), {})
    within = [one for one in own if one.get("scope") != ACROSS and "spearman" in one]
    row: Row = {key: value for key, value in across.items() if key.startswith("spearman")}
    row |= {"diagnostic": heading(metric), "cells": len(within)}
    row["median"] = float(np.median([one["spearman"] for one in within])) if within else None
    row["above"] = sum(one.get("spearman_low", 0) > 0 for one in within)
    row["below"] = sum(one.get("spearman_high", 0) < 0 for one in within)
    return row


def by_round_table(rows: Sequence[Row]) -> Table | None:
    """Regret around each probe round with the gap to exact draws; None where nothing was diagnosed."""
    caption = (
        "Around the probe rounds. Regret of the rounds within a tenth of the probe round, mean and median over runs, "
        "its paired gap to exact draws with the 95% interval of the mean, and medians of diagnostics. All: "
        "by_round.csv."
    )
    return make_table(caption, BY_ROUND, rows)
