"""The studies of general rewards and of unknown variance: what they ask for fits, and what they say follows."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from experiments.analysis.comparisons import general, variance

from experiments.analysis.findings import READINGS
from experiments.config.compose import resolve
from experiments.storage.folder import rounds_tree
from fgtsva_ppl import VARIANCE_MODELS, simulate

RUNS = 20
RNG = np.random.default_rng(0)


def told(cells):
    """Cells by what they are and their mean regret, as a study would store them."""
    made = [SimpleNamespace(id=str(number), flat=flat) for number, (flat, _) in enumerate(cells)]
    trees = {}
    for cell, (_, mean) in zip(made, cells, strict=True):
        spread = RNG.normal(size=(RUNS, 10)) / 10
        regret = mean / 10 + spread - spread.mean()
        trees[cell.id] = xr.DataTree(xr.Dataset({"regret": (("run", "round"), regret)}))
    return made, trees


@pytest.mark.parametrize("name", ["general", "variance"])
def test_the_cells_of_the_study_fit_together(name):
    study = resolve([f"study={name}"])
    assert name in READINGS
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


def test_thompson_sampling_is_compared_with_those_who_do_not_sample():
    flat = {"environment": "wheel", "agent": "thompson", "reward": "gp", "posterior": "ts"}
    others = [
        ({"environment": "wheel", "agent": name}, mean) for name, mean in (("uniform", 900), ("greedy", 500))
    ]
    (sentence,) = general(*told([(flat, 500), *others]))
    assert "reward gp and posterior ts has a mean regret of 500.0; " in sentence
    assert "less than uniform (900.0; -400.0 [" in sentence
    assert f"better in {RUNS} of {RUNS} runs" in sentence
    assert "no different than greedy" in sentence


def test_each_kind_of_knowledge_is_compared_with_the_revealed_case():
    cells = [
        ({"noise": "dense", "posterior": "fgts_va", "posterior.variance": "revealed"}, 10.0),
        ({"noise": "dense", "posterior": "fgts_va", "posterior.variance": "estimated"}, 60.0),
        ({"noise": "dense", "posterior": "fgts_b"}, 100.0),
        ({"noise": "sparse", "posterior": "fgts_b"}, 100.0),
    ]
    (sentence,) = variance(*told(cells))  # nothing to compare with under sparse noise
    assert sentence.startswith("dense noise: with sigma_t revealed the mean regret is 10.")
    assert " estimated: 60.0, +50.0 [" in sentence
    assert "against homoscedastic FGTS -40.0 [" in sentence
    assert " fgts_b: 100.0, +90.0 [" in sentence


@pytest.mark.slow
def test_thompson_sampling_beats_those_who_do_not_sample():
    """The study itself, in full: on digits and on the wheel, with the model that epsilon-greedy has too."""
    cells = resolve(["study=general"]).cells
    data = {
        cell.id: rounds_tree(cell, simulate(cell.environment, cell.agent, rounds=cell.rounds, runs=cell.runs))
        for cell in cells
    }
    sentences = general(cells, data)
    assert [text.partition(":")[0] for text in sentences] == ["digits", "wheel"]
    for text in sentences:
        assert "; less than epsilon_greedy (" in text
        assert "; less than uniform (" in text
