"""Threefry-2x32 written out: the same keys and float64 numbers as those of jax.random.

On a CPU, JAX keeps the rounds of Threefry in a loop, which compiles quickly and runs slowly: in a simulation that plays
one run at a time, the loops of a round's keys would cost as much as its products of matrices.
"""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.extend.random import define_prng_impl
from jaxtyping import Bool, Float, Int, Key, UInt32

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)
ONE = np.uint64(0x3FF0000000000000)  # the bits of 1.0, to which 52 random ones are added


def threefry(
    key0: UInt32[Array, "*keys"],
    key1: UInt32[Array, "*keys"],
    count0: UInt32[Array, "*counts"],
    count1: UInt32[Array, "*counts"],
) -> tuple[UInt32[Array, "*counts"], UInt32[Array, "*counts"]]:
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


def is_supported(key: Key[Array, "*keys"]) -> bool:
    """Whether a key is of the kind that this module is written for."""
    return str(key.dtype) == "key<fry>" and bool(jax.config.jax_threefry_partitionable)


def fold_in(key: Key[Array, ""], number: Int[Array, "*numbers"] | int) -> Key[Array, "*numbers"]:
    """Returns jax.random.fold_in(key, number), for each of several numbers."""
    counts = jnp.asarray(number).astype(jnp.uint32)
    if not is_supported(key):
        folded: Array = jnp.vectorize(lambda count: jax.random.fold_in(key, count))(counts)
        return folded
    first, second = jax.random.key_data(key)
    words = threefry(first, second, jnp.zeros_like(counts), counts)
    return jax.random.wrap_key_data(jnp.stack(words, axis=-1))


def split(key: Key[Array, ""], number: int = 2) -> tuple[Key[Array, ""], ...]:
    """Returns the keys of jax.random.split(key, number)."""
    if not is_supported(key):
        return tuple(jax.random.split(key, number))
    return tuple(fold_in(key, index) for index in range(number))


def uniform(
    key: Key[Array, ""], shape: Sequence[int] = (), minval: float = 0.0, maxval: float = 1.0
) -> Float[Array, "*shape"]:
    """Returns jax.random.uniform(key, shape, minval=minval, maxval=maxval)."""
    if not (is_supported(key) and jnp.result_type(float) == np.float64):
        return jax.random.uniform(key, tuple(shape), minval=minval, maxval=maxval)
    counts = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    first, second = jax.random.key_data(key)
    fraction = _to_unit(*threefry(first, second, jnp.zeros_like(counts), counts))
    return jnp.maximum(minval, fraction * (maxval - minval) + minval)


def uniform_at(key: Key[Array, ""], first: Int[Array, ""], second: Int[Array, ""]) -> Float[Array, ""]:
    """Returns the uniform number of a key at a pair of counters: a table of numbers, of which few are looked up."""
    if not (is_supported(key) and jnp.result_type(float) == np.float64):
        return jax.random.uniform(jax.random.fold_in(jax.random.fold_in(key, first), second))
    words = jax.random.key_data(key)
    return _to_unit(*threefry(words[0], words[1], first.astype(jnp.uint32), second.astype(jnp.uint32)))


def bernoulli_and_uniform_at(
    key: Key[Array, ""], first: Int[Array, ""], second: Int[Array, ""]
) -> tuple[Bool[Array, ""], Float[Array, ""]]:
    """Returns a fair coin beside `uniform_at`, from a bit that the uniform number does not use."""
    if not (is_supported(key) and jnp.result_type(float) == np.float64):
        here = jax.random.fold_in(jax.random.fold_in(key, first), second)
        return jax.random.bernoulli(jax.random.fold_in(here, 0)), jax.random.uniform(here)
    words = jax.random.key_data(key)
    high, low = threefry(words[0], words[1], first.astype(jnp.uint32), second.astype(jnp.uint32))
    return (low & np.uint32(1)) == 0, _to_unit(high, low)


def _to_unit(high: UInt32[Array, "*shape"], low: UInt32[Array, "*shape"]) -> Float[Array, "*shape"]:
    """A number in [0, 1) from two words."""
    bits = (high.astype(jnp.uint64) << np.uint64(32)) | low.astype(jnp.uint64)
    return jax.lax.bitcast_convert_type((bits >> np.uint64(12)) | ONE, jnp.float64) - 1.0


def normal(key: Key[Array, ""], shape: Sequence[int] = ()) -> Float[Array, "*shape"]:
    """Returns jax.random.normal(key, shape)."""
    if not (is_supported(key) and jnp.result_type(float) == np.float64):
        return jax.random.normal(key, tuple(shape))
    lowest = float(np.nextafter(-1.0, 0.0))
    return math.sqrt(2) * jax.lax.erf_inv(uniform(key, shape, lowest))


def _split_words(words: UInt32[Array, "2"], shape: tuple[int, ...]) -> UInt32[Array, "*shape 2"]:
    counts = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    return jnp.stack(threefry(words[0], words[1], jnp.zeros_like(counts), counts), axis=-1)


def _random_bits(words: UInt32[Array, "2"], bit_width: int, shape: tuple[int, ...]) -> Array:
    counts = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    high, low = threefry(words[0], words[1], jnp.zeros_like(counts), counts)
    if bit_width == 64:
        return (high.astype(jnp.uint64) << np.uint64(32)) | low.astype(jnp.uint64)
    return (high ^ low).astype(f"uint{bit_width}")


def _fold_in_words(words: UInt32[Array, "2"], number: UInt32[Array, ""] | int) -> UInt32[Array, "2"]:
    count = jnp.asarray(number, jnp.uint32)
    return jnp.stack(threefry(words[0], words[1], jnp.zeros_like(count), count))


UNROLLED = define_prng_impl(
    key_shape=(2,),
    seed=lambda seed: jax.random.key_data(jax.random.key(seed, impl="threefry2x32")),
    split=_split_words,
    random_bits=_random_bits,
    fold_in=_fold_in_words,
    name="threefry2x32_unrolled",
    tag="fry_unrolled",
)


def unrolled(key: Key[Array, "*keys"]) -> Key[Array, "*keys"]:
    """Returns a key from which jax.random makes the same numbers, in code without loops: for the code of others."""
    if not is_supported(key):
        return key
    return jax.random.wrap_key_data(jax.random.key_data(key), impl=UNROLLED)
