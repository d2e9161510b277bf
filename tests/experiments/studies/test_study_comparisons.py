"""The studies `general` and `variance`: their cells can run, and their findings follow from the regret."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from experiments.analysis.results import StudyResults
from experiments.config.compose import compose
from experiments.storage.codecs import rounds_to_tree
from experiments.studies import hooks
from experiments.studies.general.findings import findings as general
from experiments.studies.general.tables import comparison_rows
from experiments.studies.variance.findings import findings as variance
from experiments.studies.variance.tables import cost_rows
from fgtsva_ppl import VARIANCE_MODELS, simulate

RUNS = 20
RNG = np.random.default_rng(0)


def results_of(cells):
    """Results of cells with these settings and mean regrets."""
    named = [SimpleNamespace(id=str(number), flat=flat) for number, (flat, _) in enumerate(cells)]
    trees = {}
    for cell, (_, mean) in zip(named, cells, strict=True):
        spread = RNG.normal(size=(RUNS, 10)) / 10
        regret = mean / 10 + spread - spread.mean()
        trees[cell.id] = xr.DataTree(xr.Dataset({"regret": (("run", "round"), regret)}))
    return StudyResults.from_cells("synthetic", named, trees)


@pytest.mark.parametrize("name", ["general", "variance"])
def test_cells_cover_all_agents_or_variance_models(name):
    study = compose([f"study={name}"])
    assert hooks(name).findings is not None
    shown = {
        (cell.flat["environment"], cell.flat["agent"], cell.flat.get("posterior.variance"))
        for cell in study.cells
    }
    if name == "general":
        agents = ("thompson", "epsilon_greedy", "uniform")
        assert {(e, a) for e, a, _ in shown} == {(e, a) for e in ("digits", "wheel") for a in agents}
        assert all(cell.runs == RUNS for cell in study.cells)
        for cell in study.cells:
            cell.check()
    else:
        known = {*VARIANCE_MODELS.names(), None}
        assert {variance for *_, variance in shown} == known


def test_thompson_sampling_is_compared_with_agents_that_do_not_sample():
    flat = {"environment": "wheel", "agent": "thompson", "reward": "gp", "posterior": "ts"}
    others = [
        ({"environment": "wheel", "agent": name}, mean) for name, mean in (("uniform", 900), ("greedy", 500))
    ]
    results = results_of([(flat, 500), *others])
    (sentence,) = general(results)
    assert sentence.startswith(
        "On wheel Thompson sampling has the regret of the closest other agent, greedy: "
    )
    rows = {row["other"]: row for row in comparison_rows(results)}
    assert rows["uniform"]["difference"] == pytest.approx(-400, abs=1)
    assert rows["uniform"]["difference_high"] < 0
    assert rows["uniform"]["share_of_runs"] == 1


def test_each_variance_model_is_compared_with_revealed_variances():
    cells = [
        ({"noise": "dense", "posterior": "fgts_va", "posterior.variance": "revealed"}, 10.0),
        ({"noise": "dense", "posterior": "fgts_va", "posterior.variance": "estimated"}, 60.0),
        ({"noise": "dense", "posterior": "fgts_b"}, 100.0),
        ({"noise": "sparse", "posterior": "fgts_b"}, 100.0),
    ]
    results = results_of(cells)
    (sentence,) = variance(results)  # nothing to compare with under sparse noise
    assert sentence.startswith(
        "dense noise: of what can replace a revealed sigma_t, fgts_b costs most: +90.0"
    )
    assert sentence.endswith(" on 10.")
    rows = {row["variance"]: row for row in cost_rows(results)}
    assert rows["estimated"]["to_revealed"] == pytest.approx(50, abs=1)
    assert rows["estimated"]["to_homoscedastic"] == pytest.approx(-40, abs=1)
    assert "to_revealed" not in rows["revealed"]


@pytest.mark.slow
def test_thompson_sampling_has_less_regret_than_agents_that_do_not_sample():
    """The whole study: on digits and on the wheel, with the model that epsilon-greedy has too."""
    cells = compose(["study=general"]).cells
    data = {
        cell.id: rounds_to_tree(
            cell, simulate(cell.environment, cell.agent, rounds=cell.rounds, runs=cell.runs)
        )
        for cell in cells
    }
    rows = comparison_rows(StudyResults.from_cells("general", cells, data))
    assert {row["environment"] for row in rows} == {"digits", "wheel"}
    assert all(row["difference_high"] < 0 for row in rows)
