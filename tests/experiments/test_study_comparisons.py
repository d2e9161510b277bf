"""The studies of general rewards and of unknown variance: what they ask for fits, and what they say follows."""

import numpy as np
import pytest
import xarray as xr

from experiments import studies
from experiments.analysis.load import StoredCell
from experiments.analysis.results import StudyResults
from experiments.config.compose import compose
from experiments.storage.codecs import rounds_to_tree
from fgtsva_ppl import simulate

RUNS = 20
RNG = np.random.default_rng(0)


def cell_of(key, flat):
    """A cell with these settings under dotted names."""
    parts = {group: {"name": name} for group, name in flat.items() if "." not in group}
    for dotted, value in flat.items():
        group, dot, setting = dotted.partition(".")
        parts[group] |= {setting: value} if dot else {}
    return StoredCell(parts, rounds=10, runs=RUNS, seed=0, precision="", key=key)


def results_of(name, cells):
    """Cells by what they are and their mean regret, as a study would store them."""
    made = [cell_of(str(number), flat) for number, (flat, _) in enumerate(cells)]
    trees = {}
    for cell, (_, mean) in zip(made, cells, strict=True):
        spread = RNG.normal(size=(RUNS, 10)) / 10
        regret = mean / 10 + spread - spread.mean()
        trees[cell.id] = xr.DataTree(xr.Dataset({"regret": (("run", "round"), regret)}))
    return StudyResults.from_cells(name, made, trees)


@pytest.mark.parametrize("name", ["general", "variance"])
def test_the_cells_of_the_study_fit_together(name):
    study = compose([f"study={name}"])
    assert studies.hooks(name).findings is not None
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
        known = {"revealed", "revealed_after", "estimated", "modelled", "modelled_by_context", None}
        assert {sigma for *_, sigma in shown} == known


def test_thompson_sampling_is_compared_with_those_who_do_not_sample():
    flat = {"environment": "wheel", "agent": "thompson", "reward": "gp", "posterior": "ts"}
    others = [
        ({"environment": "wheel", "agent": name}, mean) for name, mean in (("uniform", 900), ("greedy", 500))
    ]
    (sentence,) = results_of("general", [(flat, 500), *others]).findings
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
    (sentence,) = results_of("variance", cells).findings  # nothing to compare with under sparse noise
    assert sentence.startswith("dense noise: with sigma_t revealed the mean regret is 10.")
    assert " estimated: 60.0, +50.0 [" in sentence
    assert "against homoscedastic FGTS -40.0 [" in sentence
    assert " fgts_b: 100.0, +90.0 [" in sentence


@pytest.mark.slow
def test_thompson_sampling_beats_those_who_do_not_sample():
    """The study itself, in full: on digits and on the wheel, with the model that epsilon-greedy has too."""
    cells = compose(["study=general"]).cells
    data = {
        cell.id: rounds_to_tree(
            cell, simulate(cell.environment, cell.agent, rounds=cell.rounds, runs=cell.runs)
        )
        for cell in cells
    }
    sentences = StudyResults.from_cells("general", cells, data).findings
    assert [text.partition(":")[0] for text in sentences] == ["digits", "wheel"]
    for text in sentences:
        assert "; less than epsilon_greedy (" in text
        assert "; less than uniform (" in text
