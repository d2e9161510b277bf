"""Standard normals for many steps at once: the numbers of jax.random, from loops that a CPU is faster at.

JAX keeps Threefry rolled up on a CPU, which compiles quickly and runs slowly. Here its rounds are written out, and
barriers keep the compiler from drawing a number again wherever it is used. All numbers of a call stand in one line:
a loop over rows of five fills no vector register.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)
ONE = np.uint64(0x3FF0000000000000)  # the bits of 1.0, to which 52 random ones are added
LEAST = np.nextafter(-1.0, 0.0)


def normal_rows(key: Array, indices: Array, dim: int) -> Array:
    """For each index what jax.random.normal(jax.random.fold_in(key, index), (dim,)) is, to the last bit or nearly."""
    if not _known(key):
        return jax.vmap(lambda index: jax.random.normal(jax.random.fold_in(key, index), (dim,)))(indices)
    uniform = jax.lax.optimization_barrier(_uniform(key, indices.astype(jnp.uint32), dim))
    normal = jax.lax.optimization_barrier(math.sqrt(2) * jax.lax.erf_inv(uniform))
    return normal.reshape(indices.size, dim)


def _known(key: Array) -> bool:
    """Whether these are the keys and the numbers that the code below is written for."""
    double = jnp.result_type(float) == np.float64
    return double and str(key.dtype) == "key<fry>" and bool(jax.config.jax_threefry_partitionable)


def _uniform(key: Array, indices: Array, dim: int) -> Array:
    """Between -1 and 1, the row of each index after that of the one before."""
    first, second = jax.random.key_data(key)
    folded = threefry(first, second, jnp.zeros_like(indices), indices)  # what fold_in makes of the key
    first, second = jax.lax.optimization_barrier([jnp.repeat(word, dim) for word in folded])
    counts = jnp.tile(jnp.arange(dim, dtype=jnp.uint32), indices.size)
    high, low = threefry(first, second, jnp.zeros_like(counts), counts)
    bits = (high.astype(jnp.uint64) << np.uint64(32)) | low.astype(jnp.uint64)
    fraction = jax.lax.bitcast_convert_type((bits >> np.uint64(12)) | ONE, jnp.float64) - 1.0
    return jnp.maximum(LEAST, fraction * (1.0 - LEAST) + LEAST)


def threefry(key0: Array, key1: Array, count0: Array, count1: Array) -> tuple[Array, Array]:
    """Threefry-2x32 with 20 rounds (Salmon et al., 2011): a counter, scrambled by a key."""
    keys = key0, key1, key0 ^ key1 ^ PARITY
    x, y = count0 + keys[0], count1 + keys[1]
    for block in range(5):
        for distance in ROTATIONS[block % 2]:
            x = x + y
            y = ((y << np.uint32(distance)) | (y >> np.uint32(32 - distance))) ^ x
        x = x + keys[(block + 1) % 3]
        y = y + keys[(block + 2) % 3] + np.uint32(block + 1)
    return x, y
