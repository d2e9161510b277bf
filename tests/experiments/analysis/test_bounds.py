"""The theorem's regret bound: its values, its conditions, its figure, and the claims of the study `theorem`."""

import numpy as np
import pytest
from helpers.synthetic_comparison import ROUNDS, shared_factor, study, tree, verdicts_of

from experiments.analysis.bounds import bound
from experiments.analysis.results import StudyResults
from experiments.analysis.verdicts import (
    NOT_REPRODUCED,
    REPRODUCED,
)
from experiments.config.compose import compose
from experiments.figures.curves import regret_curves
from fgtsva_ppl import theory
from samplers.errors import InputError


def test_theorem_claims_can_have_either_verdict():
    composed = study("theorem", "rounds=4000")
    for share, expected in ((0.1, REPRODUCED), (3.0, NOT_REPRODUCED)):
        data = {
            cell.id: tree(cell, share * bound(cell, np.array([cell.rounds])).regret[0])
            for cell in composed.cells
        }
        result = verdicts_of("theorem", composed, data)
        assert len(result) == 3
        assert {verdict.outcome() for verdict in result} == {expected}
        counts = [len(verdict.evidence) for verdict in result]
        # four c, and the theorem's own bound at one of them; the other bounds are above the number of rounds
        assert counts == [5, 5, 3]
        for verdict in result:
            own, stated = (
                next(one for one in verdict.evidence if one.condition == f"exact c=0.2615{more}")
                for more in ("", ", the theorem's own c and bound")
            )
            assert own.number.low < share * shared_factor(0).mean() < own.number.high
            assert 0.94 < stated.number.value / own.number.value < 0.99


def test_theorem_bound_is_computed_at_the_recommended_c_only():
    composed = compose(["study=theorem"])  # at its own horizon
    (c,) = {
        cell.flat["posterior.c"] for cell in composed.cells if bound(cell, np.array([1])).stated is not None
    }
    recommended = theory.recommended_finite(8, 4, 4000)
    assert c == pytest.approx(recommended.c, abs=5e-5)  # all digits that are written
    rounds = np.array([1, 100, 4000])
    above = []
    for cell in composed.cells:
        if cell.flat["posterior.c"] == c:
            result = bound(cell, rounds)
            p = cell.flat["environment.p"]
            np.testing.assert_allclose(
                result.stated, recommended.regret_bound(p * rounds, rounds), rtol=1e-12
            )
            assert np.all(result.stated > result.regret)  # so it is a bound at the rounded c too
            above.append(round(100 * (result.stated[-1] / result.regret[-1] - 1)))
    assert f"{above[0]}%, {above[1]}% and {above[2]}% above" in " ".join(composed.comparison.choices)
    shorter = compose(["study=theorem", "rounds=1000"])
    assert all(bound(cell, rounds).stated is None for cell in shorter.cells)
    # with another alpha c is not enough, be it the one that goes with this alpha's dc
    c = theory.recommended_c(theory.finite_eluder_bound(8, 4, 4000, 0.1**-2), theory.finite_complexity(8))
    other = compose(["study=theorem", "posterior.alpha=0.1", f"posterior.c={c}"])
    assert all(bound(cell, rounds).stated is None for cell in other.cells)


def test_both_bounds_are_drawn_in_different_styles():
    composed = compose(["study=theorem", "environment.p=0.1", "posterior.c=0.1,0.2615"])
    data = {cell.id: tree(cell, 1.0) for cell in composed.cells}
    assert composed.comparison.bounds
    (axes,) = regret_curves(
        StudyResults.from_cells("theorem", composed.cells, data, composed.comparison)
    ).axes
    ends = {
        (line.get_linestyle(), round(line.get_ydata()[-1])) for line in axes.lines if len(line.get_ydata())
    }
    assert {(":", 1176), (":", 797), ("-.", 838)} <= ends
    styles = {line.get_label(): line.get_linestyle() for line in axes.lines}
    assert styles["bound of the proof, at this c"] == ":"
    assert styles["bound of the theorem, at its own c"] == "-."


@pytest.mark.slow
def test_bounds_increase_and_report_whether_the_conditions_hold():
    rounds = np.arange(1, ROUNDS + 1)
    (cell, *_) = study("theorem").cells
    result = bound(cell, rounds)
    assert result.conditions_hold
    assert np.all(np.diff(result.regret) > 0)
    others = (
        ["posterior.variance=estimated"],
        ["posterior.maximum=logsumexp", "sampler=rmh"],
        ["posterior.cap=1"],
    )
    for overrides in (
        ["environment.subgaussian=false"],
        ["sampler=rmh"],
        ["environment.table_seed=1"],
        *others,
    ):
        assert not bound(study("theorem", *overrides).cells[0], rounds).conditions_hold
    assert not bound(study("figure1").cells[0], rounds).conditions_hold
    for overrides in (["posterior.c=0"], ["posterior=ts"], ["agent=oful"]):
        assert bound(study("figure1", *overrides).cells[0], rounds) is None


def test_bounds_must_be_true_or_false():
    with pytest.raises(InputError, match="true or false"):
        compose(["bounds=3"])
    assert compose(["bounds=true"]).comparison.bounds
