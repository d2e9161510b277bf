"""A summary of a round's context, computed from the features of its arms: models of the variance depend on it."""

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

TINY = 1e-9  # a mean shorter than this has no direction


def context(actions: Float[Array, "*batch arms dim"]) -> Float[Array, "*batch dim"]:
    """The direction of the mean of the arms' features, scaled to length sqrt(d); zero if the mean is zero."""
    mean = jnp.mean(actions, axis=-2)
    size = jnp.linalg.norm(mean, axis=-1, keepdims=True)
    scaled: Array = jnp.sqrt(actions.shape[-1]) * jnp.where(size > TINY, mean / jnp.maximum(size, TINY), 0.0)
    return scaled
