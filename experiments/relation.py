"""Sampler quality against regret: paired gaps, tails, and how far a diagnostic's rank tells that of the gap."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.cells import Cell
from experiments.statistics import Interval, paired_difference, spearman
from experiments.store import values
from experiments.summary import REFERENCE, Row, final_regret
from fgtsva_ppl.diagnostics import METRICS

WINDOW = 0.1  # rounds within this share of a probe round count as around it


class Pair(NamedTuple):
    """A cell and its exact reference."""

    cell: Cell
    data: xr.DataTree
    reference: xr.DataTree

    @property
    def gaps(self) -> np.ndarray:
        """Each run's regret beyond that of exact draws in the same world."""
        return final_regret(self.data) - final_regret(self.reference)


def pairs(cells: Sequence[Cell], data: Mapping[str, xr.DataTree]) -> list[Pair]:
    """Every cell that has an exact reference, the references themselves apart."""
    exact = {
        cell.reference_key(): data[cell.id]
        for cell in cells
        if cell.flat.get("sampler") == REFERENCE and cell.id in data
    }
    return [
        Pair(cell, data[cell.id], exact[cell.reference_key()])
        for cell in cells
        if cell.id in data
        and cell.flat.get("sampler", REFERENCE) != REFERENCE
        and cell.reference_key() in exact
    ]


def around(data: xr.DataTree, probe: int) -> np.ndarray:
    """Each run's mean regret per round near a probe round."""
    rounds = values(data, "round")
    near = np.abs(rounds - probe) <= max(1, WINDOW * probe)
    return np.asarray(values(data, "regret")[:, near].mean(axis=1))


def across(found: Sequence[Pair], metric: str) -> Interval:
    """Rank correlation over cells of a diagnostic's median with the mean regret gap."""
    known = [pair for pair in found if "diagnostics" in pair.data.children]
    quality = np.array([median_of(_metric(pair, metric)) for pair in known])
    return spearman(quality, np.array([pair.gaps.mean() for pair in known]))


def within(pair: Pair, metric: str) -> Interval:
    """Rank correlation over a cell's runs and probe rounds of a diagnostic with the regret around that round."""
    diagnostics = pair.data.children["diagnostics"]
    quality = _metric(pair, metric)
    probes = values(diagnostics, "probe")
    regret = np.stack([around(pair.data, int(t)) - around(pair.reference, int(t)) for t in probes], axis=1)
    return spearman(quality.ravel(), regret[: quality.shape[0]].ravel())


def associations(found: Sequence[Pair]) -> dict[str, Interval]:
    """For every diagnostic, its rank correlation with the regret gap over the cells."""
    return {metric: across(found, metric) for metric in METRICS}


def _metric(pair: Pair, metric: str) -> np.ndarray:
    return values(pair.data.children["diagnostics"], metric)


def median_of(found: np.ndarray) -> float:
    """The median of what is known, infinities among it."""
    known = found[~np.isnan(found)]
    return float(np.median(known)) if known.size else float("nan")


def by_round(found: Sequence[Pair], labels: Mapping[str, str]) -> list[Row]:
    """A row per cell and probe round: regret per round around it, its paired gap to exact, and the diagnostics."""
    rows: list[Row] = []
    for pair in found:
        diagnostics = pair.data.children.get("diagnostics")
        for index, probe in enumerate([] if diagnostics is None else values(diagnostics, "probe")):
            ours, theirs = around(pair.data, int(probe)), around(pair.reference, int(probe))
            gap = paired_difference(ours, theirs)
            row: Row = {"environment": pair.cell.flat["environment"], "cell": labels[pair.cell.id]}
            row |= {
                "round": int(probe),
                "regret_per_round": float(ours.mean()),
                "exact": float(theirs.mean()),
            }
            row |= {"gap": gap.value, "gap_low": gap.low, "gap_high": gap.high}
            rows.append(row | {metric: median_of(_metric(pair, metric)[:, index]) for metric in METRICS})
    return rows


def association_rows(found: Sequence[Pair], labels: Mapping[str, str]) -> list[Row]:
    """A row per diagnostic and scope: over all cells, and within each cell over its runs and probe rounds."""
    known = [pair for pair in found if "diagnostics" in pair.data.children]
    rows: list[Row] = []
    for metric in METRICS if known else ():
        scopes = {("", "across cells"): across(known, metric)}
        scopes |= {(p.cell.flat["environment"], labels[p.cell.id]): within(p, metric) for p in known}
        for (environment, scope), found_ in scopes.items():
            row: Row = {"diagnostic": metric, "environment": environment, "scope": scope}
            rows.append(row | {"spearman": found_.value, "low": found_.low, "high": found_.high})
    return rows


class Cost(NamedTuple):
    """What it takes to come within a tenth of the oracle's regret."""

    gradients: float
    seconds: float


def cheapest(found: Sequence[Pair], within_share: float = 0.1) -> dict[tuple[str, str], Cost]:
    """By environment and sampler: the least gradients a round, and its seconds, of a cell close to the oracle."""
    best: dict[tuple[str, str], Cost] = {}
    for pair in found:
        oracle = final_regret(pair.reference).mean()
        key = (pair.cell.flat["environment"], pair.cell.flat["sampler"])
        cost = Cost(float(values(pair.data, "gradients").mean()), float(pair.data.attrs["seconds"]))
        close = final_regret(pair.data).mean() <= (1 + within_share) * oracle
        best.setdefault(key, Cost(float("nan"), float("nan")))
        if close and not best[key].gradients <= cost.gradients:
            best[key] = cost
    return best
