"""Findings of the study `delay`: what the longest delay costs, and whether it is paid once or in proportion."""

from experiments.analysis.findings import MAX_FINDINGS
from experiments.analysis.results import StudyResults
from experiments.config.cell import REFERENCE
from experiments.studies.delay.costs import CONSTANT, DelayCost, delay_costs


def findings(results: StudyResults) -> list[str]:
    """A sentence per sampler at its longest constant delay."""
    longest: dict[str, DelayCost] = {}
    for one in delay_costs(results):
        if one.distribution == CONSTANT and one.delay >= getattr(longest.get(one.sampler), "delay", 0):
            longest[one.sampler] = one
    return [sentence(one) for one in longest.values()][:MAX_FINDINGS]


def sentence(one: DelayCost) -> str:
    """The cost, and when it was paid."""
    who = "exact draws" if one.sampler == REFERENCE else one.sampler
    text = (
        f"With {who} a delay of {one.delay} rounds costs {one.total.format('auto')} regret on "
        f"{one.regret[:, -1].mean():.3g}"
    )
    if not one.total.low > 0:
        return f"{text}, which is not certainly above zero."
    late, difference = round(one.late_share.value, 2) + 0.0, one.late_share_difference  # no minus zero
    shares = f"{late:.0%} of it in the second half of the rounds, where {one.late_share_of_regret:.0%} of regret falls"
    if difference.high < 0:
        return f"{text}; the additive cost of theory shows: {shares}."
    if difference.low > 0:
        return f"{text}; the cost is not additive: {shares}."
    return f"{text}; whether it is additive cannot be told: {shares}."
