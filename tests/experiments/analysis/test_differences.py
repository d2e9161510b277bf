"""Paired differences between any two cells."""

import numpy as np
import pytest
from helpers.synthetic_cells import LEVELS, ROUNDS, RUNS, played

from experiments.analysis.differences import MAX_CELLS, comparable, pairwise_rows
from experiments.analysis.results import StudyResults
from experiments.config.compose import compose

NUMBERS = (f"rounds={ROUNDS}", f"runs={RUNS}")
SAMPLERS = {"mala": 0.0, "hmc": 0.0, "sgld": 2.0}  # added regret a round


def results_of(*overrides, levels=SAMPLERS, noise=0.01):
    cells = compose([f"sampler={','.join(levels)}", *NUMBERS, *overrides]).cells
    shared = np.random.default_rng(1).gamma(2.0, 1.0, size=(RUNS, 1))
    data = {}
    for seed, cell in enumerate(cells):
        own = np.random.default_rng(seed).normal(scale=noise, size=(RUNS, ROUNDS))
        data[cell.id] = played(cell, shared + levels[cell.flat["sampler"]] + own)
    return StudyResults.from_cells("default", cells, data)


def test_every_pair_without_exact_draws():
    results = results_of("environment=sparse")
    rows = {(row["first"], row["second"]): row for row in results.pairwise.to_dict(orient="records")}
    assert len(rows) == 3
    assert rows["mala", "hmc"]["less_regret"] == "not distinguishable"
    assert rows["mala", "sgld"]["less_regret"] == "mala"
    assert rows["mala", "sgld"]["difference"] == pytest.approx(-2.0 * ROUNDS, abs=0.5)
    assert rows["mala", "sgld"]["difference_low"] < rows["mala", "sgld"]["difference_high"] < 0


def test_gap_to_best_is_in_the_summary_only_without_exact_draws():
    summary = results_of("environment=sparse").summary.set_index("sampler")
    assert summary.loc["sgld", "gap_to_best"] == pytest.approx(2.0 * ROUNDS, abs=0.5)
    assert summary.loc["sgld", "best"] in ("mala", "hmc")
    assert summary["gap_to_best"].isna().sum() == 1  # of the best itself
    with_exact = results_of("environment=sparse", levels=LEVELS).summary
    assert "gap_to_best" not in with_exact
    assert with_exact["regret_gap"].notna().any()


def test_cells_of_other_randomness_are_not_compared():
    results = results_of("environment=sparse", "seed=0,1")
    assert [len(group) for group in comparable(results.cells)] == [3, 3]
    assert len(results.pairwise) == 6
    assert [len(group) for group in comparable(results_of("environment=sparse,dense").cells)] == [3, 3]


def test_many_cells_are_compared_with_the_best_only():
    steps = ",".join(str(n) for n in range(1, MAX_CELLS + 2))
    results = results_of("environment=sparse", f"sampler.num_steps={steps}", levels={"mala": 0.0})
    final = {cell.id: results.final(cell) for cell in results.done}
    rows = pairwise_rows(results.done, final, results.labels, results.panels)
    assert len(rows) == len(results.cells) - 1
    assert len({row["second"] for row in rows}) == 1
