"""Exact draws from the Polya-Gamma distribution PG(1, c), vectorised (Polson, Scott & Windle 2013, after Devroye).

4 PG(1, c) is the exponentially tilted Jacobi variable J*(1, |c|/2). A proposal comes from an inverse Gaussian on (0, T)
or an exponential beyond, and is accepted by an alternating series. Its terms fall like exp(-6 n (n + 1)): after
NUM_TERMS of them the rest is below the rounding of a float64, so no truncation is left to notice.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Bool, Float, Key

T = 0.64  # where the two forms of the series are exchanged
NUM_TERMS = 5


def polya_gamma(key: Key[Array, ""], tilt: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """One draw from PG(1, tilt) for each row.

    Proposals for all rows are drawn together until every row has accepted one; each is accepted with probability 0.4 at
    least.
    """
    z = jnp.abs(tilt) / 2

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return ~jnp.all(carry[1])

    def attempt(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        values, done, key = carry
        key, own = jax.random.split(key)
        proposal, accepted = _propose(own, z)
        return jnp.where(done, values, proposal), done | accepted, key

    start = (jnp.zeros_like(z), jnp.zeros(z.shape, bool), key)
    return jax.lax.while_loop(unfinished, attempt, start)[0] / 4


def _propose(key: Array, z: Float[Array, " rows"]) -> tuple[Float[Array, " rows"], Bool[Array, " rows"]]:
    """A proposal for J*(1, z), and whether it is accepted."""
    side, position, normal, choice, thinning, series = jax.random.split(key, 6)
    rate = jnp.pi**2 / 8 + z**2 / 2
    log_right = jnp.log(jnp.pi / (2 * rate)) - rate * T
    is_wide = z < 1 / T
    tail = ndtr(-1 / jnp.sqrt(T))
    log_left = jnp.where(is_wide, jnp.log(4 * tail), jnp.log(2.0) - z)  # before thinning and truncation
    is_right = jax.random.uniform(side, z.shape, z.dtype) < jax.nn.sigmoid(log_right - log_left)
    uniform = jax.random.uniform(position, z.shape, z.dtype)
    right = T - jnp.log1p(-uniform) / rate
    # Left, mean 1/z above T: 1/chi^2_1 truncated to (0, T), thinned by the tilt.
    wide = 1 / ndtri(uniform * tail) ** 2
    thinned = jax.random.uniform(thinning, z.shape, z.dtype) < jnp.exp(-(z**2) * wide / 2)
    # Left, mean below T: an inverse Gaussian (Michael, Schucany & Haas 1976), thrown away beyond T.
    mean = 1 / jnp.maximum(z, 1 / T)
    square = mean * jax.random.normal(normal, z.shape, z.dtype) ** 2
    root = mean * (1 + square / 2 - jnp.sqrt(square + square**2 / 4))
    is_root = jax.random.uniform(choice, z.shape, z.dtype) <= mean / (mean + root)
    narrow = jnp.where(is_root, root, mean**2 / root)
    left = jnp.where(is_wide, wide, narrow)
    proposal = jnp.where(is_right, right, left)
    in_range = is_right | jnp.where(is_wide, thinned, narrow < T)
    accepted = in_range & (jax.random.uniform(series, z.shape, z.dtype) <= _series(proposal))
    return proposal, accepted


def _series(x: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """sum_n (-1)^n a_n(x) / a_0(x), the probability of acceptance."""
    exponent = jnp.where(x > T, jnp.pi**2 * x / 2, 2 / x)
    terms = [(-1) ** n * (2 * n + 1) * jnp.exp(-n * (n + 1) * exponent) for n in range(NUM_TERMS)]
    return jnp.asarray(sum(terms))
