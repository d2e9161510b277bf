"""Sampler quality against regret: paired gaps, tails, and how far a diagnostic's rank tells that of the gap."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.analysis.statistics import Interval, mean_interval, paired_difference, paired_ratio, spearman
from experiments.analysis.summary import Row, final_regret
from experiments.config.cell import GROUPS, REFERENCE, Cell
from experiments.config.labels import varied
from experiments.storage.codecs import values
from fgtsva_ppl.diagnostics import METRICS
from samplers import sampler_info

ACROSS = "across cells"  # the scope of an association over all cells
WINDOW = 0.1  # rounds within this share of a probe round count as around it
OF_TASKS = ("environment", "noise", "posterior", "reward", "agent")  # groups that say what is to be sampled


class Pair(NamedTuple):
    """A cell and its exact reference."""

    cell: Cell
    data: xr.DataTree
    reference: xr.DataTree

    @property
    def gaps(self) -> np.ndarray:
        """Each run's regret beyond that of exact draws in the same world."""
        return final_regret(self.data) - final_regret(self.reference)

    @property
    def gap(self) -> Interval:
        """Their mean."""
        return mean_interval(self.gaps)

    def label(self, *keys: str) -> str:
        """The sampler, with those of the settings that are not as they are if nothing is said."""
        flat = self.cell.flat
        told = [str(flat["sampler"])]
        for key in keys:
            group, _, name = key.partition(".")
            if key in flat and flat[key] != GROUPS[group].defaults(flat[group])[name]:
                told.append(f"{name}={flat[key]:g}")
        return " ".join(told)


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


def cases(found: Sequence[Pair]) -> list[str]:
    """What each pair is a sample of: its environment, and the settings that differ, the sampler's own apart."""
    keys = [
        key
        for key in varied([pair.cell for pair in found])
        if key != "environment" and key.partition(".")[0] in OF_TASKS
    ]
    return [
        " ".join(
            [flat["environment"], *(f"{key.rpartition('.')[2]}={flat[key]}" for key in keys if key in flat)]
        )
        for flat in (pair.cell.flat for pair in found)
    ]


def across(found: Sequence[Pair], metric: str) -> Interval:
    """Rank correlation over cells of a diagnostic's median with the mean regret gap, among those of one posterior.

    What is resampled is samplers: the cells of one, in several environments or with several settings, go together.
    """
    known = [pair for pair in found if "diagnostics" in pair.data.children]
    cells: dict[str, dict[str, list[Pair]]] = {}
    for pair, case in zip(known, cases(known), strict=True):
        cells.setdefault(str(pair.cell.flat["sampler"]), {}).setdefault(case, []).append(pair)
    tuned_algorithms = [
        (case, index)
        for case in dict.fromkeys(cases(known))
        for index in range(max(len(own.get(case, ())) for own in cells.values()))
    ]
    table = np.full((2, len(cells), len(tuned_algorithms)), np.nan)
    for row, own in enumerate(cells.values()):
        for column, (case, index) in enumerate(tuned_algorithms):
            for pair in own.get(case, [])[index : index + 1]:
                table[:, row, column] = median_of(_metric(pair, metric)), pair.gaps.mean()
    return spearman(table[0], table[1], [case for case, _ in tuned_algorithms])


def within(pair: Pair, metric: str) -> Interval:
    """Rank correlation over a cell's runs of a diagnostic with the regret gap around its round, within probe rounds.

    What is resampled is runs: the rounds of one go together.
    """
    quality = _metric(pair, metric)
    probes = values(pair.data.children["diagnostics"], "probe")
    regret = np.stack([around(pair.data, int(t)) - around(pair.reference, int(t)) for t in probes], axis=1)
    return spearman(quality, regret[: quality.shape[0]], [int(t) for t in probes])


def associations(found: Sequence[Pair]) -> dict[str, Interval]:
    """For every diagnostic, its rank correlation with the regret gap over the cells."""
    return {metric: across(found, metric) for metric in METRICS}


def _metric(pair: Pair, metric: str) -> np.ndarray:
    return values(pair.data.children["diagnostics"], metric)


def median_of(found: np.ndarray) -> float:
    """The median of what is known, infinities among it."""
    known = found[~np.isnan(found)]
    return float(np.median(known)) if known.size else float("nan")


