"""Findings and table of the study `neural`, on synthetic cells."""

import numpy as np
import pytest
from helpers.synthetic_cells import ROUNDS, RUNS, played, synthetic_cell

from experiments import studies
from experiments.analysis.results import StudyResults
from experiments.config.compose import compose

NUMBERS = (f"rounds={ROUNDS}", f"runs={RUNS}")
# Regret a round by sampler and steps, which the diagnostics follow or not
LEVELS = {
    ("sgld", 1): 4.0,
    ("sgld", 10): 3.0,
    ("psgld", 1): 2.5,
    ("psgld", 10): 2.0,
    ("mala", 1): 1.5,
    ("mala", 10): 1.0,
}


def results(tv, rhat):
    """Samplers on learned features with these diagnostics, a neural agent, and uniform play."""
    sampled = compose(
        [
            "environment=quadratic", "reward=neural_linear", "posterior=ts", "sampler=sgld,psgld,mala",
            "sampler.num_steps=1,10", *NUMBERS,
        ]
    ).cells  # fmt: skip
    others = compose(["environment=quadratic", "agent=neural_ts,uniform", *NUMBERS]).cells
    data = {}
    for seed, cell in enumerate(sampled):
        key = (cell.flat["sampler"], cell.flat["sampler.num_steps"])
        known = {"total_variation": tv(LEVELS[key]), "rhat": rhat(seed)}
        data[cell.id] = synthetic_cell(cell, LEVELS[key], 0.0, seed=seed, **known)
    for cell in others:
        level = 0.5 if cell.flat["agent"] == "neural_ts" else 10.0
        data[cell.id] = played(cell, np.full((RUNS, ROUNDS), level), num_gradients=3.0)
    return StudyResults.from_cells("neural", (*sampled, *others), data)


@pytest.mark.parametrize(
    ("tv", "rhat", "verdict"),
    [
        (
            lambda level: level / 10,
            lambda seed: (1.0, 1.3, 1.1, 1.0, 1.2, 1.15)[seed],
            "still holds on networks",
        ),
        (lambda level: level / 10, lambda seed: 2 - seed / 10, "holds in its first half only"),
        (lambda level: 1 - level / 10, lambda seed: 2 - seed / 10, "is not confirmed on networks"),
        (lambda level: float("nan"), lambda seed: 1.0, "no verdict"),
    ],
)
def test_the_verdict_follows_the_rank_correlations(tv, rhat, verdict):
    assert verdict in studies.findings(results(tv, rhat))[-1]


def test_standings_and_table_are_in_the_order_of_regret():
    study = results(lambda level: level / 10, lambda seed: 1.0)
    first, second, *_ = studies.findings(study)
    assert first.startswith(
        "quadratic, mean regret from the least: neural_ts 25.0, mala on neural_linear 10 steps "
    )
    assert first.endswith("uniform 500.0.")
    assert (
        "more than that of the best neural agent in 1 panel: quadratic (mala on neural_linear 10 steps"
        in second
    )
    frame = studies.tables(study)["networks"].frame
    assert list(frame["algorithm"][:2]) == ["neural_ts", "mala on neural_linear 10 steps"]
    np.testing.assert_allclose(frame["percent"].iloc[[0, -1]], [5, 100])
    np.testing.assert_allclose(frame["gradients_per_round"].iloc[0], 3)
