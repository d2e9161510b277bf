"""Activations of hidden units, by the names that settings use."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "leaky_relu": jax.nn.leaky_relu,
    "softplus": jax.nn.softplus,
}
