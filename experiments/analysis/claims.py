"""Published claims: what was claimed, what was measured, and the verdict that a rule derives from the numbers.

A claim is a folder of `experiments/studies/claims`: `study.yaml` has the cells and a block `claim`, and `rule.py` has
`measure(results)`, which returns a few numbers with intervals by name, and `judge(numbers)`, a function of these alone.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from experiments.analysis.statistics import Interval
from samplers.errors import InputError

type Numbers = Mapping[str, Interval]  # what was measured, by name

MAX_NAMED = 2  # parts that are named in a verdict; more are counted, and listed below it
FIELDS = ("id", "paper", "sentence", "setting", "source")


class Outcome(StrEnum):
    """The four verdicts."""

    SUPPORTED = "supported"
    PARTLY = "supported only where"
    NOT_SUPPORTED = "not supported at these settings"
    UNTESTED = "cannot be tested here"


class Judgement(NamedTuple):
    """A verdict, what it is limited to or prevented by, and one sentence on what was seen.

    Attributes:
        outcome: which of the four.
        sentence: what was seen.
        condition: after "only where", or after "because".
        parts: what the claim says, part by part, and whether it holds; None where the intervals leave it open.
    """

    outcome: Outcome
    sentence: str
    condition: str = ""
    parts: tuple[tuple[str, bool | None], ...] = ()

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.outcome is Outcome.PARTLY:
            return f"{self.outcome} {self.condition}"
        if self.outcome is Outcome.UNTESTED:
            return f"{self.outcome}, because {self.condition}"
        return str(self.outcome)


def supported(sentence: str) -> Judgement:
    """The claim holds in everything that was measured."""
    return Judgement(Outcome.SUPPORTED, sentence)


def supported_where(condition: str, sentence: str) -> Judgement:
    """The claim holds in a part of what was measured, which the condition names."""
    return Judgement(Outcome.PARTLY, sentence, condition)


def not_supported(sentence: str) -> Judgement:
    """The claim holds in nothing that was measured."""
    return Judgement(Outcome.NOT_SUPPORTED, sentence)


def untested(reason: str) -> Judgement:
    """The numbers decide nothing, for this reason."""
    return Judgement(Outcome.UNTESTED, f"No verdict: {reason}.", reason)


def above(number: Interval, limit: float) -> bool | None:
    """Whether a number is above a limit: certainly, certainly not, or None where its interval leaves it open."""
    if number.low > limit:
        return True
    return False if number.high <= limit else None


def below(number: Interval, limit: float) -> bool | None:
    """Whether a number is below a limit: certainly, certainly not, or None where its interval leaves it open."""
    if number.high < limit:
        return True
    return False if number.low >= limit else None


def all_of(*answers: bool | None) -> bool | None:
    """Whether all hold: False if one certainly does not, else None if one is open."""
    if any(answer is False for answer in answers):
        return False
    return None if any(answer is None for answer in answers) else True


def any_of(*answers: bool | None) -> bool | None:
    """Whether one holds: True if one certainly does, else None if one is open."""
    if any(answers):
        return True
    return None if any(answer is None for answer in answers) else False


def near(number: Interval, target: float, slack: float) -> bool | None:
    """Whether a number is within `slack` of a target: certainly, certainly not, or None where it is open."""
    return all_of(above(number, target - slack), below(number, target + slack))


def _where(holding: Sequence[str], undecided: Sequence[str], number: int) -> str:
    """The parts that hold or, where there are several, their number and what is open."""
    if len(holding) <= MAX_NAMED:
        return "; ".join(holding)
    still_open = f", {len(undecided)} open" if undecided else ""
    return f"{len(holding)} of {number} parts hold{still_open}"


def by_parts(parts: Mapping[str, bool | None], sentence: str) -> Judgement:
    """The verdict on a claim of several parts: all hold, some, none, or none while some are open.

    Args:
        parts: whether each part holds, by the words that name it after "supported only where"; None where it is open.
        sentence: what was seen.
    """
    named = tuple(parts.items())
    holding = [name for name, holds in named if holds]
    undecided = [name for name, holds in named if holds is None]
    if len(holding) == len(named):
        return Judgement(Outcome.SUPPORTED, sentence, "", named)
    if holding:
        return Judgement(Outcome.PARTLY, sentence, _where(holding, undecided, len(named)), named)
    if undecided:
        reason = f"the intervals leave open: {'; '.join(undecided)}"
        return Judgement(Outcome.UNTESTED, sentence, reason, named)
    return Judgement(Outcome.NOT_SUPPORTED, sentence, "", named)


class Claim(NamedTuple):
    """A published claim.

    Attributes:
        id: its number in our list, such as C1.
        paper: authors, year, title or arXiv number.
        sentence: what is claimed, in one sentence.
        setting: what is run here to test it.
        source: how sure we are of what the paper says.
        missing: why it cannot be run; empty if it can.
    """

    id: str
    paper: str
    sentence: str
    setting: str
    source: str
    missing: str = ""


def claim_of(study: str, file: Mapping[str, Any]) -> Claim:
    """The block `claim` of a study's file. Raises InputError, with the fields that it needs, if it is not complete."""
    block = file.get("claim")
    fields = {str(key): str(value) for key, value in block.items()} if isinstance(block, dict) else {}
    lacking = [name for name in FIELDS if name not in fields]
    unknown = [name for name in fields if name not in Claim._fields]
    if lacking or unknown:
        wrong = f"lacks {', '.join(lacking)}" if lacking else f"has unknown fields {', '.join(unknown)}"
        raise InputError(f"study={study}: the block `claim` {wrong}; it has: {', '.join(Claim._fields)}")
    return Claim(**fields)
