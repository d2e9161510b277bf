"""Reward programs: NumPyro programs that sample parameters and return a function from features to mean rewards.

A reward class gives a program for features of a dimension. A plain function that is a program will do as well, and so
will a class whose programs speak of other features than the environment's (see Embedding).
"""

import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import potential_energy

from samplers.errors import InputError
from samplers.settings import settings

DRAWS = 256  # from a prior, which tell what it is like
HUGE = 1e100  # no slope of a quadratic gets there


class ZeroDensityError(InputError):
    """A program that has no density where it says that its parameters are: its own fault, not that of a setting."""


type RewardFunction = Callable[[Array], Array]
type Program = Callable[[], RewardFunction]


@dataclass(frozen=True)
class LinearFunction:
    """features -> features @ coefficients. A program that returns one gets the sufficient-statistics path."""

    coefficients: Array

    def __call__(self, features: Array) -> Array:
        """Mean rewards of the rows of `features`."""
        return features @ self.coefficients


@dataclass(frozen=True)
class NoisyFunction:
    """A reward function that says how noisy rewards are, too. A program that returns one models its own variance."""

    mean: RewardFunction
    log_sigma: RewardFunction  # features -> logarithm of the standard deviation, one for each row
    constant: bool = (
        False  # the same for all features: then a linear mean gets the sufficient-statistics path
    )

    def __call__(self, features: Array) -> Array:
        """Mean rewards of the rows of `features`."""
        return self.mean(features)


@runtime_checkable
class Reward(Protocol):
    """A reward class. Compared as a whole: another prior is another program."""

    def __hash__(self) -> int: ...

    def program(self, dim: int) -> Program:
        """The NumPyro program for features of the given dimension."""
        ...


class Embedded(NamedTuple):
    """A program over features of another size, and how to come by them."""

    program: Program
    embed: Callable[[Array], Array]  # (arms, dim) -> (arms, size); the row number is the arm
    size: int


@runtime_checkable
class Embedding(Protocol):
    """A reward class that is simple, linear perhaps, in features other than the environment's."""

    def __hash__(self) -> int: ...

    def embedded(self, arms: int, dim: int) -> Embedded:
        """For rounds of so many arms with features of the given dimension."""
        ...


type AnyReward = Reward | Embedding | Callable[..., RewardFunction]


class GaussianPrior(NamedTuple):
    """A prior that is Gaussian in the flat vector of parameters."""

    mean: np.ndarray
    precision: np.ndarray


@dataclass(frozen=True, eq=False)
class FlatModel:
    """A program's parameters as one flat unconstrained vector."""

    program: Program
    size: int
    linear: bool  # the program returns a LinearFunction, with or without a constant variance
    noisy: bool  # the program returns a NoisyFunction
    prior: GaussianPrior | None  # known if it is Gaussian
    gaussian: GaussianPrior | None  # the same, if the flat vector is the coefficients of a linear function
    prior_precision: np.ndarray  # exact if the prior is Gaussian, else a diagonal estimate
    unravel: Callable[[Array], Any]
    features: int  # their number, embedded
    embed: Callable[[Array], Array]  # the arms' features as the program wants them

    def draw(self, key: Array) -> Array:
        """A draw from the prior, unconstrained and flat."""
        _, sites = _run(handlers.seed(self.program, key))
        return ravel_pytree(_unconstrained(sites))[0]

    def constrain(self, position: Array) -> dict[str, Array]:
        """The parameters under their site names, on their own supports, and what the program derives from them."""
        with handlers.trace() as trace:
            self._placed(position)()
        kept = {name: site for name, site in trace.items() if _is_latent(site) or _is_derived(site)}
        return {name: jnp.asarray(site["value"]) for name, site in kept.items()}

    def function(self, position: Array) -> RewardFunction:
        """The reward function that a flat position stands for."""
        return self._placed(position)()

    def _placed(self, position: Array) -> Program:
        """The program at a position, site after site: a support may depend on the sites before it."""
        free = self.unravel(position)

        def place(site: dict[str, Any]) -> Array | None:
            known = site["type"] == "sample" and site["name"] in free
            return biject_to(site["fn"].support)(free[site["name"]]) if known else None

        seeded = handlers.seed(self.program, jax.random.key(0))
        placed: Program = handlers.substitute(seeded, substitute_fn=place)
        return placed

    def logdensity(self, program: Callable[[], Any]) -> Callable[[Array], Array]:
        """The unconstrained log-density of a program over the same parameters, Jacobian included."""
        return lambda position: -potential_energy(program, (), {}, self.unravel(position))


