"""Findings of the study `stiffness`: regret gaps against the measured condition number."""

from experiments.analysis.diagnostics_vs_regret import condition_number
from experiments.analysis.findings import MAX_FINDINGS
from experiments.analysis.pairs import Pair
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import paired_difference

ALPHA = "posterior.alpha"  # the smaller, the larger the condition number


def lines(results: StudyResults) -> dict[str, dict[float, Pair]]:
    """The pairs of each sampler by alpha, the least stiff first."""
    found: dict[str, dict[float, Pair]] = {}
    for pair in sorted(results.pairs, key=lambda pair: -float(pair.cell.flat.get(ALPHA) or 0.0)):
        if pair.cell.flat.get(ALPHA) is not None:
            found.setdefault(pair.sampler, {})[float(pair.cell.flat[ALPHA])] = pair
    return {
        name: found[name] for name in dict.fromkeys(pair.sampler for pair in results.pairs) if name in found
    }


def findings(results: StudyResults) -> list[str]:
    """By how much each sampler's gap to exact draws changes from the least stiff posterior to the stiffest."""
    sentences = []
    for sampler, line in lines(results).items():
        first, *_, last = [*line.values()] if len(line) > 1 else [None, None]
        if first is None or last is None:
            continue
        change = paired_difference(last.regret_gap_by_run, first.regret_gap_by_run)
        verb = "grows" if change.low > 0 else "falls" if change.high < 0 else "does not change"
        sentences.append(
            f"From condition number {condition_number(first.data):.0e} to {condition_number(last.data):.0e} the regret "
            f"gap of {sampler} {verb}: {change.format('auto')}."
        )
    return sentences[:MAX_FINDINGS]
