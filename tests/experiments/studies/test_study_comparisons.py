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
from experiments.studies.variance.findings import findings as variance
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
    (sentence,) = general(results_of([(flat, 500), *others]))
    assert "reward gp and posterior ts has a mean regret of 500.0; " in sentence
    assert "less than uniform (900.0; -400.0 [" in sentence
    assert f"better in {RUNS} of {RUNS} runs" in sentence
    assert "no different than greedy" in sentence


def test_each_variance_model_is_compared_with_revealed_variances():
    cells = [
        ({"noise": "dense", "posterior": "fgts_va", "posterior.variance": "revealed"}, 10.0),
        ({"noise": "dense", "posterior": "fgts_va", "posterior.variance": "estimated"}, 60.0),
        ({"noise": "dense", "posterior": "fgts_b"}, 100.0),
        ({"noise": "sparse", "posterior": "fgts_b"}, 100.0),
    ]
    (sentence,) = variance(results_of(cells))  # nothing to compare with under sparse noise
    assert sentence.startswith("dense noise: with sigma_t revealed the mean regret is 10.")
    assert " estimated: 60.0, +50.0 [" in sentence
    assert "against homoscedastic FGTS -40.0 [" in sentence
    assert " fgts_b: 100.0, +90.0 [" in sentence


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
    sentences = general(StudyResults.from_cells("general", cells, data))
    assert [text.partition(":")[0] for text in sentences] == ["digits", "wheel"]
    for text in sentences:
        assert "; less than epsilon_greedy (" in text
        assert "; less than uniform (" in text
