"""Published claims about approximate Thompson sampling, one folder each: `study.yaml` and `rule.py`.

`study.yaml` is a study as any other, with a block `claim` (what is claimed and by whom) and a block `quick` (a small
size). `rule.py` has:

- `measure(results) -> dict[str, Interval]`: a few numbers with intervals, by name;
- `judge(numbers) -> Judgement`: the verdict, a function of these numbers alone;
- `figure(results) -> Figure` and `CAPTION`: one small figure, else regret against rounds.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from matplotlib.figure import Figure

from experiments.analysis.claims import Claim, Judgement, Numbers, claim_of, untested
from experiments.analysis.measures import MissingCellsError
from experiments.analysis.results import StudyResults
from experiments.analysis.verdicts import Evidence, Verdict
from experiments.config.study_files import claim_names, read_pending, read_study
from experiments.figures.draw import Draft, default_figures


class Assessment(NamedTuple):
    """A claim with what was measured and the verdict."""

    claim: Claim
    numbers: Numbers
    judgement: Judgement


class Rule(NamedTuple):
    """A claim and the functions of its `rule.py`."""

    claim: Claim
    measure: Callable[[StudyResults], dict[str, object]]
    judge: Callable[[Numbers], Judgement]
    figure: Callable[[StudyResults], Figure] | None
    caption: str

    def assess(self, results: StudyResults) -> Assessment:
        """The verdict on the numbers of a study's cells; none where cells that the rule needs are missing."""
        try:
            numbers: Numbers = self.measure(results)  # type: ignore[assignment]
        except MissingCellsError as error:
            return Assessment(self.claim, {}, untested(str(error)))
        return Assessment(self.claim, numbers, self.judge(numbers))

    def findings(self, results: StudyResults) -> list[str]:
        """The verdict and what was seen, as the report's answer."""
        judgement = self.assess(results).judgement
        return [f"{judgement.verdict[0].upper()}{judgement.verdict[1:]}.", judgement.sentence]

    def verdicts(self, results: StudyResults) -> Iterator[Verdict]:
        """The verdict with its numbers, for the report."""
        claim, numbers, judgement = self.assess(results)
        evidence = tuple(Evidence(name, number, None) for name, number in numbers.items())
        text = f"{claim.sentence.rstrip('.')} ({claim.id})"
        yield Verdict(claim.paper, text, judgement.sentence, evidence, judgement.verdict)

    def figures(self, results: StudyResults) -> Mapping[str, Draft]:
        """The claim's own figure first, then the usual ones."""
        own: dict[str, Draft] = {}
        if self.figure is not None:
            figure = self.figure
            own = {"claim": Draft(lambda: figure(results), self.claim.sentence, self.caption)}
        return own | default_figures(results)


class _Rules(dict[str, Rule]):
    """The rules by the study's name, each imported when it is first used; only those of folders here."""

    def __contains__(self, name: object) -> bool:
        return name in claim_names()

    def __missing__(self, name: str) -> Rule:
        module = importlib.import_module(f"{__name__}.{name.rpartition('/')[2]}.rule")
        figure, caption = getattr(module, "figure", None), getattr(module, "CAPTION", "")
        self[name] = Rule(claim_of(name, read_study(name)), module.measure, module.judge, figure, caption)
        return self[name]


RULES = _Rules()


def pending() -> list[Claim]:
    """The claims of the list that have no study here, with the reason."""
    return [claim_of("pending.yaml", {"claim": block}) for block in read_pending()]
