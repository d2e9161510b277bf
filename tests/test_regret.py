"""Whitened and Metropolis-adjusted samplers have the regret of exact draws: paired, run by run.

The runs of a pair share truth, variances and noise, so their difference is the sampler's doing alone. |z| <= 4.5 is a
false alarm once in 150,000 if there is no difference.
"""

from functools import lru_cache

import numpy as np
import pytest
from montecarlo import SEED, standard_error

from fgtsva_ppl import ENVIRONMENTS, SAMPLERS, Thompson, simulate

ROUNDS, RUNS = 200, 100
LARGEST = 4.5

pytestmark = pytest.mark.slow


@lru_cache
def regret(environment, sampler, **values):
    agent = Thompson(sampler=SAMPLERS.build(sampler, values))
    played = simulate(ENVIRONMENTS.build(environment), agent, rounds=ROUNDS, runs=RUNS, seed=SEED)
    assert not np.any(played.restored)
    assert not np.any(played.diverged)
    return played.cumulative_regret[:, -1]


def z(environment, sampler, **values):
    difference = regret(environment, sampler, **values) - regret(environment, "exact")
    return float(np.mean(difference) / standard_error(difference))


@pytest.mark.parametrize("sampler", ["psgld", "mala", "hmc", "nuts"])
@pytest.mark.parametrize("environment", ["sparse", "dense"])
def test_the_regret_is_that_of_exact_draws(environment, sampler):
    assert abs(z(environment, sampler)) <= LARGEST


def test_a_sampler_that_hardly_moves_is_told_apart():
    """So that the test above means something; this one is at |z| = 16 and more over ten seeds."""
    assert z("sparse", "psgld", step=1e-6) > LARGEST
