"""Features phi(x, a) of a context and an arm that has no features of its own."""

import jax.numpy as jnp
from jax import Array

from samplers.settings import choice

ENCODINGS = ("disjoint", "joint")


def encoding() -> str:
    """The settings field."""
    made: str = choice(
        default="disjoint",
        options=ENCODINGS,
        doc="phi(x, a): (x, 1) in the arm's own block and zeros elsewhere, K(d+1) numbers (disjoint, for linear "
        "rewards), or x and which arm it is, d+K numbers (joint, for networks)",
    )
    return made


def encoded_size(size: int, arms: int, kind: str) -> int:
    """How many numbers phi(x, a) has for a context of so many."""
    return arms * (size + 1) if kind == "disjoint" else size + arms


def encoded(context: Array, arms: int, kind: str) -> Array:
    """phi(x, a) for every arm."""
    if kind == "disjoint":
        return jnp.kron(jnp.eye(arms), jnp.append(context, 1.0))
    return jnp.concatenate([jnp.broadcast_to(context, (arms, context.size)), jnp.eye(arms)], axis=1)
