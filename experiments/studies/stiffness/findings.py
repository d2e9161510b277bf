"""Findings of the study `stiffness`: regret gaps against the measured condition number."""

from experiments.analysis.diagnostics_vs_regret import condition_number
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import format_mean_and_median, paired_difference

ALPHA = "posterior.alpha"  # the smaller, the larger the condition number


def findings(results: StudyResults) -> list[str]:
    """The gap to exact draws at each condition number, and whether it grows with it, run by run."""
    sentences = []
    pairs = [pair for pair in results.pairs if ALPHA in pair.cell.flat]
    for sampler in dict.fromkeys(pair.sampler for pair in pairs):
        line = sorted(
            (pair for pair in pairs if pair.sampler == sampler), key=lambda pair: -pair.cell.flat[ALPHA]
        )
        points = [
            f"{condition_number(pair.data):.0e} (alpha={pair.cell.flat[ALPHA]:g}): "
            f"{format_mean_and_median(pair.regret_gap_by_run)}"
            for pair in line
        ]
        text = f"{sampler}, regret gap to exact by condition number: {'; '.join(points)}."
        if len(line) > 1:
            change = paired_difference(line[-1].regret_gap_by_run, line[0].regret_gap_by_run)
            verb = "grows" if change.low > 0 else "falls" if change.high < 0 else "does not change"
            text += f" From the least stiff to the stiffest it {verb} ({change.format()} per run)."
        sentences.append(text)
    return sentences
