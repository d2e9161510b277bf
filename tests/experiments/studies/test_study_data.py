"""Findings of the study `data` on synthetic regret, where the right sentences are known."""

import numpy as np
from helpers.synthetic_comparison import RUNS, study, tree

from experiments import studies
from experiments.analysis.results import StudyResults

REGRET = {"lints": 90.0, "greedy": 50.0, "epsilon_greedy": 70.0, "uniform": 100.0}


def _is(cell, **settings):
    flat = {key.rpartition(".")[2]: value for key, value in cell.flat.items()} | {"seed": cell.seed}
    return all(flat.get(key) == value for key, value in settings.items())


def findings_of(default: float, tuned: float, tied: bool = False) -> list[str]:
    composed = study("data", "environment=iris", "rounds=64", "runs=40")
    data = {}
    for cell in composed.cells:
        agent = cell.flat["agent"]
        total = REGRET.get(agent, default)
        if cell.flat.get("posterior.eta") == 800:
            total = tuned
        data[cell.id] = tree(cell, total)
    if tied:  # the default's runs are greedy's, some a little more and some a little less
        (greedy,) = (cell for cell in composed.cells if _is(cell, agent="greedy", seed=0, lam=1.0))
        (own,) = (cell for cell in composed.cells if _is(cell, posterior="fgts_va", sampler="exact"))
        signs = np.where(np.arange(RUNS) % 2, 1, -1)[:, None]
        data[own.id]["regret"] = data[greedy.id]["regret"] * (1 + 0.02 * signs)
    return studies.findings(StudyResults.from_cells("data", composed.cells, data, composed.comparison))


def test_the_default_is_judged_by_paired_intervals():
    beaten, greedy, near, *_, numbers = findings_of(default=50.0, tuned=49.0, tied=True)
    wins = "at default settings, the default Thompson agent has less regret on 1 of 1 datasets (iris)."
    assert f"Against epsilon-greedy {wins}" in beaten
    assert f"Against uniform {wins}" in beaten
    assert greedy.startswith("Against greedy at default settings,")
    assert "has less regret on 0 of 1 datasets; no difference found on iris " in greedy
    assert (
        "Where it does not beat greedy, a tuned weight of a datum does on iris alone; regret of greedy"
        in greedy
    )
    assert "% of uniform play), eta tuned " in greedy
    assert "near if at most 1.1; near: iris 1.0" in near
    assert "(Thompson, eta tuned: eta=800 (edge))" in near
    assert "not near" not in near
    assert numbers.startswith("iris, mean regret: Thompson (exact) ")


def test_more_regret_is_said_to_be_more():
    beaten, greedy, near, *_ = findings_of(default=80.0, tuned=60.0)
    assert "has less regret on 0 of 1 datasets; more on iris +" in beaten
    assert "more on iris +" in greedy
    assert "Where it does not beat greedy, neither does a tuned weight of a datum" in greedy
    assert "near if at most 1.1; not near: iris " in near


def test_no_reason_is_given_where_greedy_is_beaten():
    _, greedy, *_ = findings_of(default=30.0, tuned=30.0)
    assert "has less regret on 1 of 1 datasets (iris)." in greedy
    assert "Where it does not" not in greedy
