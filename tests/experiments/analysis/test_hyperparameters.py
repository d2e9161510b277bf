"""Tuning of hyperparameters on other seeds than the reported one, and growth with the rounds."""

import numpy as np
import pytest
from helpers.synthetic_comparison import shape, study, tree

from experiments.analysis.hyperparameters import choose, growth, halves, standing_rows, tuned_algorithms


def oful(*overrides):
    """OFUL's cells in sparse noise, and the study's comparison."""
    composed = study("figure1", "environment=sparse", *overrides)
    return [
        cell for cell in composed.cells if composed.comparison.algorithm_runs[cell.id].name == "OFUL"
    ], composed.comparison


def tuned_algorithm_of(cells, comparison, regret):
    """The tuned algorithm of some cells, with regret given as a function of the cell; and their data."""
    data = {cell.id: tree(cell, regret(cell)) for cell in cells}
    (tuned_algorithm,) = tuned_algorithms(cells, data, comparison)
    return tuned_algorithm, data


def test_tuned_setting_is_chosen_on_the_second_seed_and_reported_on_the_first():
    best = {0: 0.3, 1000: 0.1}  # at the reported seed another one would have won
    tuned_algorithm, data = tuned_algorithm_of(
        *oful(), lambda cell: 10.0 if cell.flat["agent.radius"] == best[cell.seed] else 50.0
    )
    assert tuned_algorithm.tuned.cell.flat["agent.radius"] == 0.1
    assert tuned_algorithm.tuned.cell.seed == 0
    assert tuned_algorithm.textbook.cell.flat["agent.radius"] == 1.0
    rows = {row["level"]: row for row in standing_rows([tuned_algorithm], data)}
    assert rows["tuned"]["final_regret_mean"] == pytest.approx(50, rel=0.3)
    assert rows["tuned"]["setting"] == "radius=0.1"


def test_reported_runs_do_not_affect_tuning():
    rng = np.random.default_rng(1)
    for _ in range(5):
        tuned_algorithm, _ = tuned_algorithm_of(
            *oful(), lambda cell: cell.flat["agent.radius"] if cell.seed else rng.uniform()
        )
        assert tuned_algorithm.describe("tuned") == "radius=0.01 (edge)"


def test_tuning_averages_over_all_other_seeds():
    # each seed alone would choose what the other one finds bad
    regret = {0.1: {1000: 90.0, 2000: 1.0}, 0.3: {1000: 1.0, 2000: 90.0}}
    tuned_algorithm, _ = tuned_algorithm_of(
        *oful("seed=0,1000,2000"),
        lambda cell: regret.get(cell.flat["agent.radius"], {}).get(cell.seed, 20.0),
    )
    assert tuned_algorithm.tuned.cell.flat["agent.radius"] not in regret


def test_one_seed_has_no_tuned_setting_and_an_overridden_hyperparameter_no_textbook_setting():
    tuned_algorithm, _ = tuned_algorithm_of(*oful("seed=3"), lambda cell: 1.0)
    assert tuned_algorithm.tuned is None
    assert tuned_algorithm.textbook is not None
    tuned_algorithm, _ = tuned_algorithm_of(*oful("agent.radius=0.3,0.1"), lambda cell: 1.0)
    assert tuned_algorithm.tuned is not None
    assert tuned_algorithm.textbook is None


def test_a_tuned_value_at_the_edge_of_the_grid_is_marked():
    cells, comparison = oful()
    for best, setting in ((1.0, "radius=1 (edge)"), (0.1, "radius=0.1"), (0.01, "radius=0.01 (edge)")):
        tuned_algorithm, _ = tuned_algorithm_of(
            cells, comparison, lambda cell, best=best: 1.0 if cell.flat["agent.radius"] == best else 9.0
        )
        assert tuned_algorithm.describe("tuned") == setting
        assert tuned_algorithm.describe("textbook") == "radius=1"
    tuned_algorithm, _ = tuned_algorithm_of(*oful("agent.radius=1"), lambda cell: 1.0)
    assert tuned_algorithm.describe("tuned") == "radius=1"  # one value has no end


def test_ties_in_tuning_go_to_the_first_setting():
    assert choose({"textbook": np.ones(3), "other": np.ones(3)}) == "textbook"
    assert choose({}) is None


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_growth_distinguishes_learnt_from_linear_regret(rate):
    cell = study("figure1", "environment=sparse").cells[0]
    assert growth(halves(tree(cell, 7.0, rate))).value == pytest.approx(rate, abs=1e-9)
    assert shape(rate).sum() == pytest.approx(1)
