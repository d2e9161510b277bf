"""Sampler quality against regret: does the rank of a diagnostic predict the rank of the regret gap to exact draws?"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float

from experiments.analysis.arrays import diagnostic
from experiments.analysis.pairs import Pair
from experiments.analysis.statistics import Interval, known_median, paired_difference, spearman
from experiments.analysis.summary import Row
from experiments.config.labels import varied
from experiments.config.text import last_key, override_text
from experiments.storage.codecs import values
from fgtsva_ppl.diagnostics import METRICS

ACROSS = "across cells"  # the scope of an association over all cells
WINDOW = 0.1  # rounds within this share of a probe round count as around it
TARGET_GROUPS = (
    "environment",
    "noise",
    "drift",
    "feedback",
    "posterior",
    "reward",
    "likelihood",
    "agent",
)  # they determine what is sampled


def regret_around(data: xr.DataTree, probe: int) -> Float[np.ndarray, " runs"]:
    """Each run's mean regret per round near a probe round."""
    rounds = values(data, "round")
    near = np.abs(rounds - probe) <= max(1, WINDOW * probe)
    return np.asarray(values(data, "regret")[:, near].mean(axis=1))


def cases(pairs: Sequence[Pair]) -> list[str]:
    """What each pair samples: its environment, and the settings that differ other than the sampler's own."""
    keys = [
        key
        for key in varied([pair.cell for pair in pairs])
        if key != "environment" and key.partition(".")[0] in TARGET_GROUPS
    ]
    return [
        " ".join(
            [
                flat["environment"],
                *(f"{last_key(key)}={override_text(flat[key])}" for key in keys if key in flat),
            ]
        )
        for flat in (pair.cell.flat for pair in pairs)
    ]


def across_cells(pairs: Sequence[Pair], metric: str) -> Interval:
    """Rank correlation over cells of a diagnostic's median with the mean regret gap, ranked within a case.

    The bootstrap resamples samplers: the cells of one, in several environments or with several settings, are dependent.
    """
    probed = [pair for pair in pairs if pair.diagnosed]
    by_sampler: dict[str, dict[str, list[Pair]]] = {}
    for pair, case in zip(probed, cases(probed), strict=True):
        by_sampler.setdefault(pair.sampler, {}).setdefault(case, []).append(pair)
    columns = [
        (case, index)
        for case in dict.fromkeys(cases(probed))
        for index in range(max(len(own.get(case, ())) for own in by_sampler.values()))
    ]
    table = np.full((2, len(by_sampler), len(columns)), np.nan)
    for row, own in enumerate(by_sampler.values()):
        for column, (case, index) in enumerate(columns):
            for pair in own.get(case, [])[index : index + 1]:
                table[:, row, column] = (
                    known_median(diagnostic(pair.data, metric)),
                    pair.regret_gap_by_run.mean(),
                )
    return spearman(table[0], table[1], [case for case, _ in columns])


def within_cell(pair: Pair, metric: str) -> Interval:
    """Rank correlation over a cell's runs of a diagnostic with the regret gap around its round, ranked within rounds.

    The bootstrap resamples runs: the rounds of one are dependent.
    """
    quality = diagnostic(pair.data, metric)
    probes = [int(t) for t in values(pair.data.children["diagnostics"], "probe")]
    gaps = [regret_around(pair.data, t) - regret_around(pair.reference, t) for t in probes]
    return spearman(quality, np.stack(gaps, axis=1)[: quality.shape[0]], probes)


def associations(pairs: Sequence[Pair]) -> dict[str, Interval]:
    """For every diagnostic, its rank correlation with the regret gap over the cells; nothing without cells."""
    return {metric: across_cells(pairs, metric) for metric in METRICS} if pairs else {}


def wrong_actions(data: xr.DataTree) -> bool | None:
    """Whether the action distribution is further from that of exact draws than Monte Carlo error; None if unknown."""
    if "diagnostics" not in data.children:
        return None
    tv, floor = (
        known_median(diagnostic(data, name)) for name in ("total_variation", "total_variation_floor")
    )
    return None if np.isnan(tv) else bool(tv > 3 * floor + 0.02)


def condition_number(data: xr.DataTree) -> float:
    """The largest condition number of a run at its probe rounds, median over runs; NaN where it is unknown.

    It is that of the sampler's own history: a sampler that keeps playing one arm makes its posterior stiffer.
    """
    if "diagnostics" not in data.children:
        return float("nan")
    return known_median(diagnostic(data, "condition_number").max(axis=1))


def by_round_rows(pairs: Sequence[Pair], labels: Mapping[str, str]) -> list[Row]:
    """A row per cell and probe round: regret per round around it, its paired gap to exact, and the diagnostics."""
    rows: list[Row] = []
    for pair in pairs:
        probes = values(pair.data.children["diagnostics"], "probe") if pair.diagnosed else ()
        for index, probe in enumerate(probes):
            ours, exact = (regret_around(data, int(probe)) for data in (pair.data, pair.reference))
            gap = paired_difference(ours, exact)
            row: Row = {
                "environment": pair.environment,
                "cell": labels[pair.cell.id],
                "round": int(probe),
                "regret_per_round": float(ours.mean()),
                "regret_median": float(np.median(ours)),
                "exact": float(exact.mean()),
                "regret_gap": gap.value,
                "regret_gap_low": gap.low,
                "regret_gap_high": gap.high,
                "regret_gap_median": float(np.median(ours - exact)),
            }
            rows.append(
                row | {metric: known_median(diagnostic(pair.data, metric)[:, index]) for metric in METRICS}
            )
    return rows


def association_rows(
    pairs: Sequence[Pair], labels: Mapping[str, str], across: Mapping[str, Interval] | None = None
) -> list[Row]:
    """A row per diagnostic and scope: over all cells, and within each cell over its runs and probe rounds.

    Args:
        pairs: cells with their exact references.
        labels: the label of each cell, by id.
        across: the associations over all cells, where they are computed already.
    """
    probed = [pair for pair in pairs if pair.diagnosed]
    rows: list[Row] = []
    for metric in METRICS if probed else ():
        overall = across_cells(probed, metric) if across is None else across[metric]
        scopes = {("", ACROSS): overall}
        scopes |= {(p.environment, labels[p.cell.id]): within_cell(p, metric) for p in probed}
        for (environment, scope), correlation in scopes.items():
            row: Row = {"diagnostic": metric, "environment": environment, "scope": scope}
            rows.append(
                row
                | {
                    "spearman": correlation.value,
                    "spearman_low": correlation.low,
                    "spearman_high": correlation.high,
                }
            )
    return rows
