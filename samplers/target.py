"""What is to be sampled: a log-density on flat real vectors, with whatever structure is known of it."""

from collections.abc import Callable
from typing import NamedTuple

import jax
from jax import Array


class Gaussian(NamedTuple):
    """A normal law in information form: log-density -x'Px/2 + b'x up to a constant."""

    precision: Array
    shift: Array


class Target(NamedTuple):
    """A density to draw from. The optional fields are facts, never hints: a wrong one makes draws wrong.

    `logdensity` carries the temperature; no kernel has one of its own.
    `precision` gives a positive definite curvature near a position, for whitening and step rules.
    `gaussian` is an exactly Gaussian factor of the density; what remains is bounded on compact sets.
    `exact` draws one position exactly from the density; `exact_draws` several, where that is cheaper together.
    `minibatch_gradient` estimates the gradient from m data: (key, position, m) -> unbiased gradient.
    `prior` draws one position from the law before any data.
    """

    logdensity: Callable[[Array], Array]
    precision: Callable[[Array], Array] | None = None
    gaussian: Gaussian | None = None
    exact: Callable[[Array], Array] | None = None
    minibatch_gradient: Callable[[Array, Array, int], Array] | None = None
    exact_draws: Callable[[Array, int], Array] | None = None
    prior: Callable[[Array], Array] | None = None


def with_gradient(
    function: Callable[[Array], Array], gradient: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    """The same function, with a formula for its gradient: whoever asks for that alone is spared the function."""
    known = jax.custom_jvp(function)

    @known.defjvp
    def along(at: tuple[Array], direction: tuple[Array]) -> tuple[Array, Array]:
        return function(*at), gradient(*at) @ direction[0]

    return known
