"""Curvature and gradients of a round's posterior: how stiff it is, and whether draws lie in its typical set."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from samplers import Dense, Target


def gradient_norm(
    target: Target, position: Float[Array, " size"], draws: Float[Array, "draws size"]
) -> Float[Array, ""]:
    """The mean of g'P^-1 g / dim over draws, with the gradient g of the log-density and the precision P.

    About 1 in the posterior; NaN where no precision is known.

    Args:
        target: The posterior.
        position: Where its precision is evaluated.
        draws: Where its gradient is evaluated.
    """
    if target.precision is None:
        return jnp.asarray(jnp.nan)
    coordinates = Dense().apply(target, position)
    gradient = jax.grad(coordinates.logdensity)
    norms = jax.lax.map(lambda x: jnp.mean(gradient(coordinates.from_target(x)) ** 2), draws)
    return jnp.mean(norms)


def condition_number(target: Target, position: Float[Array, " size"]) -> Float[Array, ""]:
    """The condition number of the precision at a position; NaN where none is known."""
    if target.precision is None:
        return jnp.asarray(jnp.nan)
    eigenvalues = jnp.linalg.eigvalsh(target.precision(position))
    return eigenvalues[-1] / eigenvalues[0]
