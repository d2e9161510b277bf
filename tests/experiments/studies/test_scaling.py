"""Exponents of regret in the dimension and the variance, and the claims of Table 1."""

import numpy as np
import pytest
from helpers.montecarlo import SEED
from helpers.synthetic_comparison import study, tree, verdicts_of
from scipy import stats

from experiments import studies
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import paired_ratio
from experiments.analysis.verdicts import (
    NOT_REPRODUCED,
    REPRODUCED,
)
from experiments.studies.table1.scaling import THEORY, exponent, exponent_difference, scaling_lines


def power_law(cell, d=1.0, variance=0.5):
    dim, p, scale = (cell.flat[f"environment.{key}"] for key in ("dim", "p", "scale"))
    return 10 * dim**d * ((p * scale**2) ** variance if p else 0.1)


def table1(scaling, rate=lambda name: 0.3):
    composed = study("table1")
    data = {
        cell.id: tree(
            cell,
            scaling(cell, composed.comparison.algorithm_runs[cell.id].name),
            rate(composed.comparison.algorithm_runs[cell.id].name),
        )
        for cell in composed.cells
    }
    return composed, data


def test_exponents_of_power_laws_are_recovered():
    composed, data = table1(lambda cell, name: power_law(cell, d=1.2, variance=0.4))
    results = StudyResults.from_cells("table1", composed.cells, data, composed.comparison)
    rows = studies.tables(results)["scaling"].frame.to_dict(orient="records")
    assert {row["algorithm"] for row in rows} == set(THEORY)
    assert len(rows) == len(THEORY) * 4 * 2
    for row in rows:
        expected = 1.2 if row["axis"].startswith("d") else 0.4
        assert row["exponent"] == pytest.approx(expected, abs=0.03)
        assert row["exponent_low"] <= row["exponent"] <= row["exponent_high"]
        assert row["growth"] == pytest.approx(0.3, abs=0.01)


@pytest.mark.slow
def test_table1_claims_can_have_every_verdict():
    def verdicts(scaling, rate=lambda name: 0.0):
        composed, data = table1(scaling, rate)
        return {v.claim: v.outcome() for v in verdicts_of("table1", composed, data)}

    ours_d, worse = "FGTS-VA: regret grows at most like the power 1 of d, with noise", "LinVDTS-style"
    better = "FGTS-VA depends less on d than LinVDTS"
    matches = "FGTS-VA matches the dependence of weighted UCB on Λ"
    still = "Without noise the regret of FGTS-VA does not grow with the number of rounds"
    result = verdicts(lambda cell, name: power_law(cell, d=1.5 if name == worse else 1.0))
    assert {result[claim] for claim in (ours_d, better, matches, still)} == {REPRODUCED}
    result = verdicts(lambda cell, name: power_law(cell, 2.0, 0.5 + name.startswith("FGTS-VA")))
    assert {result[claim] for claim in (ours_d, better, matches)} == {NOT_REPRODUCED}
    result = verdicts(
        lambda cell, name: power_law(cell), lambda name: 1.0
    )  # the right exponents, but nothing is learnt
    assert {result[claim] for claim in (ours_d, better, matches, still)} == {NOT_REPRODUCED}


def test_intervals_of_exponents_have_their_coverage():
    """200 power laws of 50 gamma runs: coverage is 0.95 less a little; binomial, false alarm below 1e-6."""
    rng = np.random.default_rng(SEED)
    x = np.array([2.0, 3.0, 5.0, 8.0])
    hits = 0
    for _ in range(200):
        result = exponent(x, x**1.3 * rng.gamma(2.0, size=(50, 4)))
        hits += result.low <= 1.3 <= result.high
    assert hits >= stats.binom.ppf(1e-6, 200, 0.90)


def test_differences_of_exponents_are_paired():
    composed, data = table1(lambda cell, name: power_law(cell, d=1.5 if name == "LinVDTS-style" else 1.0))
    result = scaling_lines(StudyResults.from_cells("table1", composed.cells, data, composed.comparison))
    first, second = (
        next(line for line in result if line.name == name) for name in ("FGTS-VA (exact)", "LinVDTS-style")
    )
    gap = exponent_difference(first, second)
    assert gap.value == pytest.approx(-0.5, abs=0.03)
    assert gap.low < -0.5 < gap.high or gap.high - gap.low < 0.05


def test_ratios_are_paired():
    shared_factor = np.random.default_rng(0).gamma(1.0, size=50)
    result = paired_ratio(3 * shared_factor, shared_factor)
    assert result == pytest.approx((3, 3, 3))
