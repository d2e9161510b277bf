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
        bare = Latent(program, flat.size, linear, None, None, np.eye(flat.size), unravel)
        draws = jax.jit(jax.vmap(bare.draw))(jax.random.split(jax.random.key(1), 256))
        prior = _gaussian(bare, draws)
        gaussian = prior if linear and _is_coefficients(bare, draws) else None
        spread = np.diag(1 / np.var(np.asarray(draws), axis=0))
        precision = prior.precision if prior else spread
        return Latent(program, flat.size, linear, prior, gaussian, precision, unravel)


def _run(program: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    with handlers.trace() as trace:
        value = program()
    latents = {
        name: site for name, site in trace.items() if site["type"] == "sample" and not site["is_observed"]
    }
    return value, latents


def _unconstrained(sites: Mapping[str, Any]) -> dict[str, Array]:
    return {name: biject_to(site["fn"].support).inv(site["value"]) for name, site in sites.items()}


def _is_coefficients(model: Latent, points: Array) -> bool:
    """Whether the flat vector is the coefficients of the linear function."""

    @jax.jit
    @jax.vmap
    def coefficients(point: Array) -> Array:
        function = model.function(point)
        assert isinstance(function, LinearFunction)
        return function.coefficients

    shape = jax.eval_shape(coefficients, points).shape
    return shape == points.shape and np.allclose(coefficients(points), points, rtol=1e-12)


def _gaussian(model: Latent, draws: Array) -> GaussianPrior | None:
    """The prior's moments if the log-prior is quadratic in the flat vector."""
    centre = jnp.mean(draws, axis=0)
    points = jnp.concatenate([draws, centre + 100 * (draws - centre)])  # the tails as well

    @jax.jit
    def look(points: Array) -> tuple[Array, Array]:
        slope = jax.grad(model.logdensity(model.program))
        return jax.vmap(slope)(points), jax.jacfwd(slope)(centre)

    slopes, hessian = map(np.asarray, look(points))
    precision, shift = -hessian, slopes[0] - hessian @ np.asarray(points[0])
    quadratic = np.allclose(slopes, shift - points @ precision, rtol=1e-6, atol=1e-6 * np.std(slopes))
    if not (quadratic and np.all(np.linalg.eigvalsh(precision) > 0)):
        return None
    return GaussianPrior(np.linalg.solve(precision, shift), precision)
