"""What the rules of claims measure on a study's cells: growth, ratios, least budgets and slopes, with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from experiments.analysis.arrays import diagnostic
from experiments.analysis.hyperparameters import growth, halves
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, bootstrap, mean_interval, paired_ratio
from experiments.config.cell import Cell
from experiments.storage.codecs import values
from samplers.errors import InputError

RESAMPLES = 2_000
NEVER = 1e300

type Which = Cell | Mapping[str, Any]  # a cell, or settings that only one cell has


class MissingCellsError(InputError):
    """The cells that a rule needs are not there: overrides left them out, or they failed."""


def cells_of(results: StudyResults, **settings: Any) -> list[Cell]:
    """The finished cells with these settings; a dot in a key is written as two underscores.

    Raises:
        MissingCellsError: there is none.
    """
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    found = [
        cell for cell in results.done if all(cell.flat.get(key) == value for key, value in dotted.items())
    ]
    if not found:
        wanted = ", ".join(f"{key}={value}" for key, value in dotted.items())
        raise MissingCellsError(f"there is no finished cell with {wanted}")
    return found


def cell_of(results: StudyResults, **settings: Any) -> Cell:
    """The only finished cell with these settings. Raises MissingCellsError if there is none, or several."""
    found = cells_of(results, **settings)
    if len(found) > 1:
        raise MissingCellsError(f"{len(found)} cells have {settings}: the rule needs one")
    return found[0]


def values_of(results: StudyResults, key: str, **settings: Any) -> list[Any]:
    """The different values of a setting among the finished cells with these settings, in order."""
    return sorted({cell.flat[key] for cell in cells_of(results, **settings) if key in cell.flat})


def _pick(results: StudyResults, which: Which) -> Cell:
    return which if isinstance(which, Cell) else cell_of(results, **which)


def final(results: StudyResults, which: Which) -> Float[np.ndarray, " runs"]:
    """Regret of each run of one cell."""
    return results.final(_pick(results, which))


def regret(results: StudyResults, which: Which) -> Interval:
    """Mean regret of one cell."""
    return mean_interval(final(results, which))


def growth_of(results: StudyResults, which: Which) -> Interval:
    """Growth exponent log2 R(T)/R(T/2) of one cell: 0 where learnt, 1/2 like sqrt(T), 1 where linear."""
    return growth(halves(results.data[_pick(results, which).id]))


def late_growth(results: StudyResults, which: Which) -> Interval:
    """Growth exponent of one cell, early losses left out: log2 of the second half's regret over the second quarter's.

    It is p for a regret of C + a T^p whatever C is, and 0 for C + a log T, where log2 R(T)/R(T/2) depends on C.
    """
    regret = values(results.data[_pick(results, which).id], "regret")
    half, quarter = regret.shape[1] // 2, regret.shape[1] // 4
    rows = np.stack(
        [regret[:, half : 2 * half].sum(axis=1), regret[:, half - quarter : half].sum(axis=1)], axis=1
    )

    def exponent(rows: Float[np.ndarray, "*batch runs 2"]) -> Float[np.ndarray, "*batch"]:
        late, before = np.moveaxis(rows.mean(axis=-2), -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log2(late / before))

    return bootstrap(rows, exponent, resamples=RESAMPLES)


def growth_difference(results: StudyResults, of: Which, to: Which) -> Interval:
    """Growth exponent of one cell less that of another; runs with the same random numbers are resampled together."""
    rows = np.concatenate([halves(results.data[_pick(results, one).id]) for one in (of, to)], axis=1)

    def difference(rows: Float[np.ndarray, "*batch runs 4"]) -> Float[np.ndarray, "*batch"]:
        whole, half, other, other_half = np.moveaxis(rows.mean(axis=-2), -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log2(whole / half) - np.log2(other / other_half))

    return bootstrap(rows, difference, resamples=RESAMPLES)


def ratio(results: StudyResults, of: Which, to: Which) -> Interval:
    """Mean regret of one cell over that of another; runs with the same random numbers are resampled together."""
    return paired_ratio(final(results, of), final(results, to))


def gradients(results: StudyResults, which: Which) -> Interval:
    """Gradients of a run of one cell, all rounds together."""
    data = results.data[_pick(results, which).id]
    return mean_interval(np.asarray(data["num_gradients"]).sum(axis=1).astype(float))


def probed(results: StudyResults, metric: str, which: Which) -> Interval:
    """A diagnostic of one cell, mean over its probe rounds; the interval is over runs."""
    cell = _pick(results, which)
    if "diagnostics" not in results.data[cell.id].children:
        raise MissingCellsError("diagnostics.runs=0: the rule needs diagnostics")
    by_run = np.nanmean(diagnostic(results.data[cell.id], metric), axis=1)
    return mean_interval(by_run[np.isfinite(by_run)])


def least_budget(
    budgets: Sequence[float], regrets: Float[np.ndarray, "budgets runs"], limit: Float[np.ndarray, " runs"]
) -> Interval:
    """The least budget whose mean regret is within a limit, interpolated in its logarithm.

    Args:
        budgets: numbers of steps, ascending.
        regrets: regret of each run at each of them.
        limit: of each run; its mean is the limit.

    Returns:
        The budget. Where even the smallest is enough it is that one; where none is, infinity.
    """
    rows = np.concatenate([regrets, limit[None]]).T

    def least(rows: Float[np.ndarray, "*batch runs columns"]) -> Float[np.ndarray, "*batch"]:
        means = rows.mean(axis=-2)
        flat = means.reshape(-1, means.shape[-1])
        found = np.array([_crossing(np.log(np.asarray(budgets, float)), row[:-1] / row[-1]) for row in flat])
        return found.reshape(means.shape[:-1])

    found = bootstrap(rows, least, resamples=RESAMPLES)
    return Interval(*(float("inf") if value > budgets[-1] else value for value in found))


def _crossing(x: Float[np.ndarray, " budgets"], y: Float[np.ndarray, " budgets"]) -> float:
    """exp(x) from which on y stays at most 1; `NEVER` if it does not: infinities have no quantiles."""
    above = np.flatnonzero(y > 1)
    if not above.size:
        return float(np.exp(x[0]))
    i = above[-1]
    if i == len(x) - 1:
        return NEVER
    share = (y[i] - 1) / (y[i] - y[i + 1])
    return float(np.exp(x[i] + share * (x[i + 1] - x[i])))


def argmin(grid: Sequence[float], regrets: Float[np.ndarray, "grid runs"]) -> Interval:
    """The value of a setting with the least mean regret; runs are resampled with all their values."""

    def best(rows: Float[np.ndarray, "*batch runs grid"]) -> Float[np.ndarray, "*batch"]:
        return np.asarray(np.asarray(grid, float)[rows.mean(axis=-2).argmin(axis=-1)])

    return bootstrap(regrets.T, best, resamples=RESAMPLES)


def difference(of: Interval, to: Interval) -> Interval:
    """One number less another that is independent of it; the half-widths of their intervals add up in squares."""
    value = of.value - to.value
    low = np.hypot(of.value - of.low, to.high - to.value)
    high = np.hypot(of.high - of.value, to.value - to.low)
    return Interval(value, value - float(low), value + float(high))


def slope(x: Sequence[float], y: Sequence[Interval]) -> Interval:
    """Slope of log y in log x by least squares; the interval takes the points as independent and log-normal.

    Returns:
        NaN with fewer than two points that are finite.
    """
    points = [(np.log(a), b) for a, b in zip(x, y, strict=True) if np.isfinite(b.value) and b.value > 0]
    if len(points) < 2:
        return Interval(float("nan"), float("nan"), float("nan"))
    at = np.array([point[0] for point in points])
    centred = at - at.mean()
    weights = centred / (centred @ centred)
    value = float(weights @ np.log([b.value for _, b in points]))
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = np.array([[np.log(b.value / b.low), np.log(b.high / b.value)] for _, b in points])
    half = float(np.sqrt(np.sum((weights * sides.max(axis=1)) ** 2)))
    return (
        Interval(value, value - half, value + half) if np.isfinite(half) else Interval(value, -np.inf, np.inf)
    )