def flat_model(reward: AnyReward, dim: int, arms: int = 1) -> FlatModel:
    """What there is to know of a reward's program; how many arms there are matters to few of them."""
    return _flat_model(reward, dim, arms if isinstance(reward, Embedding) else 1)


@lru_cache(maxsize=256)
def _flat_model(reward: AnyReward, dim: int, arms: int) -> FlatModel:
    """Looks at a reward program once, outside of any transformation: those belong to the thread they are made in."""
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(_looked_at, reward, dim, arms).result()


def _looked_at(reward: AnyReward, dim: int, arms: int) -> FlatModel:
    name = reward_name(reward)
    bare = _abstract(name, embedded(reward, dim, arms))
    look = _look(bare)
    broken = np.sum(~np.isfinite(look.densities))
    if broken:
        raise ZeroDensityError(
            f"reward {name}: its log-density is not finite at {broken} of {DRAWS} draws from its own prior"
        )
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


def reward_name(reward: AnyReward) -> str:
    """What a person calls it."""
    return getattr(reward, "__name__", type(reward).__name__)


def embedded(reward: AnyReward, dim: int, arms: int) -> Embedded:
    """A reward's program and features; of most, the environment's features as they are."""
    if isinstance(reward, Embedding):
        return reward.embedded(arms, dim)
    return Embedded(_program(reward, dim), lambda actions: actions, dim)


def _program(reward: Reward | Callable[..., RewardFunction], dim: int) -> Program:
    """A function may want to know the dimension, or know it already."""
    if isinstance(reward, Reward):
        return reward.program(dim)
    return partial(reward, dim) if inspect.signature(reward).parameters else reward


def reward_class(given: Any) -> type[Any]:
    """A class of settings for whatever stands for a reward: itself, or one without settings for a function."""
    if isinstance(given, type):
        return given

    class Own:
        def program(self, dim: int) -> Program:
            return _program(given, dim)

    Own.__name__ = Own.__qualname__ = reward_name(given)
    Own.__module__ = given.__module__
    Own.__doc__ = given.__doc__ or f"The function {reward_name(given)}."
    return settings(Own)


def _abstract(name: str, made: Embedded) -> FlatModel:
    """The program's parameters, from shapes alone; says what is wrong with it."""
    seen: dict[str, Any] = {}
    rows = (
        made.size + 1
    )  # another number than of columns, so that whoever takes one for the other is found out
    features = jax.ShapeDtypeStruct((rows, made.size), float)

    def flattened(features: Array) -> tuple[Array, list[Array]]:
        function, sites = _run(handlers.seed(made.program, jax.random.key(0)))
        if not sites:
            raise InputError(f"reward {name} samples no parameters")
        for site in sites:
            if sites[site]["fn"].support.is_discrete:
                raise InputError(
                    f"reward site {site!r} is discrete; samplers here need continuous parameters"
                )
        if not callable(function):
            raise InputError(
                f"reward {name} must return a function from features to rewards, not {type(function).__name__}"
            )
        flat, seen["unravel"] = ravel_pytree(_unconstrained(sites))
        seen["linear"] = _coefficients(function) is not None
        seen["noisy"] = isinstance(function, NoisyFunction)
        return flat, [_tried(name, part, features) for part in _parts(function)]

    flat, values = jax.eval_shape(flattened, features)
    for what, value in zip(("reward", "log_sigma of reward"), values, strict=False):
        if value.shape != (rows,):
            raise InputError(
                f"{what} {name} must give one number for each row of features: for shape {features.shape} it gives "
                f"shape {value.shape}, not {(rows,)}"
            )
    return FlatModel(
        made.program,
        flat.size,
        seen["linear"],
        seen["noisy"],
        None,
        None,
        np.eye(flat.size),
        seen["unravel"],
        made.size,
        made.embed,
    )


