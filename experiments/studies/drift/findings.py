"""Findings of the study `drift`: whether warm starts lose the posterior at a jump, and what forgetting saves."""

from collections.abc import Sequence

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import paired_difference
from experiments.config.cell import REFERENCE
from experiments.config.text import counted
from experiments.studies.drift.recovery import CARRIED, COLD, RESTARTED, WARM, Recovery, recoveries


def findings(results: StudyResults) -> list[str]:
    """How far warm samplers fall behind, what starting anew costs instead, and what not forgetting costs."""
    found = recoveries(results)
    return [*_warm(found), *_anew(found), *_forgetting(found)]


def _warm(found: Sequence[Recovery]) -> list[str]:
    warm = [one for one in found if one.start in (WARM, CARRIED) and one.gap is not None]
    if not warm:
        return []
    certain = [one for one in warm if one.peak.low > 0]
    worst = max(certain or warm, key=lambda one: one.peak.value)
    peak = worst.peak.format("+.2f")
    if not worst.peak.low > 0:
        return [
            f"A warm start is safe here: after the jump no warm sampler's action-TV to the oracle rises certainly; "
            f"the largest rise has {worst.name}, {peak}."
        ]
    back = "is not back at its floor by the last probe"
    if worst.rounds is not None:
        back = f"is back at its floor within {counted(worst.rounds, 'round')}"
    cost = worst.gap.format("auto") if worst.gap else ""
    return [
        f"After the jump {worst.name}, falls furthest behind the oracle: its action-TV rises by {peak} and {back}, at "
        f"{cost} regret beyond exact draws."
    ]


def _anew(found: Sequence[Recovery]) -> list[str]:
    warm = {one.cell.flat["sampler"]: one for one in found if one.start == WARM and one.gap is not None}
    pairs = [
        (one, warm[one.cell.flat["sampler"]])
        for one in found
        if one.start in (COLD, RESTARTED) and one.cell.flat["sampler"] in warm
    ]
    if not pairs:
        return []
    costs = {one.name: paired_difference(one.regret, other.regret) for one, other in pairs}
    better = [name for name, cost in costs.items() if cost.high < 0]
    if better:
        best = min(better, key=lambda name: costs[name].value)
        return [
            f"Starting anew helps after the jump: with {best}, regret changes by {costs[best].format('auto')} against "
            "a warm start at the same budget."
        ]
    worst = max(costs, key=lambda name: costs[name].value)
    return [
        f"No start from the prior has less regret after the jump than a warm one at the same budget; "
        f"with {worst}, it changes by {costs[worst].format('auto')}."
    ]


def _forgetting(found: Sequence[Recovery]) -> list[str]:
    exact = {one.discounted: one for one in found if one.cell.flat["sampler"] == REFERENCE}
    if len(exact) < 2:
        return []
    saved = paired_difference(exact[False].regret, exact[True].regret)
    discount = exact[True].cell.flat["posterior.discount"]
    return [
        f"Forgetting matters more than sampling: without the discount of {discount:g} exact draws add "
        f"{saved.format('auto')} regret to {exact[True].regret.mean():.3g} after the jump."
        if saved.low > max((one.gap.value for one in found if one.gap and one.start != COLD), default=0)
        else f"Without the discount of {discount:g} exact draws add {saved.format('auto')} regret "
        f"to {exact[True].regret.mean():.3g} after the jump."
    ]
