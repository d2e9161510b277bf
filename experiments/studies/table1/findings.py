"""Findings of the study `table1`: the fitted exponents of the paper's algorithm; `scaling.csv` has all of them."""

from experiments.analysis.findings import MAX_FINDINGS, default_findings
from experiments.analysis.results import StudyResults
from experiments.analysis.verdicts import OURS
from experiments.studies.table1.scaling import scaling_lines


def findings(results: StudyResults) -> list[str]:
    """The exponents of FGTS-VA at tuned settings; the standings where no axis has two points."""
    lines = [line for line in scaling_lines(results) if line.name == OURS[-1]]
    level = lines[-1].level if lines else ""
    sentences = [
        f"{line.name}, {line.level} settings: regret grows with {line.axis.name} to the power "
        f"{line.exponent.format('+.2f')}."
        for line in lines
        if line.level == level
    ]
    return sentences[:MAX_FINDINGS] or default_findings(results)
