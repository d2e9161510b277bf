"""Whitened and Metropolis-adjusted samplers have the regret of exact draws: paired, run by run.

The runs of a pair share truth, variances and noise, so their difference is caused by the sampler alone. |z| <= 4.5 is a
false alarm once in 150,000 if there is no difference.
"""

from functools import lru_cache

import numpy as np
import pytest
from helpers.montecarlo import SEED, standard_error

from fgtsva_ppl import ENVIRONMENTS, SAMPLERS, Thompson, simulate

RUNS = 100
LARGEST = 4.5


@lru_cache
def regret(environment, rounds, sampler, **values):
    agent = Thompson(sampler=SAMPLERS.build(sampler, values))
    played = simulate(ENVIRONMENTS.build(environment), agent, rounds=rounds, runs=RUNS, seed=SEED)
    assert not np.any(played.num_resets)
    assert not np.any(played.num_divergent)
    return played.cumulative_regret[:, -1]


def z(environment, rounds, sampler, **values):
    difference = regret(environment, rounds, sampler, **values) - regret(environment, rounds, "exact")
    return float(np.mean(difference) / standard_error(difference))


@pytest.mark.slow
def test_regret_of_mala_over_a_few_rounds_equals_that_of_exact_draws():
    assert abs(z("sparse", 50, "mala")) <= LARGEST


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["psgld", "mala", "hmc", "nuts"])
@pytest.mark.parametrize("environment", ["sparse", "dense"])
def test_regret_equals_that_of_exact_draws(environment, sampler):
    """As long as the default study."""
    assert abs(z(environment, 1000, sampler)) <= LARGEST


@pytest.mark.slow
def test_a_sampler_that_hardly_moves_is_detected():
    """Negative control of the test above; at 200 rounds this one was at |z| = 16 and more over ten seeds."""
    assert z("sparse", 200, "psgld", step_size=1e-6) > LARGEST
