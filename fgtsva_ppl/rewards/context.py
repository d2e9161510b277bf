"""What a round is like, told from its arms' features alone: models of the variance look at this."""

import jax.numpy as jnp
from jax import Array


def context(actions: Array) -> Array:
    """The direction of the mean of the arms' features, of length sqrt(d); zero where they balance each other."""
    mean = jnp.mean(actions, axis=-2)
    size = jnp.linalg.norm(mean, axis=-1, keepdims=True)
    scaled: Array = jnp.sqrt(actions.shape[-1]) * jnp.where(size > TINY, mean / jnp.maximum(size, TINY), 0.0)
    return scaled


TINY = 1e-9
