"""Verdicts: a claim of the paper, the measurements that bear on it, and the verdict that a rule derives from them.

A claim is tested under several conditions (textbook or tuned settings, one sampler or another). Whether it holds under
one is decided by its confidence interval alone. It is reproduced if it holds under all, reproduced only with some, or
not reproduced at these settings.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from experiments.analysis.statistics import Interval

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced at these settings"
OURS = ("FGTS-VA (SGLD)", "FGTS-VA (exact)")  # the paper's algorithm with its sampler, and with exact draws
BASELINES = {  # the paper's baselines, and the forms in which they run here, the published one first
    "Weighted OFUL+": ("Weighted OFUL+", "Weighted OFUL (sub-Gaussian)"),
    "SAVE": ("SAVE", "SAVE (practical)"),
    "FGTS": ("FGTS-A",),
}
NO_VERDICT = (
    "No verdict: that FGTS-VA serves general reward functions (abstract). No number here speaks to it: rewards are "
    "linear in the studies of Figures 1 and 2 and Table 1, and those of the theorem's study come from a class of a few "
    "functions of a few arms."
)


class Evidence(NamedTuple):
    """A claim's measurement under one condition."""

    condition: str
    number: Interval
    holds: bool | None  # None where only all numbers together decide
    note: str = ""

    def describe(self) -> str:
        """The condition, the number with its interval, and whether the claim holds."""
        note = f" ({self.note})" if self.note else ""
        holds = {True: ", holds", False: ", does not hold", None: ""}[self.holds]
        return f"{self.condition}: {self.number.format('.3g')}{note}{holds}"


class Verdict(NamedTuple):
    """A claim of a paper with its evidence."""

    source: str  # where in the paper, or which paper
    claim: str
    measured: str  # what the numbers are, and the rule
    evidence: tuple[Evidence, ...]
    decided: str = ""  # by a rule of the claim's own

    def outcome(self) -> str:
        """By the claim's own rule if it has one, else by the rule of this module."""
        if self.decided:
            return self.decided
        holding = [one.condition for one in self.evidence if one.holds]
        if not holding:
            return NOT_REPRODUCED
        if len(holding) == len(self.evidence):
            return REPRODUCED
        return f"{REPRODUCED} only with {'; '.join(holding)}"


def with_evidence(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts that have some evidence."""
    return [verdict for verdict in verdicts if verdict.evidence or verdict.decided]


def to_markdown(title: str, verdicts: Sequence[Verdict], choices: Sequence[str]) -> str:
    """The verdicts of a study as a page of Markdown, with the choices that the paper leaves open."""
    lines = [f"# Verdicts: {title}", "", "Written by the study from its numbers; intervals are 95%.", ""]
    for verdict in verdicts:
        lines += [f"## {verdict.claim}", "", f"Claimed in: {verdict.source}.", ""]
        lines += [f"Measured: {verdict.measured}", ""]
        lines += [f"- {evidence.describe()}" for evidence in verdict.evidence]
        lines += ["", f"**Verdict: {verdict.outcome()}.**", ""]
    if not any(verdict.decided for verdict in verdicts):  # of the paper of FGTS-VA
        lines += [NO_VERDICT, ""]
    if choices:
        lines += ["## Choices that the paper leaves open", "", *(f"- {choice}" for choice in choices), ""]
    return "\n".join(lines)
