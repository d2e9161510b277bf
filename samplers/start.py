"""Where a chain starts on a new target: at its last position, unless that is far outside the typical set."""

import math

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from samplers.adaptation.preconditioning import Preconditioned

FAR = 30.0  # times the bound on a Gaussian target's squared gradient, for targets that are not Gaussian
MAX_ASCENT_STEPS = 20


def _bound(preconditioned: Preconditioned) -> Float[Array, ""]:
    """The length that a gradient under a Gaussian target exceeds with probability 1e-5 at most."""
    return (math.sqrt(preconditioned.dim) + 5) * preconditioned.root_curvature


def move_to_typical_set(
    preconditioned: Preconditioned, position: Float[Array, " size"]
) -> Float[Array, " size"]:
    """Returns the position, or a gradient step from it if it is far outside the typical set.

    A noiseless datum can leave the last draw a hundred standard deviations out. A gradient longer than
    (sqrt(dim) + 5) sqrt(curvature) has probability 1e-5 at most under a Gaussian target, so a position in the typical
    set stays as it is.
    """
    gradient = jax.grad(preconditioned.logdensity)(position)
    is_far = jnp.linalg.norm(gradient) > _bound(preconditioned)
    return jnp.where(is_far, position + gradient / preconditioned.curvature, position)


def ascend_from_far(
    preconditioned: Preconditioned, position: Float[Array, " size"]
) -> tuple[Float[Array, " size"], Int[Array, ""]]:
    """Returns the position, or the end of an ascent from it if it is far outside the typical set; and its gradients.

    For targets that are not Gaussian. A position is far where the squared norm of the gradient is more than FAR times
    what a Gaussian target allows. In the typical set that has negligible probability, so chains which are there already
    keep the target invariant. The ascent takes gradient steps in preconditioned coordinates, (Gauss-)Newton steps in
    whitened ones. It keeps steps that go uphill, halves those that do not, and ends where the position is no longer
    far, or after MAX_ASCENT_STEPS attempts.
    """
    value_and_gradient = jax.value_and_grad(preconditioned.logdensity)
    bound = FAR * jnp.square(_bound(preconditioned))

    def is_far(carry: tuple[Array, Array, Array, Array, Array]) -> Array:
        _, _, gradient, _, attempts = carry
        return ~(jnp.sum(gradient**2) <= bound) & (attempts < MAX_ASCENT_STEPS)

    def attempt(carry: tuple[Array, Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array, Array]:
        position, value, gradient, length, attempts = carry
        proposal = position + length * gradient
        proposal_value, proposal_gradient = value_and_gradient(proposal)
        better = (proposal_value > value) & jnp.all(jnp.isfinite(proposal_gradient))
        position, value, gradient = jax.tree.map(
            lambda new, old: jnp.where(better, new, old),
            (proposal, proposal_value, proposal_gradient),
            (position, value, gradient),
        )
        return position, value, gradient, jnp.where(better, 2 * length, length / 4), attempts + 1

    value, gradient = value_and_gradient(position)
    length = jnp.asarray(1 / preconditioned.curvature, position.dtype)
    first = position, value, gradient, length, jnp.zeros((), int)
    end = jax.lax.while_loop(is_far, attempt, first)
    return end[0], end[4] + 1
