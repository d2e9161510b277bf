"""Reference draws from a round's posterior: exact draws, or long NUTS chains that must pass a gate."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.diagnostics.mixing import mixing
from samplers import NUTS, SamplerState, Target
from samplers.adaptation.step_size import Automatic
from samplers.base import Start

NUM_CHAINS, NUM_DRAWS = 4, 1000  # of a reference by NUTS
NUM_WARM_UP = 300  # draws of a chain that are discarded; they tune its step size
THINNING = 3  # transitions per draw
ACCEPTANCE_RATE = (
    0.98  # steps short enough that networks have no divergences; at the usual 0.8 they have some
)

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
        num_draws: Number of exact draws. NUTS keeps 4 chains of 1000 draws, each after 3 transitions; a warm-up of 300
            draws tunes the step size, which then stays fixed.

    Returns:
        The draws, and the number of divergences.
    """
    if target.exact_draws is not None:
        return Reference(target.exact_draws(key, num_draws), jnp.zeros((), int))
    if target.exact is not None:
        return Reference(jax.vmap(target.exact)(jax.random.split(key, num_draws)), jnp.zeros((), int))
    if target.metric is not None:
        metric = target.metric()  # once, not in every draw
        target = target._replace(metric=lambda: metric)
    nuts = NUTS(num_steps=THINNING, adaptation=Automatic(target_acceptance_rate=ACCEPTANCE_RATE))
    adapting = jnp.arange(NUM_WARM_UP + NUM_DRAWS) < NUM_WARM_UP

    def draw(state: SamplerState, row: tuple[Array, Array]) -> tuple[SamplerState, tuple[Array, Array]]:
        key, adapting = row
        after, drawn = nuts.sample(key, target, state)
        carry = jax.tree.map(lambda new, old: jnp.where(adapting, new, old), after.carry, state.carry)
        return after._replace(carry=carry), (drawn.position, jnp.asarray(drawn.num_divergent))

    def chain(key: Array) -> tuple[Array, Array]:
        start_key, key = jax.random.split(key)
        start = nuts.init(start_key, prior)
        position, num_divergent = jax.lax.scan(draw, start, (jax.random.split(key, adapting.size), adapting))[
            1
        ]
        return position[NUM_WARM_UP:], jnp.sum(num_divergent[NUM_WARM_UP:])

    position, num_divergent = jax.lax.map(chain, jax.random.split(key, NUM_CHAINS))
    return Reference(position, jnp.sum(num_divergent))


def rejection_reason(chains: Float[np.ndarray, "chains draws size"], num_divergent: int) -> str:
    """The gate of a reference by MCMC: R-hat below 1.01, ESS above 400 in bulk and tails, and no divergence.

    Args:
        chains: What must mix; every coordinate must pass. Parameters where they are identified. A network's weights are
            not (hidden units can be permuted and change their signs), and no chain visits all of these copies: there
            it is the mean rewards of the round's arms, which decide the action, and the log-density.
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
