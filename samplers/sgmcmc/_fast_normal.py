"""Standard normals for many steps at once: the numbers of jax.random, from loops that a CPU runs faster.

JAX keeps Threefry rolled up on a CPU, which compiles quickly and runs slowly. Here its rounds are unrolled, and
barriers keep the compiler from drawing a number again wherever it is used. All numbers of a call are in one row: a loop
over rows of five fills no vector register.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key, UInt32

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)
ONE = np.uint64(0x3FF0000000000000)  # the bits of 1.0, to which 52 random ones are added
LOWEST = np.nextafter(-1.0, 0.0)


def normal_rows(key: Key[Array, ""], indices: Int[Array, " steps"], dim: int) -> Float[Array, "steps dim"]:
    """Returns jax.random.normal(jax.random.fold_in(key, index), (dim,)) for each index, to the last bit or nearly."""
    if not _is_supported(key):
        return jax.vmap(lambda index: jax.random.normal(jax.random.fold_in(key, index), (dim,)))(indices)
    uniform = jax.lax.optimization_barrier(_uniform(key, indices.astype(jnp.uint32), dim))
    normal = jax.lax.optimization_barrier(math.sqrt(2) * jax.lax.erf_inv(uniform))
    return normal.reshape(indices.size, dim)


def _is_supported(key: Array) -> bool:
    """Whether keys and numbers are those that the code below is written for."""
    double = jnp.result_type(float) == np.float64
    return double and str(key.dtype) == "key<fry>" and bool(jax.config.jax_threefry_partitionable)


def _uniform(key: Array, indices: Array, dim: int) -> Array:
    """Numbers between -1 and 1, one index's row after the other."""
    first, second = jax.random.key_data(key)
    folded = threefry(first, second, jnp.zeros_like(indices), indices)  # what fold_in makes of the key
    first, second = jax.lax.optimization_barrier([jnp.repeat(word, dim) for word in folded])
    counts = jnp.tile(jnp.arange(dim, dtype=jnp.uint32), indices.size)
    high, low = threefry(first, second, jnp.zeros_like(counts), counts)
    bits = (high.astype(jnp.uint64) << np.uint64(32)) | low.astype(jnp.uint64)
    fraction = jax.lax.bitcast_convert_type((bits >> np.uint64(12)) | ONE, jnp.float64) - 1.0
    return jnp.maximum(LOWEST, fraction * (1.0 - LOWEST) + LOWEST)


def threefry(
    key0: UInt32[Array, "*keys"],
    key1: UInt32[Array, "*keys"],
    count0: UInt32[Array, " counts"],
    count1: UInt32[Array, " counts"],
) -> tuple[UInt32[Array, " counts"], UInt32[Array, " counts"]]:
    """Returns the two words of Threefry-2x32 with 20 rounds (Salmon et al. 2011): a counter, scrambled by a key."""
    keys = key0, key1, key0 ^ key1 ^ PARITY
    x, y = count0 + keys[0], count1 + keys[1]
    for block in range(5):
        for distance in ROTATIONS[block % 2]:
            x = x + y
            y = ((y << np.uint32(distance)) | (y >> np.uint32(32 - distance))) ^ x
        x = x + keys[(block + 1) % 3]
        y = y + keys[(block + 2) % 3] + np.uint32(block + 1)
    return x, y
