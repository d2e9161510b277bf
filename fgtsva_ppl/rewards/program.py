"""Reward programs: NumPyro programs that sample parameters and return a function from features to mean rewards."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
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
    """A prior that is Gaussian in the flat vector of parameters."""

    mean: np.ndarray
    precision: np.ndarray


@dataclass(frozen=True, eq=False)
class Latent:
    """A program's parameters as one flat unconstrained vector."""

    program: Program
    size: int
    linear: bool  # the program returns a LinearFunction
    prior: GaussianPrior | None  # known if it is Gaussian
    gaussian: GaussianPrior | None  # the same, if the flat vector is the coefficients of a linear function
    prior_precision: np.ndarray  # exact if the prior is Gaussian, else a diagonal estimate
    unravel: Callable[[Array], Any]

    def draw(self, key: Array) -> Array:
        """A draw from the prior, unconstrained and flat."""
        _, sites = _run(handlers.seed(self.program, key))
        return ravel_pytree(_unconstrained(sites))[0]

    def constrain(self, position: Array) -> dict[str, Array]:
        """The parameters under their site names, on their own supports."""
        _, sites = self._placed(position)
        return {name: site["value"] for name, site in sites.items()}

    def function(self, position: Array) -> RewardFunction:
        """The reward function that a flat position stands for."""
        return self._placed(position)[0]

    def _placed(self, position: Array) -> tuple[RewardFunction, dict[str, Any]]:
        """The program run at a position, site after site: a support may depend on the sites before it."""
        free = self.unravel(position)

        def place(site: dict[str, Any]) -> Array | None:
            known = site["type"] == "sample" and site["name"] in free
            return biject_to(site["fn"].support)(free[site["name"]]) if known else None

        seeded = handlers.seed(self.program, jax.random.key(0))
        return _run(handlers.substitute(seeded, substitute_fn=place))

    def logdensity(self, program: Callable[[], Any]) -> Callable[[Array], Array]:
        """The unconstrained log-density of a program over the same parameters, Jacobian included."""
        return lambda position: -potential_energy(program, (), {}, self.unravel(position))


@lru_cache(maxsize=256)
def latent(reward: Reward, dim: int) -> Latent:
    """Looks at a reward program once, outside of any transformation: those belong to the thread they are made in."""
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(_looked_at, reward, dim).result()


def _looked_at(reward: Reward, dim: int) -> Latent:
    bare = _abstract(type(reward).__name__, reward.program(dim))
    look = _look(bare)
    prior = _gaussian(look)
    at_draws = look.coefficients
    is_coefficients = (
        at_draws is not None
        and at_draws.shape == look.draws.shape
        and np.allclose(at_draws, look.draws, rtol=1e-12)
    )
    spread = np.diag(1 / np.var(look.draws, axis=0))
    return replace(
        bare,
        prior=prior,
        gaussian=prior if is_coefficients else None,
        prior_precision=prior.precision if prior else spread,
    )


def _abstract(name: str, program: Program) -> Latent:
    """The program's parameters, from shapes alone."""
    seen: dict[str, Any] = {}

    def flattened() -> Array:
        function, sites = _run(handlers.seed(program, jax.random.key(0)))
        if not sites:
            raise InputError(f"reward {name} samples no parameters")
        for site in sites:
            if sites[site]["fn"].support.is_discrete:
                raise InputError(
                    f"reward site {site!r} is discrete; samplers here need continuous parameters"
                )
        flat, seen["unravel"] = ravel_pytree(_unconstrained(sites))
        seen["linear"] = isinstance(function, LinearFunction)
        return flat

    size = jax.eval_shape(flattened).size
    return Latent(program, size, seen["linear"], None, None, np.eye(size), seen["unravel"])


def _run(program: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    with handlers.trace() as trace:
        value = program()
    latents = {
        name: site for name, site in trace.items() if site["type"] == "sample" and not site["is_observed"]
    }
    return value, latents


def _unconstrained(sites: Mapping[str, Any]) -> dict[str, Array]:
    return {name: biject_to(site["fn"].support).inv(site["value"]) for name, site in sites.items()}


class Look(NamedTuple):
    """What a prior is like: draws from it, slopes of its log-density there and in the tails."""

    draws: np.ndarray
    points: np.ndarray
    slopes: np.ndarray  # at the points
    hessian: np.ndarray  # in the middle
    coefficients: np.ndarray | None  # of the linear functions that the draws stand for


def _look(model: Latent) -> Look:
    """One compiled program for all of it."""

    def coefficients(point: Array) -> Array:
        function = model.function(point)
        assert isinstance(function, LinearFunction)
        return function.coefficients

    @jax.jit
    def look() -> tuple[Array, Array, Array, Array, Array | None]:
        draws = jax.vmap(model.draw)(jax.random.split(jax.random.key(1), 256))
        centre = jnp.mean(draws, axis=0)
        points = jnp.concatenate([draws, centre + 100 * (draws - centre)])
        slope = jax.grad(model.logdensity(model.program))
        at_draws = jax.vmap(coefficients)(draws) if model.linear else None
        return draws, points, jax.vmap(slope)(points), jax.jacfwd(slope)(centre), at_draws

    *found, at_draws = look()
    draws, points, slopes, hessian = map(np.asarray, found)
    return Look(draws, points, slopes, hessian, None if at_draws is None else np.asarray(at_draws))


def _gaussian(look: Look) -> GaussianPrior | None:
    """The prior's moments if the log-prior is quadratic in the flat vector."""
    precision, shift = -look.hessian, look.slopes[0] - look.hessian @ look.points[0]
    fitted = shift - look.points @ precision
    quadratic = np.allclose(look.slopes, fitted, rtol=1e-6, atol=1e-6 * np.std(look.slopes))
    if not (quadratic and np.all(np.linalg.eigvalsh(precision) > 0)):
        return None
    return GaussianPrior(np.linalg.solve(precision, shift), precision)