def check_values(reward: AnyReward, model: FlatModel, features: Array) -> None:
    """Raises ZeroDensityError where a reward is not a finite number for real features, under draws from its prior."""
    broken = int(np.sum(~np.asarray(_all_finite(model, jnp.asarray(features)))))
    if broken:
        raise ZeroDensityError(
            f"reward {reward_name(reward)} is not a finite number for the arms of the first round at {broken} of "
            f"{DRAWS} draws from its own prior"
        )


@partial(jax.jit, static_argnames="model")
def _all_finite(model: FlatModel, features: Array) -> Array:
    def finite(key: Array) -> Array:
        parts = _parts(model.function(model.draw(key)))
        return jnp.all(jnp.isfinite(jnp.stack([part(features) for part in parts])))

    return jax.vmap(finite)(jax.random.split(jax.random.key(1), DRAWS))


def _parts(function: RewardFunction) -> tuple[RewardFunction, ...]:
    """The mean, and where the noise is modelled its logarithm."""
    return (function.mean, function.log_sigma) if isinstance(function, NoisyFunction) else (function,)


def _tried(name: str, function: RewardFunction, features: Array) -> Array:
    try:
        return jnp.asarray(function(features))
    except (TypeError, ValueError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise InputError(f"reward {name} fails on features of shape {features.shape}: {first}") from None


def _coefficients(function: RewardFunction) -> Array | None:
    """Of a linear function, if it is known to be one."""
    if isinstance(function, NoisyFunction):
        return _coefficients(function.mean) if function.constant else None
    return function.coefficients if isinstance(function, LinearFunction) else None


def _run(program: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    with handlers.trace() as trace:
        value = program()
    return value, {name: site for name, site in trace.items() if _is_latent(site)}


def _is_latent(site: Mapping[str, Any]) -> bool:
    return site["type"] == "sample" and not site["is_observed"]


def _is_derived(site: Mapping[str, Any]) -> bool:
    return site["type"] == "deterministic"


def _unconstrained(sites: Mapping[str, Any]) -> dict[str, Array]:
    return {name: biject_to(site["fn"].support).inv(site["value"]) for name, site in sites.items()}


class Look(NamedTuple):
    """What a prior is like: draws from it, slopes of its log-density there and in the tails."""

    draws: np.ndarray
    densities: np.ndarray  # their log-densities
    points: np.ndarray
    slopes: np.ndarray  # at the points
    hessian: np.ndarray  # in the middle
    coefficients: np.ndarray | None  # of the linear functions that the draws stand for


def _look(model: FlatModel) -> Look:
    """One compiled program for all of it."""

    @jax.jit
    def look() -> tuple[Array, Array, Array, Array, Array, Array | None]:
        draws = jax.vmap(model.draw)(jax.random.split(jax.random.key(1), DRAWS))
        centre = jnp.mean(draws, axis=0)
        points = jnp.concatenate([draws, centre + 100 * (draws - centre)])
        density = model.logdensity(model.program)
        slope = jax.grad(density)
        at_draws = jax.vmap(lambda draw: _coefficients(model.function(draw)))(draws)
        slopes, hessian = jax.vmap(slope)(points), jax.jacfwd(slope)(centre)
        return draws, jax.vmap(density)(draws), points, slopes, hessian, at_draws

    *found, at_draws = look()
    draws, densities, points, slopes, hessian = map(np.asarray, found)
    at_draws = None if at_draws is None else np.asarray(at_draws)
    return Look(draws, densities, points, slopes, hessian, at_draws)


def _gaussian(look: Look) -> GaussianPrior | None:
    """The prior's moments if the log-prior is quadratic in the flat vector."""
    if not np.all(np.abs(look.slopes) < HUGE):  # exponential somewhere, and about to overflow
        return None
    precision, shift = -look.hessian, look.slopes[0] - look.hessian @ look.points[0]
    fitted = shift - look.points @ precision
    quadratic = np.allclose(look.slopes, fitted, rtol=1e-6, atol=1e-6 * np.std(look.slopes))
    if not (quadratic and np.all(np.linalg.eigvalsh(precision) > 0)):
        return None
    return GaussianPrior(np.linalg.solve(precision, shift), np.asarray(precision))
