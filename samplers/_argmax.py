"""Where the maximum is, by two reductions that a CPU vectorizes; jnp.argmax is one over pairs, which it does not."""

import jax.numpy as jnp
from jax import Array


def argmax(values: Array) -> Array:
    """jnp.argmax over the first axis, of numbers: the first of several that are equal."""
    last = values.shape[0] - 1
    numbers = jnp.arange(last + 1, dtype=jnp.int32).reshape(-1, *[1] * (values.ndim - 1))
    return jnp.min(jnp.where(values == jnp.max(values, axis=0), numbers, last), axis=0)
