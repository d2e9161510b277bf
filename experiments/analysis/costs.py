"""The cost of closeness: the least work with which a sampler comes close to the regret of exact draws."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from experiments.analysis.arrays import final_regret, gradients_per_round
from experiments.analysis.diagnostics_vs_regret import cases
from experiments.analysis.pairs import Pair
from experiments.analysis.statistics import Interval, paired_ratio
from experiments.analysis.summary import Row
from fgtsva_ppl import SAMPLERS

CLOSE = 0.1  # regret within this share of that of exact draws counts as close


class Cost(NamedTuple):
    """The least work that comes close to exact regret, and what the work of a draw consists of.

    The value is the least work of a cell whose ratio of mean regrets is within a tenth; the ends are the least work of
    a cell that the ratio's 95% interval does not exclude, and of one that is within a tenth by the whole interval.
    """

    gradients_per_round: Interval
    seconds: Interval  # of all runs and rounds, on the machine that ran them
    work: str  # gradients of a draw, as the sampler documents them; density evaluations where it takes no gradients


def cheapest(pairs: Sequence[Pair], within_share: float = CLOSE) -> dict[tuple[str, str], Cost]:
    """The cost of closeness by case (what is sampled) and sampler.

    Args:
        pairs: cells with their exact references.
        within_share: by how much, relatively, regret may be above that of exact draws.
    """
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair, case in zip(pairs, cases(pairs), strict=True):
        groups.setdefault((case, pair.sampler), []).append(pair)
    costs = {}
    for (case, sampler), members in groups.items():
        ratios = [paired_ratio(final_regret(pair.data), final_regret(pair.reference)) for pair in members]
        gradients = [gradients_per_round(pair.data) for pair in members]
        seconds = [float(pair.data.attrs["seconds"]) for pair in members]
        costs[case, sampler] = Cost(
            _least_work(gradients, ratios, 1 + within_share),
            _least_work(seconds, ratios, 1 + within_share),
            SAMPLERS[sampler].info.gradients_per_draw if sampler in SAMPLERS.names() else "",
        )
    return costs


def _least_work(work: Sequence[float], ratios: Sequence[Interval], limit: float) -> Interval:
    """Least work of a cell whose ratio is at most the limit: by its value, by its lower end, by its upper end."""
    value, low, high = (
        min((one for one, end in zip(work, ends, strict=True) if end <= limit), default=float("inf"))
        for ends in zip(*ratios, strict=True)
    )
    return Interval(value, low, high)


def cost_rows(costs: Mapping[tuple[str, str], Cost]) -> list[Row]:
    """A row per case and sampler; infinite where no cell is close."""
    return [
        {"case": case, "sampler": sampler}
        | {name + end: getattr(interval, field)
           for name, interval in (("gradients_per_round", cost.gradients_per_round), ("seconds", cost.seconds))
           for end, field in (("", "value"), ("_low", "low"), ("_high", "high"))}
        | {"work": cost.work}
        for (case, sampler), cost in costs.items()
    ]  # fmt: skip
