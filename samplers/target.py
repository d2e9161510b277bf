"""Targets: a log-density on flat real vectors, with the structure that is known of it."""

from collections.abc import Callable
from typing import NamedTuple

import jax
from jax import Array
from jaxtyping import Float

from samplers.gaussian import Gaussian, Moments, Tilt
from samplers.logistic import LogisticFactor


class Target(NamedTuple):
    """A density to draw from. The optional fields are facts, not hints: a wrong one makes draws wrong.

    Attributes:
        logdensity: Log-density up to a constant, temperature included; no kernel has a temperature of its own.
        precision: A positive definite curvature (size, size) near a position, for modes and approximations, and for
            preconditioners and step size rules if there is no `metric`.
        metric: Computes the matrix by which a Markov chain is preconditioned, or its diagonal (size,). It must not
            depend on where the chain is: with a metric taken at the chain's own position a kernel does not leave the
            target invariant. None where `precision` is the same at all positions.
        stiffness: Largest curvature of the log-density over the metric's largest, in the sampler's coordinates.
        logistic: The other factors of the density, if they are those of a logistic regression.
        gaussian: An exactly Gaussian factor of the density; the remaining factor is bounded on compact sets.
        exact: Draws one position exactly.
        minibatch_gradient: (key, position, batch size) -> an unbiased estimate of the gradient.
        exact_draws: (key, number) -> several exact draws (number, size), where that is cheaper than one by one.
        prior: Draws one position from the distribution before any data.
        moments: Computes mean and covariance of `gaussian`, where these are at hand.
        tilt: The other factor of the density, if it has this form: log-density = gaussian + scale max_a <a, x>.
    """

    logdensity: Callable[[Array], Array]
    precision: Callable[[Array], Array] | None = None
    gaussian: Gaussian | None = None
    exact: Callable[[Array], Array] | None = None
    minibatch_gradient: Callable[[Array, Array, int], Array] | None = None
    exact_draws: Callable[[Array, int], Array] | None = None
    prior: Callable[[Array], Array] | None = None
    moments: Callable[[], Moments] | None = None
    tilt: Tilt | None = None
    metric: Callable[[], Array] | None = None
    stiffness: Float[Array, ""] | float = 1.0
    logistic: LogisticFactor | None = None

    def with_local_precision(self) -> "Target":
        """Returns the target without a metric, to be preconditioned by the precision at a given position."""
        return self._replace(metric=None)


def with_gradient(
    function: Callable[[Array], Array], gradient: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    """Attaches an analytic gradient, so that the forward value is not evaluated where only the gradient is needed."""
    differentiable = jax.custom_jvp(function)

    @differentiable.defjvp
    def jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        return function(*primals), gradient(*primals) @ tangents[0]

    return differentiable
