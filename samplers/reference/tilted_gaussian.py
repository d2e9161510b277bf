"""Exact draws from a Gaussian tilted by lam * max_a <a, theta>: the reference for every other sampler.

Rejection sampling from one of two envelopes of the target. The mixture proposes an arm i with log-weight
lam <a_i, m> + lam^2 a_i' S a_i / 2, then theta ~ N(m + lam S a_i, S), and accepts iff arm i is the best under theta.
The inflated Gaussian proposes z ~ N(0, (1+e) I) in whitened coordinates and accepts with the probability that the
Lipschitz constant s = max_a ||a||_S of the maximum allows. Both accept with probability (target mass) / (envelope
mass), and the target mass is common: the better envelope is the one with the smaller mass, known beforehand.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from samplers._argmax import argmax
from samplers.target import Gaussian

BLOCK = 32  # proposals drawn at a time
# The mixture accepts at least one in K proposals on average; beyond this something is not finite.
MAX_BLOCKS = 100_000


class TiltedGaussian(NamedTuple):
    """N(m, S) tilted by exp(lam max_a <a, theta>), in whitened coordinates z = L'(theta - m), S = (LL')^-1.

    Attributes:
        mean: m.
        unwhiten: L'^-1, so that theta = m + unwhiten @ z.
        arms: Rows a' L'^-1, so that <a, theta> = offset + arms @ z.
        offset: <a, m> for each arm.
        lam: The strength of the tilt.
    """

    mean: Float[Array, " dim"]
    unwhiten: Float[Array, "dim dim"]
    arms: Float[Array, "arms dim"]
    offset: Float[Array, " arms"]
    lam: Float[Array, ""] | float


def tilt(
    gaussian: Gaussian, actions: Float[Array, "arms dim"], lam: Float[Array, ""] | float
) -> TiltedGaussian:
    """Returns the Gaussian tilted by exp(lam max_a <a, theta>), whitened."""
    factor = jnp.linalg.cholesky(gaussian.precision)
    unwhiten = jax.scipy.linalg.solve_triangular(factor, jnp.eye(factor.shape[-1]), lower=True).T
    mean = unwhiten @ (unwhiten.T @ gaussian.shift)
    return TiltedGaussian(mean, unwhiten, actions @ unwhiten, actions @ mean, lam)


class Envelopes(NamedTuple):
    """Log-masses of the two envelopes relative to the Gaussian part.

    Attributes:
        log_weights: Of the mixture's components.
        mixture: Log-mass of the mixture.
        inflated: Log-mass of the inflated Gaussian.
        inflation: Its e.
    """

    log_weights: Float[Array, " arms"]
    mixture: Float[Array, ""]
    inflated: Float[Array, ""]
    inflation: Float[Array, ""]


def envelopes(tilted: TiltedGaussian) -> Envelopes:
    """Returns both envelopes; e minimises (lam s)^2 (1+e)/(2e) + d/2 log(1+e), that is d e^2 = (lam s)^2 (1+e)."""
    squares = jnp.sum(tilted.arms**2, axis=-1)
    log_weights = tilted.lam * tilted.offset + tilted.lam**2 * squares / 2
    dim = tilted.mean.shape[-1]
    pull = jnp.maximum(tilted.lam**2 * jnp.max(squares), 1e-30)
    e = (pull + jnp.sqrt(pull**2 + 4 * dim * pull)) / (2 * dim)
    inflated = tilted.lam * jnp.max(tilted.offset) + pull * (1 + e) / (2 * e) + dim / 2 * jnp.log1p(e)
    return Envelopes(log_weights, jax.nn.logsumexp(log_weights), inflated, e)


def exact_draw(key: Key[Array, ""], tilted: TiltedGaussian) -> Float[Array, " dim"]:
    """Returns one exact draw of theta; NaN, not an endless loop, where the input is not finite."""
    return propose_until_accepted(key, tilted)[0]


def propose_until_accepted(
    key: Key[Array, ""], tilted: TiltedGaussian
) -> tuple[Float[Array, " dim"], Int[Array, ""]]:
    """Returns one exact draw, and the number of proposals up to and including the accepted one."""
    propose, is_finite = _proposer(tilted, BLOCK)

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return (~carry[2]) & (carry[1] < MAX_BLOCKS * BLOCK) & is_finite

    def attempt(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        _, num_proposals, _ = carry
        z, accept = propose(jax.random.fold_in(key, num_proposals))
        first = jnp.argmax(accept)
        any_accepted = jnp.any(accept)
        return z[first], num_proposals + jnp.where(any_accepted, first + 1, BLOCK), any_accepted

    start = (jnp.full(tilted.mean.shape, jnp.nan), jnp.zeros((), int), jnp.zeros((), bool))
    z, num_proposals, accepted = jax.lax.while_loop(unfinished, attempt, start)
    return jnp.where(accepted, tilted.mean + tilted.unwhiten @ z, jnp.nan), num_proposals


def exact_draws(key: Key[Array, ""], tilted: TiltedGaussian, num_draws: int) -> Float[Array, "draws dim"]:
    """Returns several exact draws: the first accepted ones of one stream of proposals."""
    block = max(BLOCK, num_draws)
    propose, is_finite = _proposer(tilted, block)

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        _, num_accepted, num_blocks = carry
        return (num_accepted < num_draws) & (num_blocks < MAX_BLOCKS) & is_finite

    def attempt(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        draws, num_accepted, num_blocks = carry
        z, accept = propose(jax.random.fold_in(key, num_blocks))
        slot = jnp.where(accept, num_accepted + jnp.cumsum(accept) - 1, num_draws)
        return draws.at[slot].set(z, mode="drop"), num_accepted + jnp.sum(accept), num_blocks + 1

    start = (jnp.full((num_draws, tilted.mean.size), jnp.nan), jnp.zeros((), int), jnp.zeros((), int))
    z, *_ = jax.lax.while_loop(unfinished, attempt, start)
    return tilted.mean + z @ tilted.unwhiten.T


def _proposer(tilted: TiltedGaussian, block: int) -> tuple[Callable[[Array], tuple[Array, Array]], Array]:
    """A function that proposes a block of positions and accepts some of them; and whether all input is finite."""
    env = envelopes(tilted)
    use_mixture = env.mixture < env.inflated
    dim = tilted.mean.shape[-1]
    ceiling = env.inflated - dim / 2 * jnp.log1p(env.inflation)
    cumulative = jnp.cumsum(jax.nn.softmax(env.log_weights))

    def propose(key: Array) -> tuple[Array, Array]:
        normal_key, choice_key = jax.random.split(key)
        noise = jax.random.normal(normal_key, (block, dim))
        uniform = jax.random.uniform(choice_key, (block,))
        # Proposals are the last axis, along which a CPU vectorises.
        below = cumulative[:, None] <= uniform * cumulative[-1]
        arm = jnp.minimum(jnp.sum(below, axis=0, dtype=jnp.int32), cumulative.size - 1)
        z = jnp.where(use_mixture, noise + tilted.lam * tilted.arms[arm], jnp.sqrt(1 + env.inflation) * noise)
        values = tilted.offset[:, None] + tilted.arms @ z.T
        squared = jnp.sum(z**2, axis=-1) / 2
        log_accept = (
            tilted.lam * jnp.max(values, axis=0) - squared * env.inflation / (1 + env.inflation) - ceiling
        )
        accept = jnp.where(use_mixture, argmax(values) == arm, jnp.log(uniform) < log_accept)
        return z, accept

    return propose, jnp.isfinite(env.mixture)
