"""Modes of a target."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from samplers.adaptation.preconditioning import Dense, Preconditioned
from samplers.target import Target


def ascend(
    preconditioned: Preconditioned, start: Float[Array, " size"], num_iterations: int
) -> Float[Array, " size"]:
    """Returns the end of a gradient ascent with backtracking, which never goes downhill.

    In whitened coordinates these are (Gauss-)Newton steps. A step that fails is tried again at half its length. Costs
    num_iterations + 1 gradients.
    """
    value_and_gradient = jax.value_and_grad(preconditioned.logdensity)

    def attempt(carry: tuple[Array, Array, Array, Array], _: None) -> tuple[Any, None]:
        position, value, gradient, length = carry
        proposal = position + length * gradient
        proposal_value, proposal_gradient = value_and_gradient(proposal)
        better = proposal_value > value
        position, value, gradient = jax.tree.map(
            lambda new, old: jnp.where(better, new, old),
            (proposal, proposal_value, proposal_gradient),
            (position, value, gradient),
        )
        length = jnp.where(better, jnp.minimum(2 * length, 1.0), length / 2)
        return (position, value, gradient, length), None

    first = (start, *value_and_gradient(start), jnp.ones((), start.dtype))
    return jax.lax.scan(attempt, first, length=num_iterations)[0][0]


def find_mode(target: Target, start: Float[Array, " size"], num_iterations: int) -> Float[Array, " size"]:
    """Returns a mode of the target near a position if the target knows its precision, else the position.

    Args:
        target: The target.
        start: Where the ascent starts and where the precision is evaluated.
        num_iterations: Number of (Gauss-)Newton steps; they cost num_iterations + 1 gradients.
    """
    if target.precision is None:
        return start
    preconditioned = Dense().apply(target.with_local_precision(), start)
    return preconditioned.to_target(ascend(preconditioned, preconditioned.from_target(start), num_iterations))
