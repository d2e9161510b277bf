"""Reward programs: NumPyro programs that sample parameters and return a function from features to mean rewards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import potential_energy

from samplers.settings import InputError

type RewardFunction = Callable[[Array], Array]
type Program = Callable[[], RewardFunction]


@dataclass(frozen=True)
class LinearFunction:
    """features -> features @ coefficients. A program that returns one gets the sufficient-statistics path."""

    coefficients: Array

    def __call__(self, features: Array) -> Array:
        """Mean rewards of the rows of `features`."""
        return features @ self.coefficients


@runtime_checkable
class Reward(Protocol):
    """A reward class. Compared as a whole: another prior is another program."""

    def __hash__(self) -> int: ...

    def program(self, dim: int) -> Program:
        """The NumPyro program for features of the given dimension."""
        ...


class GaussianPrior(NamedTuple):
    """A prior that is Gaussian in the coefficients of a linear reward."""

    mean: np.ndarray
    precision: np.ndarray


@dataclass(frozen=True, eq=False)
class Latent:
    """A program's parameters as one flat unconstrained vector."""

    program: Program
    size: int
    linear: bool  # the program returns a LinearFunction
    gaussian: GaussianPrior | None  # known if the flat vector is the coefficients and its prior is Gaussian
    prior_precision: np.ndarray  # exact if the prior is Gaussian, else a diagonal estimate
    unravel: Callable[[Array], Any]

    def draw(self, key: Array) -> Array:
        """A draw from the prior, unconstrained and flat."""
        _, sites = _run(handlers.seed(self.program, key))
        return ravel_pytree(_unconstrained(sites))[0]

    def constrain(self, position: Array) -> dict[str, Array]:
        """The parameters under their site names, on their own supports."""
        _, sites = _run(handlers.seed(self.program, jax.random.key(0)))
        free = self.unravel(position)
        return {name: biject_to(site["fn"].support)(free[name]) for name, site in sites.items()}

    def function(self, position: Array) -> RewardFunction:
        """The reward function that a flat position stands for."""
        seeded = handlers.seed(self.program, jax.random.key(0))
        return handlers.substitute(seeded, data=self.constrain(position))()

    def logdensity(self, program: Callable[[], Any]) -> Callable[[Array], Array]:
        """The unconstrained log-density of a program over the same parameters, Jacobian included."""
        return lambda position: -potential_energy(program, (), {}, self.unravel(position))


@lru_cache(maxsize=256)
def latent(reward: Reward, dim: int) -> Latent:
    """Looks at a reward program once, outside of any transformation."""
    with jax.ensure_compile_time_eval():
        program = reward.program(dim)
        function, sites = _run(handlers.seed(program, jax.random.key(0)))
        if not sites:
            raise InputError(f"reward {type(reward).__name__} samples no parameters")
        for name, site in sites.items():
            if site["fn"].support.is_discrete:
                raise InputError(
                    f"reward site {name!r} is discrete; samplers here need continuous parameters"
                )
        flat, unravel = ravel_pytree(_unconstrained(sites))
        linear = isinstance(function, LinearFunction)
        bare = Latent(program, flat.size, linear, None, np.eye(flat.size), unravel)
        draws = jax.vmap(bare.draw)(jax.random.split(jax.random.key(1), 256))
        gaussian = _gaussian(bare, draws[:2]) if linear else None
        spread = np.diag(1 / np.var(np.asarray(draws), axis=0))
        return Latent(
            program, flat.size, linear, gaussian, gaussian.precision if gaussian else spread, unravel
        )


def _run(program: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    with handlers.trace() as trace:
        value = program()
    latents = {
        name: site for name, site in trace.items() if site["type"] == "sample" and not site["is_observed"]
    }
    return value, latents


def _unconstrained(sites: Mapping[str, Any]) -> dict[str, Array]:
    return {name: biject_to(site["fn"].support).inv(site["value"]) for name, site in sites.items()}


def _gaussian(model: Latent, points: Array) -> GaussianPrior | None:
    """The prior's moments if the flat vector is the coefficients and the log-prior is quadratic in it."""
    for point in points:
        function = model.function(point)
        assert isinstance(function, LinearFunction)
        theta = function.coefficients
        if theta.shape != point.shape or not np.allclose(theta, point, rtol=1e-12):
            return None
    log_prior = model.logdensity(model.program)
    hessians = [np.asarray(jax.hessian(log_prior)(point)) for point in (jnp.zeros(model.size), *points)]
    if not all(np.allclose(h, hessians[0], rtol=1e-9, atol=1e-12) for h in hessians):
        return None
    precision = -hessians[0]
    slope = np.asarray(jax.grad(log_prior)(jnp.zeros(model.size)))
    return GaussianPrior(np.linalg.solve(precision, slope), precision)
