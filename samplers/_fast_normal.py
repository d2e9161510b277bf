"""Standard normal numbers with the accuracy of float32, several times faster on a CPU than those of jax.random.

JAX keeps Threefry rolled up on a CPU, uses one word of its two, and inverts the normal distribution in float64. Here
the rounds are unrolled, both words are used, and the inverse is computed in float32: a sign and 31 bits give a number
that is within 1e-6 (relative) of the exact quantile, up to 6.3 standard deviations. Barriers keep the compiler from
drawing a number again wherever it is used.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key, UInt32

from samplers._threefry import is_supported, threefry

SIGN, MAGNITUDE = np.uint32(0x80000000), np.uint32(0x7FFFFFFF)
# The quantile is sqrt(w) h(w) with w = -log(1 - x^2), where x is the probability of a smaller absolute value. h is
# smooth: these are its coefficients in (w - CENTRE) / (w + CENTRE), a Chebyshev fit with relative error 7.4e-8.
CENTRE = np.float32(8.0)
COEFFICIENTS = (
    1.3304962, 0.083697773, -0.0065419104, -0.0066967616, 0.012782266,
    8.9137023e-05, -0.0090683825, 0.0021889718, 0.0077435871, 0.0028185123,
)  # fmt: skip
SERIES_BELOW = np.float32(0.2)  # here x^2 is so small that w comes from its power series


def normal(key: Key[Array, ""], shape: Sequence[int]) -> Float[Array, "*shape"]:
    """Returns standard normal numbers, with as many of Threefry's words as there are numbers."""
    size = int(np.prod(shape))
    if not is_supported(key):
        return jax.random.normal(key, tuple(shape))
    first, second = jax.random.key_data(key)
    counts = jnp.arange((size + 1) // 2, dtype=jnp.uint32)
    words = _words(first, second, counts)
    return _quantiles(jnp.concatenate(words)[:size]).reshape(shape)


def normal_rows(key: Key[Array, ""], indices: Int[Array, " steps"], dim: int) -> Float[Array, "steps dim"]:
    """Returns normal(jax.random.fold_in(key, index), (dim,)) for each index, all in one loop."""
    if not is_supported(key):
        return jax.vmap(lambda index: normal(jax.random.fold_in(key, index), (dim,)))(indices)
    first, second = jax.random.key_data(key)
    numbers, half = indices.astype(jnp.uint32), (dim + 1) // 2
    folded = threefry(first, second, jnp.zeros_like(numbers), numbers)  # what fold_in makes of the key
    first, second = jax.lax.optimization_barrier([jnp.repeat(word, half) for word in folded])
    counts = jnp.tile(jnp.arange(half, dtype=jnp.uint32), indices.size)
    # All numbers of a call in one row: a loop over rows of five fills no vector register.
    quantiles = [_quantiles(word).reshape(indices.size, half) for word in _words(first, second, counts)]
    return jnp.concatenate(quantiles, axis=1)[:, :dim]


def _words(first: Array, second: Array, counts: Array) -> list[Array]:
    return jax.lax.optimization_barrier(list(threefry(first, second, jnp.zeros_like(counts), counts)))


def _quantiles(words: UInt32[Array, " numbers"]) -> Float[Array, " numbers"]:
    """Standard normal numbers from random bits: the first is the sign, the others the tail probability."""
    sign, tail = words & SIGN, words & MAGNITUDE
    p, x = (
        _fraction(bits) for bits in (tail, tail ^ MAGNITUDE)
    )  # x = 1 - p, and both are accurate where small
    squared = x * x
    series = jnp.float32(1 / 6)
    for k in (5, 4, 3, 2, 1):
        series = series * squared + np.float32(1 / k)
    w = jnp.where(x < SERIES_BELOW, squared * series, -jnp.log(p * (1 + x)))
    variable = (w - CENTRE) / (w + CENTRE)
    h = jnp.full_like(variable, COEFFICIENTS[-1])
    for coefficient in COEFFICIENTS[-2::-1]:
        h = h * variable + np.float32(coefficient)
    magnitude = jax.lax.bitcast_convert_type(jnp.sqrt(w) * h, jnp.uint32)
    number = jax.lax.bitcast_convert_type(magnitude | sign, jnp.float32)
    return jax.lax.optimization_barrier(number).astype(jnp.result_type(float))


def _fraction(bits: Array) -> Array:
    """Numbers in (0, 1) from 31 bits."""
    return (bits.astype(jnp.int32).astype(jnp.float32) + np.float32(0.5)) * np.float32(2**-31)
