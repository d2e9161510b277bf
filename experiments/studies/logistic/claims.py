"""Whether what the linear studies found is still true with 0/1 rewards, by rule."""

from collections.abc import Iterator

import numpy as np

from experiments.analysis.diagnostics_vs_regret import across_cells
from experiments.analysis.pairs import Pair
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import mean_interval
from experiments.analysis.verdicts import Evidence, Verdict
from experiments.studies.logistic.reference import STEPS, describe, reference_pairs

SOURCE = "The studies samplers, stiffness and blindness, with linear rewards and exact draws"
TRUE, FALSE, OPEN = "still true", "no longer true", "undecided at this size"
DISTANCES = ("total_variation", "sliced_wasserstein")


def claims(results: StudyResults) -> Iterator[Verdict]:
    """Distance tells, R-hat does not, preconditioning repairs Langevin."""
    pairs = reference_pairs(results)
    yield _distance(pairs)
    yield _rhat(pairs)
    yield _langevin(pairs)


def _distance(pairs: list[Pair]) -> Verdict:
    numbers = (
        {name: across_cells(pairs, name) for name in DISTANCES} if any(p.diagnosed for p in pairs) else {}
    )
    evidence = tuple(Evidence(name, number, number.low > 0) for name, number in numbers.items())
    wrong = any(number.high < 0 for number in numbers.values())
    decided = FALSE if wrong else TRUE if any(one.holds for one in evidence) else OPEN
    return Verdict(
        SOURCE,
        "Distance to the reference tells regret",
        "rank correlation over cells of a distance to the gated NUTS reference with the regret added to that of "
        "Polya-Gamma Gibbs; still true if the interval of one is above 0, no longer if one is below.",
        evidence,
        decided if evidence else "",
    )


def _rhat(pairs: list[Pair]) -> Verdict:
    evidence: tuple[Evidence, ...] = ()
    decided = ""
    if any(pair.diagnosed for pair in pairs):
        number = across_cells(pairs, "rhat")
        known = bool(np.isfinite(number.low))
        evidence = (Evidence("rhat", number, not number.low > 0 if known else None),)
        decided = (TRUE if evidence[0].holds else FALSE) if known else OPEN
    return Verdict(
        SOURCE,
        "R-hat does not tell regret",
        "rank correlation over cells of R-hat with the added regret; still true unless its interval is above 0.",
        evidence,
        decided,
    )


def _langevin(pairs: list[Pair]) -> Verdict:
    """Paired by run, at the same number of steps."""
    by_name = {(pair.sampler, pair.cell.flat.get(STEPS)): pair for pair in pairs}
    evidence = []
    for (sampler, steps), plain in by_name.items():
        repaired = by_name.get(("psgld", steps))
        if sampler != "sgld" or repaired is None:
            continue
        saved = mean_interval(plain.regret_gap_by_run - repaired.regret_gap_by_run)
        note = f"left above the reference: {repaired.regret_gap.format()}"
        evidence.append(Evidence(f"{describe(plain)} less {describe(repaired)}", saved, saved.low > 0, note))
    gained, lost = any(one.holds for one in evidence), any(one.number.high < 0 for one in evidence)
    decided = OPEN if gained == lost else TRUE if gained else FALSE
    return Verdict(
        SOURCE,
        "Preconditioning repairs Langevin sampling",
        "regret of sgld less that of psgld with the same number of steps, paired; still true if an interval is above 0 "
        "and none below, no longer if one is below and none above.",
        tuple(evidence),
        decided if evidence else "",
    )
