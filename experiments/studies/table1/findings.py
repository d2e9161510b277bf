"""Findings of the study `table1`: the fitted exponents."""

from experiments.analysis.findings import default_findings
from experiments.analysis.results import StudyResults
from experiments.studies.table1.scaling import scaling_lines


def findings(results: StudyResults) -> list[str]:
    """The fitted exponents of every algorithm, axis by axis; the standings where no axis has two points."""
    lines = scaling_lines(results)
    sentences = []
    for name, level in dict.fromkeys((line.name, line.level) for line in lines):
        exponents = ", ".join(
            f"{line.axis.name} {line.exponent.format('+.2f')}"
            for line in lines
            if (line.name, line.level) == (name, level)
        )
        sentences.append(f"{name}, {level} settings, exponents of regret in: {exponents}.")
    return sentences or default_findings(results)
