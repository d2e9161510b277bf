"""Findings, verdicts and figures of the study `networks`, on synthetic cells whose answers are known."""

import numpy as np
import pytest
from helpers.synthetic_cells import ROUNDS, RUNS, synthetic_cell

from experiments import studies
from experiments.analysis.results import StudyResults
from experiments.config.compose import compose
from experiments.figures.draw import _files
from experiments.studies.networks.against import pairs_with_reference

LEVELS = {"sgld": 2.0, "psgld": 0.1, "ulmc": 0.3, "mclmc": 0.2, "barker": 0.4, "hmc": 0.05, "nuts": 0.0}


def results(tells="total_variation"):
    """Regret in this order, and one diagnostic with the same order; all others are the same in all cells but R-hat."""
    sizes = [f"rounds={ROUNDS}", f"runs={RUNS}"]
    cells = compose([f"sampler={','.join(LEVELS)}", "environment=mlp", "reward=mlp", *sizes]).cells
    data = {}
    for number, cell in enumerate(cells):
        level = LEVELS[cell.flat["sampler"]]
        known = (
            {tells: level / 10, "rhat": 1 + (number * 5 % 7) / 10} if tells != "rhat" else {tells: 1 + level}
        )
        data[cell.id] = synthetic_cell(cell, level, 0.5, seed=number, **known)
    return StudyResults.from_cells("networks", cells, data)


@pytest.fixture(scope="module")
def told():
    return results()


def test_gaps_are_to_nuts_and_paired(told):
    pairs = pairs_with_reference(told)
    assert [pair.sampler for pair in pairs] == [name for name in LEVELS if name != "nuts"]
    assert pairs[0].regret_gap.value == pytest.approx(2.0 * ROUNDS, rel=0.01)
    sentences = studies.findings(told)
    assert sentences[0].startswith("84 of 84 probed rounds have a reference that passed the gate")
    assert sentences[1].startswith("sgld: regret more than with nuts (+100")
    assert "action TV +1.00" in sentences[-1]


def test_verdicts_follow_from_the_rank_correlations(told):
    by_claim = {verdict.claim: verdict for verdict in studies.verdicts(told)}
    distance = by_claim["the distance to reference draws tells which sampler costs regret"]
    assert [(one.condition, one.holds) for one in distance.evidence] == [("total_variation", True)]
    assert by_claim["R-hat does not tell which sampler costs regret"].outcome() == "reproduced"
    langevin = by_claim["preconditioning repairs Langevin steps"]
    assert langevin.evidence[0].number.value == pytest.approx(1.9 * ROUNDS, rel=0.01)
    assert langevin.outcome() == "reproduced"


def test_an_rhat_that_tells_refutes_the_claim():
    by_claim = {verdict.claim: verdict for verdict in studies.verdicts(results("rhat"))}
    assert by_claim["R-hat does not tell which sampler costs regret"].outcome().startswith("not reproduced")


def test_without_nuts_there_is_nothing_to_compare_with():
    cells = compose(
        ["sampler=sgld", "environment=mlp", "reward=mlp", f"rounds={ROUNDS}", f"runs={RUNS}"]
    ).cells
    alone = StudyResults.from_cells("networks", cells, {c.id: synthetic_cell(c, 1.0, 0.5) for c in cells})
    assert pairs_with_reference(alone) == []
    assert studies.verdicts(alone) == []
    assert len(studies.findings(alone)) == 1


def test_the_figure_has_a_panel_for_each_diagnostic(told):
    draft = studies.figures(told)["against_regret"]
    assert len(_files(draft)[".png"]) > 10_000
    assert np.all([ax.get_xlabel() for ax in draft.draw().axes])


def test_the_study_has_plain_and_preconditioned_langevin_and_nuts():
    cells = compose(["study=networks"]).cells
    assert {"sgld", "psgld", "nuts"} <= {cell.flat["sampler"] for cell in cells}
    assert {cell.flat["reward"] for cell in cells} == {"mlp"}
