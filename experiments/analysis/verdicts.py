"""Verdicts: a claim, the measurements that speak to it, and what follows from them by rule.

A claim is looked at under several conditions (textbook or tuned settings, one sampler or another). A condition holds
or does not, by its interval alone. All of them hold: reproduced. Some do: reproduced only with those. None: not
reproduced at these settings.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from experiments.analysis.statistics import Interval

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced at these settings"
UNSPOKEN = (
    "No verdict: that FGTS-VA serves general reward functions (abstract). No number here speaks to it: rewards are "
    "linear in the studies of Figures 1 and 2 and Table 1, and those of the theorem's study come from a class of a few "
    "functions of a few arms."
)


class Evidence(NamedTuple):
    """A claim's measurement under one condition."""

    condition: str
    number: Interval
    holds: bool
    note: str = ""

    def told(self) -> str:
        """The condition, the number with its interval, and whether that is what the claim says."""
        note = f" ({self.note})" if self.note else ""
        return f"{self.condition}: {told(self.number)}{note}, {'holds' if self.holds else 'does not hold'}"


class Verdict(NamedTuple):
    """A claim of the paper and what came of it."""

    source: str  # where in the paper
    claim: str
    measured: str  # what the numbers are, and the rule
    evidence: tuple[Evidence, ...]

    def outcome(self) -> str:
        """By the rule above."""
        holding = [one.condition for one in self.evidence if one.holds]
        if not holding:
            return NOT_REPRODUCED
        if len(holding) == len(self.evidence):
            return REPRODUCED
        return f"{REPRODUCED} only with {'; '.join(holding)}"

    def plain(self) -> dict[str, Any]:
        """As texts."""
        return {
            "source": self.source,
            "claim": self.claim,
            "measured": self.measured,
            "evidence": [one.told() for one in self.evidence],
            "verdict": self.outcome(),
        }


def told(interval: Interval) -> str:
    """Three digits, and the ends."""
    return f"{interval.value:.3g} [{interval.low:.3g}, {interval.high:.3g}]"


def measured(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those to which some measurement speaks."""
    return [verdict for verdict in verdicts if verdict.evidence]


def page(title: str, verdicts: Sequence[Mapping[str, Any]], choices: Sequence[str]) -> str:
    """The verdicts as a page of Markdown."""
    lines = [f"# Verdicts: {title}", "", "Written by the study from its numbers; intervals are 95%.", ""]
    for verdict in verdicts:
        lines += [f"## {verdict['claim']}", "", f"Claimed in: {verdict['source']}.", ""]
        lines += [f"Measured: {verdict['measured']}", ""]
        lines += [f"- {evidence}" for evidence in verdict["evidence"]]
        lines += ["", f"**Verdict: {verdict['verdict']}.**", ""]
    lines += [UNSPOKEN, ""]
    if choices:
        lines += ["## Chosen where the paper is silent", "", *(f"- {choice}" for choice in choices), ""]
    return "\n".join(lines)
