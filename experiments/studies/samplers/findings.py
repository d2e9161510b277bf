"""Findings of the study `samplers`: how good each sampler is as it is used, and which diagnostics predict regret."""

from experiments.analysis.findings import best_diagnostic, gaps_to_exact
from experiments.analysis.results import StudyResults


def findings(results: StudyResults) -> list[str]:
    """The best diagnostic, then gaps to exact draws."""
    return best_diagnostic(results) + (gaps_to_exact(results) if results.pairs else [])
