"""Features phi(x, a) of a context x and an arm a that has no features of its own."""

from typing import Any

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from samplers.settings import choice

ENCODINGS = ("disjoint", "joint")


def encoding_field() -> Any:
    """The settings field `encoding` of environments with contexts."""
    return choice(
        default="disjoint",
        options=ENCODINGS,
        doc="phi(x, a): (x, 1) in the arm's own block and zeros elsewhere, K(d+1) features (disjoint, for linear "
        "rewards), or x and the one-hot arm, d+K features (joint, for networks)",
    )


def encoded_dim(context_dim: int, arms: int, encoding: str) -> int:
    """Number of features of phi(x, a)."""
    return arms * (context_dim + 1) if encoding == "disjoint" else context_dim + arms


def encode(context: Float[Array, " context_dim"], arms: int, encoding: str) -> Float[Array, "arms dim"]:
    """Features phi(x, a) of every arm.

    Args:
        context: The context x.
        arms: Number of arms K.
        encoding: `disjoint` for e_a kron (x, 1), a linear model per arm; `joint` for (x, e_a).

    Returns:
        One row per arm, of `encoded_dim` features.
    """
    if encoding == "disjoint":
        return jnp.kron(jnp.eye(arms), jnp.append(context, 1.0))
    return jnp.concatenate([jnp.broadcast_to(context, (arms, context.size)), jnp.eye(arms)], axis=1)
