"""Findings of the study `batches`: how rarely the posterior can be sampled."""

from collections.abc import Sequence

from experiments.analysis.results import StudyResults
from experiments.config.cell import REFERENCE
from experiments.studies.batches.schedules import WITHIN, Schedule, rarest, schedules


def findings(results: StudyResults) -> list[str]:
    """For exact draws, for the sampler that saves most gradients, and for rewards in batches."""
    found = schedules(results)
    kept: dict[str, list[Schedule]] = {}
    for one in found:
        if not one.batched:
            kept.setdefault(one.sampler, []).append(one)
    kept = {name: line for name, line in kept.items() if len(line) > 1}
    exact = kept.pop(REFERENCE, [])
    sentences = [_limit("exact draws", exact)] if exact else []
    if kept:
        name = max(kept, key=lambda name: rarest(kept[name]).every)
        sentences.append(_limit(name, kept[name]))
    return sentences + _batches(found)


def _limit(who: str, line: Sequence[Schedule]) -> str:
    """Up to which m regret is as good, and the ratio at the largest."""
    limit, last = rarest(list(line)), line[-1]
    first = line[0]
    saved = (
        f", for {first.gradients / limit.gradients:.0f} times fewer gradients" if limit.gradients > 0 else ""
    )
    if limit.every == last.every:
        start = f"With {who} the posterior can be sampled every {limit.every} rounds{saved}"
    elif limit.every == 1:
        start = f"With {who} a draw that is kept for {line[1].every} rounds is not certainly within {WITHIN - 1:.0%}"
    else:
        start = (
            f"With {who} regret stays within {WITHIN - 1:.0%} up to a draw every {limit.every} rounds{saved}"
        )
    return f"{start}; every {last.every} rounds it is {last.ratio.format('.2f')} times that of sampling in every round."


def _batches(found: Sequence[Schedule]) -> list[str]:
    """A fresh draw from old data against a kept draw, exact if there is one, at the largest m that both have."""
    pairs = [
        (one, other)
        for one in found
        for other in found
        if one.batched and not other.batched and (one.sampler, one.every) == (other.sampler, other.every)
    ]
    if not pairs:
        return []
    one, other = max(pairs, key=lambda pair: (pair[0].sampler == REFERENCE, pair[0].every))
    if one.ratio.high < other.ratio.low:
        verdict = "A kept draw costs more than late data"
    elif other.ratio.high < one.ratio.low:
        verdict = "Late data cost more than a kept draw"
    else:
        verdict = "Late data cost as much as a kept draw, as far as can be told"
    who = "exact draws" if one.sampler == REFERENCE else one.sampler
    return [
        f"{verdict}: with rewards in batches of {one.every} rounds and a fresh draw in each, {who} have "
        f"{one.ratio.format('.2f')} times the regret, with the draw kept {other.ratio.value:.2f} times."
    ]
