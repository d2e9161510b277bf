"""Many rounds of one run of an environment, for tests of what it draws."""

import jax
import jax.numpy as jnp
import numpy as np
from helpers.montecarlo import SEED

from fgtsva_ppl.simulation import reveal

MANY = 4000


@jax.jit
def _rounds(environment, keys):
    instance = environment.start(jax.random.key(SEED))
    numbers = jnp.arange(len(keys))
    return instance, jax.vmap(lambda key, t: reveal(environment, key, instance, t))(keys, numbers)


def noise(outcome):
    """The noise of each round, which all arms of these environments share."""
    differences = outcome.rewards - outcome.means
    np.testing.assert_allclose(differences, differences[:, :1].repeat(differences.shape[1], 1), atol=1e-12)
    return differences[:, 0]


def rounds(environment):
    """The first rounds of one run, as the simulation loop asks for them."""
    keys = jax.random.split(jax.random.key(SEED), MANY)
    instance, (seen, outcome) = _rounds(environment, keys)
    return instance, jax.tree.map(np.asarray, seen), jax.tree.map(np.asarray, outcome)
