"""Exact draws from a Gaussian tilted by lam * max_a <a, theta>: the reference for every other sampler.

Rejection sampling from one of two envelopes of the target. The mixture proposes an arm i with log-weight
lam <a_i, m> + lam^2 a_i' S a_i / 2, then theta ~ N(m + lam S a_i, S), and accepts iff arm i is the best under theta.
The inflated Gaussian proposes z ~ N(0, (1+e) I) in whitened coordinates and accepts with the probability that the
Lipschitz constant s = max_a ||a||_S of the maximum allows. Both accept with probability (target mass) / (envelope
mass), and the target mass is common: the better envelope is the one with the smaller mass, known beforehand.

Both envelopes stay envelopes if a' S a is replaced by something larger. Where computing it for all arms is most of the
cost, it comes from a product in float32 plus a bound on its rounding error, and the mixture makes up for the difference
by accepting arm i with probability exp(lam^2 (a_i' S a_i - bound) / 2). So draws are exact in any case.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from samplers import _threefry
from samplers._argmax import argmax
from samplers.gaussian import Gaussian, Moments, Tilt

BLOCK = 32  # proposals drawn at a time in low dimensions, where a vector register holds several
BLOCK_HIGH_DIM = 8
LOW_DIM = 16
MAX_PRODUCTS_FLOAT64 = 100_000  # up to arms * dim^2 of this size, a' S a is exact
# The mixture accepts at least one in K proposals on average; beyond this something is not finite.
MAX_BLOCKS = 100_000


class TiltedGaussian(NamedTuple):
    """N(m, S) tilted by exp(lam max_a <a, theta>), in coordinates z with theta = m + W z, S = W W'.

    Attributes:
        mean: m.
        unwhiten: W.
        actions: The vectors a.
        offset: <a, m> for each arm.
        squares: a' S a for each arm, or upper bounds.
        lam: The strength of the tilt.
    """

    mean: Float[Array, " dim"]
    unwhiten: Float[Array, "dim dim"]
    actions: Float[Array, "arms dim"]
    offset: Float[Array, " arms"]
    squares: Float[Array, " arms"]
    lam: Float[Array, ""] | float

    @property
    def arms(self) -> Float[Array, "arms dim"]:
        """Rows a' W, so that <a, theta> = offset + arms @ z."""
        return self.actions @ self.unwhiten


def tilt(
    gaussian: Gaussian, actions: Float[Array, "arms dim"], lam: Float[Array, ""] | float
) -> TiltedGaussian:
    """Returns the Gaussian tilted by exp(lam max_a <a, theta>), whitened."""
    return tilt_moments(gaussian.moments(), Tilt(actions, lam))


def tilt_moments(moments: Moments, factor: Tilt) -> TiltedGaussian:
    """Returns the Gaussian with these moments, tilted and whitened."""
    mean, _, root = moments
    squares = whitened_squares(factor.actions, root)
    return TiltedGaussian(mean, root, factor.actions, factor.actions @ mean, squares, factor.scale)


def whitened_squares(
    actions: Float[Array, "arms dim"], root: Float[Array, "dim dim"]
) -> Float[Array, " arms"]:
    """Returns |W'a|^2 for each arm; where that is expensive, an upper bound from float32.

    A float32 product of length d is off by at most (d + 2) u |a| |w| for each column w, with u = 2^-24, so |W'a| is off
    by (d + 2) u |a| ||W||_F, and its square by a factor 1 + (d + 2) u more (Higham 2002, Section 3.1). The bound takes
    twice that.
    """
    dim = actions.shape[-1]
    if actions.shape[0] * dim**2 <= MAX_PRODUCTS_FLOAT64 or actions.dtype != jnp.float64:
        return jnp.sum((actions @ root) ** 2, axis=-1)
    product = actions.astype(jnp.float32) @ root.astype(jnp.float32)
    error = 2 * (dim + 4) * 2.0**-24
    lengths = jnp.sqrt(jnp.sum(actions**2, axis=-1) * jnp.sum(root**2))
    norms = jnp.sqrt(jnp.sum(product * product, axis=-1)).astype(jnp.float64)
    return ((1 + error) * norms + error * lengths) ** 2


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
    squares = tilted.squares
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
    block = BLOCK if tilted.mean.size <= LOW_DIM else BLOCK_HIGH_DIM
    propose, is_finite = _proposer(tilted, block)

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return (~carry[2]) & (carry[1] < MAX_BLOCKS * block) & is_finite

    def attempt(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        _, num_proposals, _ = carry
        z, accept = propose(_threefry.fold_in(key, num_proposals))
        first = jnp.argmax(accept)
        any_accepted = jnp.any(accept)
        return z[first], num_proposals + jnp.where(any_accepted, first + 1, block), any_accepted

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
        z, accept = propose(_threefry.fold_in(key, num_blocks))
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
        normal_key, choice_key = _threefry.split(key)
        noise = _threefry.normal(normal_key, (block, dim))
        uniform, second = _threefry.uniform(choice_key, (2, block))
        # Proposals are the last axis, along which a CPU vectorises.
        below = cumulative[:, None] <= uniform * cumulative[-1]
        arm = jnp.minimum(jnp.sum(below, axis=0, dtype=jnp.int32), cumulative.size - 1)
        shifts = tilted.actions[arm] @ tilted.unwhiten
        z = jnp.where(use_mixture, noise + tilted.lam * shifts, jnp.sqrt(1 + env.inflation) * noise)
        values = tilted.offset[:, None] + tilted.actions @ (tilted.unwhiten @ z.T)
        squared = jnp.sum(z**2, axis=-1) / 2
        log_accept = (
            tilted.lam * jnp.max(values, axis=0) - squared * env.inflation / (1 + env.inflation) - ceiling
        )
        excess = tilted.squares[arm] - jnp.sum(shifts**2, axis=-1)
        in_mixture = (argmax(values) == arm) & (jnp.log(second) <= -(tilted.lam**2) * excess / 2)
        accept = jnp.where(use_mixture, in_mixture, jnp.log(uniform) < log_accept)
        return z, accept

    return propose, jnp.isfinite(env.mixture)
