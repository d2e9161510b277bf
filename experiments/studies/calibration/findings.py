"""Findings of the study `calibration`: whether ranks of the truth are uniform, by cell and probed round."""

from experiments.analysis.results import StudyResults
from experiments.studies.calibration.ranks import ranks_of

ALARM = 0.01  # over all cells and rounds (Bonferroni)


def findings(results: StudyResults) -> list[str]:
    """A sentence per cell and round: uniform, too narrow (U-shaped ranks) or too wide."""
    found = list(ranks_of(results))
    sentences = []
    for one in found:
        test = one.uniformity
        verdict = "no deviation from uniform found"
        if min(test.p_value, test.spread_p_value) < ALARM / (2 * len(found)):
            shape = "U-shaped: the posterior is too narrow" if test.spread > 1 else "humped: it is too wide"
            verdict = f"not uniform, {shape}"
        sentences.append(
            f"{one.label}, round {one.round}: ranks of the truth: {verdict} "
            f"(variance {test.spread:.2f} of uniform, p={test.spread_p_value:.2g}; largest distance of the ECDF "
            f"{test.statistic:.2f}, p={test.p_value:.2g})."
        )
    return sentences
