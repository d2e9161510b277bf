"""Reference draws from a round's posterior: exact draws, or long NUTS chains that must pass a gate."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.diagnostics.mixing import mixing
from samplers import NUTS, Target
from samplers.base import Start

NUM_CHAINS, NUM_DRAWS = 4, 1000  # of a reference by NUTS
THINNING = 3

MAX_RHAT = 1.01  # Vehtari et al. (2021), and the gate of posteriordb
MIN_ESS = 400.0  # Vehtari et al. (2021): 100 per chain


class Reference(NamedTuple):
    """Draws from a posterior that the sampler under test is compared with.

    Attributes:
        position: Exact draws (draws, size), or chains (chains, draws, size) that must pass the gate.
        num_divergent: Divergent transitions of the chains after warm-up; 0 for exact draws.
    """

    position: Float[Array, "draws size"] | Float[Array, "chains draws size"]
    num_divergent: Int[Array, ""]


def draw_reference(key: Key[Array, ""], target: Target, prior: Start, num_draws: int) -> Reference:
    """Draws exactly where the target knows how to, else runs NUTS.

    Args:
        key: Source of all randomness.
        target: The posterior of the round.
        prior: Draws a position from the prior. Every chain starts at its own draw: chains from one point could agree on
            one mode of several.
        num_draws: Number of exact draws. NUTS keeps 4 chains of 1000 draws after a warm-up of 1000, thinned by 3.

    Returns:
        The draws, and the number of divergences.
    """
    if target.exact_draws is not None:
        return Reference(target.exact_draws(key, num_draws), jnp.zeros((), int))
    if target.exact is not None:
        return Reference(jax.vmap(target.exact)(jax.random.split(key, num_draws)), jnp.zeros((), int))
    nuts = NUTS()

    def chain(key: Array) -> tuple[Array, Array]:
        start_key, key = jax.random.split(key)
        start = nuts.init(start_key, prior)
        draws = nuts.trace(key, target, start, NUM_DRAWS * THINNING + NUM_DRAWS)
        return draws.position[NUM_DRAWS::THINNING], jnp.sum(draws.num_divergent[NUM_DRAWS:])

    position, num_divergent = jax.lax.map(chain, jax.random.split(key, NUM_CHAINS))
    return Reference(position, jnp.sum(num_divergent))


def rejection_reason(chains: Float[np.ndarray, "chains draws size"], num_divergent: int) -> str:
    """The gate of a reference by MCMC: R-hat below 1.01, ESS above 400 in bulk and tails, and no divergence.

    Args:
        chains: Positions; every coordinate must pass.
        num_divergent: Number of divergent transitions.

    Returns:
        Why the chains are no reference; empty if they pass.
    """
    rhat, ess_bulk, ess_tail, _, _ = mixing(chains)
    ess = min(ess_bulk, ess_tail)
    if not rhat < MAX_RHAT:
        return f"R-hat {rhat:.3f} of the reference is not below {MAX_RHAT}"
    if not ess > MIN_ESS:
        return f"effective sample size {ess:.0f} of the reference is not above {MIN_ESS:.0f}"
    if num_divergent:
        return f"{num_divergent} transitions of the reference diverged"
    return ""