def wrong_actions(data: xr.DataTree) -> bool | None:
    """Whether the action distribution is further from that of exact draws than chance takes it; None if not known."""
    if "diagnostics" not in data.children:
        return None
    tv, floor = (median_of(values(data.children["diagnostics"], name)) for name in ("tv", "tv_floor"))
    return None if np.isnan(tv) else bool(tv > 3 * floor + 0.02)


def condition(data: xr.DataTree) -> float:
    """The largest condition number that a run met at its probe rounds, median over runs; NaN where it is not known.

    It is that of the sampler's own history: whoever keeps to one arm makes the posterior stiffer.
    """
    if "diagnostics" not in data.children:
        return float("nan")
    return median_of(values(data.children["diagnostics"], "condition").max(axis=1))


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
                "regret_median": float(np.median(ours)),
                "exact": float(theirs.mean()),
            }
            row |= {"gap": gap.value, "gap_low": gap.low, "gap_high": gap.high}
            row["gap_median"] = float(np.median(ours - theirs))
            rows.append(row | {metric: median_of(_metric(pair, metric)[:, index]) for metric in METRICS})
    return rows


def association_rows(found: Sequence[Pair], labels: Mapping[str, str]) -> list[Row]:
    """A row per diagnostic and scope: over all cells, and within each cell over its runs and probe rounds."""
    known = [pair for pair in found if "diagnostics" in pair.data.children]
    rows: list[Row] = []
    for metric in METRICS if known else ():
        scopes = {("", ACROSS): across(known, metric)}
        scopes |= {(p.cell.flat["environment"], labels[p.cell.id]): within(p, metric) for p in known}
        for (environment, scope), found_ in scopes.items():
            row: Row = {"diagnostic": metric, "environment": environment, "scope": scope}
            rows.append(row | {"spearman": found_.value, "low": found_.low, "high": found_.high})
    return rows


class Cost(NamedTuple):
    """What it takes to come within a tenth of the oracle's regret, and what the work consists of.

    The value is the least work of a cell whose ratio of mean regrets is within a tenth; the ends are the least work of
    a cell that the ratio's 95% interval does not exclude, and of one that is within a tenth by the whole interval.
    """

    num_gradients: Interval  # a round
    seconds: Interval  # of all runs and rounds, on the machine that ran them
    work: str  # gradients of a draw, in the sampler's own words; density evaluations where it takes no gradients


def cheapest(found: Sequence[Pair], within_share: float = 0.1) -> dict[tuple[str, str], Cost]:
    """The cost of closeness by what is sampled and sampler."""
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair, case in zip(found, cases(found), strict=True):
        groups.setdefault((case, pair.cell.flat["sampler"]), []).append(pair)
    costs = {}
    for key, members in groups.items():
        ratios = [paired_ratio(final_regret(pair.data), final_regret(pair.reference)) for pair in members]
        gradients = [
            float(values(pair.data, "num_gradients").mean()) / pair.cell.record_every for pair in members
        ]
        seconds = [float(pair.data.attrs["seconds"]) for pair in members]
        sampler = type(getattr(members[0].cell.agent, "sampler", None))
        costs[key] = Cost(
            _least(gradients, ratios, 1 + within_share),
            _least(seconds, ratios, 1 + within_share),
            sampler_info(sampler).gradients_per_draw,
        )
    return costs


def _least(work: Sequence[float], ratios: Sequence[Interval], most: float) -> Interval:
    """Of the work of cells whose ratio is at most so much: by its value, by its lower and by its upper end."""
    value, low, high = (
        min((one for one, end in zip(work, ends, strict=True) if end <= most), default=float("inf"))
        for ends in zip(*ratios, strict=True)
    )
    return Interval(value, low, high)


def cost_rows(found: Sequence[Pair]) -> list[Row]:
    """A row per case and sampler; infinite where no cell is close."""
    return [
        {"case": case, "sampler": sampler}
        | {name + end: getattr(interval, field)
           for name, interval in (("gradients", cost.num_gradients), ("seconds", cost.seconds))
           for end, field in (("", "value"), ("_low", "low"), ("_high", "high"))}
        | {"work": cost.work}
        for (case, sampler), cost in cheapest(found).items()
    ]  # fmt: skip
