"""Inspects a reward program once: its parameters, whether it is linear, and whether its prior is Gaussian."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Bool, Float
from numpyro import handlers

from fgtsva_ppl.rewards.base import (
    AnyReward,
    Embedded,
    LinearFunction,
    NoisyFunction,
    Reward,
    RewardFunction,
    as_reward,
)
from fgtsva_ppl.rewards.link import LinkedFunction
from fgtsva_ppl.rewards.model import FlatModel, GaussianPrior, run_program, unconstrained
from fgtsva_ppl.rewards.observed import observed_kind, observing
from samplers.errors import InputError

NUM_DRAWS = 256  # from the prior
MAX_SLOPE = 1e100  # the gradient of a quadratic log-density stays below this


class ZeroDensityError(InputError):
    """A reward program without density at draws from its own prior: a fault of the program, not of a setting."""


def flat_model(reward: AnyReward, dim: int, arms: int = 1) -> FlatModel:
    """Flattens a reward program.

    The program is run and differentiated at draws from its prior, once for each reward and shape. Linear functions and
    Gaussian priors are recognised from these values, so that exact posteriors are available without being declared.

    Args:
        reward: A reward class, or a function that is a NumPyro program.
        dim: Number of features of an arm.
        arms: Number of arms, for rewards whose parameters or features depend on it.

    Returns:
        The model over a flat unconstrained vector.

    Raises:
        InputError: If the program samples nothing, samples discrete sites, or does not return one number per row.
        ZeroDensityError: If its log-density is not finite at draws from its prior.
    """
    reward = as_reward(reward)
    return _flat_model(reward, dim, arms if reward.depends_on_arms else 1)


@lru_cache(maxsize=256)
def _flat_model(reward: Reward, dim: int, arms: int) -> FlatModel:
    """Inspects in a thread of its own, since JAX's transformations are local to the thread that traces them."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(_inspect, reward, dim, arms).result()


def _inspect(reward: Reward, dim: int, arms: int) -> FlatModel:
    model = _trace_shapes(reward.name, reward.embedded(arms, dim))
    sample = _sample_prior(model)
    num_broken = np.sum(~np.isfinite(sample.logdensities))
    if num_broken:
        raise ZeroDensityError(
            f"reward {reward.name}: its log-density is not finite at {num_broken} of {NUM_DRAWS} draws from its own "
            "prior"
        )
    prior = _gaussian_prior(sample)
    coefficients = sample.coefficients
    is_coefficients = (
        coefficients is not None
        and coefficients.shape == sample.draws.shape
        and np.allclose(coefficients, sample.draws, rtol=1e-12)
    )
    diagonal = np.diag(1 / np.var(sample.draws, axis=0))
    return replace(
        model,
        prior=prior,
        gaussian=prior if is_coefficients and model.linear else None,
        logit=prior if is_coefficients and not model.linear else None,
        prior_precision=prior.precision if prior else diagonal,
    )


def _trace_shapes(name: str, embedded: Embedded) -> FlatModel:
    """The program's parameters from shapes alone. Raises InputError if it is not a reward program."""
    static: dict[str, Any] = {}
    # One row more than there are columns, so that a program that confuses the two axes fails.
    rows = embedded.size + 1
    features = jax.ShapeDtypeStruct((rows, embedded.size), float)

    def run(features: Array) -> tuple[Array, list[Array]]:
        function, sites = run_program(handlers.seed(embedded.program, jax.random.key(0)))
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
        flat, static["unravel"] = ravel_pytree(unconstrained(sites))
        static["kind"] = _observed_kind(name, function, features)
        if static["kind"] is not None:
            function = static["kind"](function)
            likelihood = function.log_likelihood(features, features[:, 0])
            if likelihood.shape != (rows,):
                raise InputError(
                    f"reward {name} must observe one reward for each row of features: for {rows} rows its "
                    f"log-likelihood has shape {likelihood.shape}"
                )
        static["linear"] = _is_linear(function)
        static["noisy"] = isinstance(function, NoisyFunction)
        return flat, [_evaluate(name, part, features) for part in _parts(function)]

    flat, values = jax.eval_shape(run, features)
    for label, value in zip(("reward", "log_sigma of reward"), values, strict=False):
        if value.shape != (rows,):
            raise InputError(
                f"{label} {name} must give one number for each row of features: for shape {features.shape} it gives "
                f"shape {value.shape}, not {(rows,)}"
            )
    kind = static["kind"]
    return FlatModel(
        program=embedded.program if kind is None else observing(embedded.program, kind),
        size=flat.size,
        linear=static["linear"],
        noisy=static["noisy"],
        prior=None,
        gaussian=None,
        prior_precision=np.eye(flat.size),
        unravel=static["unravel"],
        features=embedded.size,
        embed=embedded.embed,
        learner=embedded.learner,
        observed=kind is not None,
    )


def check_values(reward: AnyReward, model: FlatModel, features: Float[Array, "arms features"]) -> None:
    """Raises ZeroDensityError if the reward of real features is not finite at draws from its prior."""
    num_broken = int(np.sum(~np.asarray(_all_finite(model, jnp.asarray(features)))))
    if num_broken:
        raise ZeroDensityError(
            f"reward {as_reward(reward).name} is not a finite number for the arms of the first round at {num_broken} "
            f"of {NUM_DRAWS} draws from its own prior"
        )


@partial(jax.jit, static_argnames="model")
def _all_finite(model: FlatModel, features: Float[Array, "arms features"]) -> Bool[Array, " draws"]:
    def finite(key: Array) -> Array:
        parts = _parts(model.function(model.draw(key)))
        return jnp.all(jnp.isfinite(jnp.stack([part(features) for part in parts])))

    return jax.vmap(finite)(jax.random.split(jax.random.key(1), NUM_DRAWS))


def without_sums(model: FlatModel) -> FlatModel:
    """The model for a likelihood of which sums over the data are not enough, always the same object."""
    return _without_sums(model) if model.linear or model.gaussian is not None else model


@lru_cache(maxsize=256)
def _without_sums(model: FlatModel) -> FlatModel:
    return replace(model, linear=False, gaussian=None)


def check_means(
    reward: AnyReward,
    model: FlatModel,
    features: Float[Array, "arms features"],
    check: Callable[[np.ndarray, str], None],
) -> None:
    """Checks mean rewards of real features at draws from the prior."""
    check(np.asarray(_means(model, jnp.asarray(features))), as_reward(reward).name)


@partial(jax.jit, static_argnames="model")
def _means(model: FlatModel, features: Float[Array, "arms features"]) -> Float[Array, "draws arms"]:
    keys = jax.random.split(jax.random.key(1), NUM_DRAWS)
    return jax.vmap(lambda key: model.function(model.draw(key))(features))(keys)


def _parts(function: RewardFunction) -> tuple[RewardFunction, ...]:
    """The mean, and log_sigma if the noise is modelled."""
    return (function.mean, function.log_sigma) if isinstance(function, NoisyFunction) else (function,)


def _observed_kind(name: str, function: RewardFunction, features: Array) -> type[Any] | None:
    try:
        return observed_kind(function, features)
    except (TypeError, ValueError) as error:
        first_line = (str(error).splitlines() or [""])[0]
        raise InputError(f"reward {name} fails on features of shape {features.shape}: {first_line}") from None


def _evaluate(name: str, function: RewardFunction, features: Array) -> Array:
    try:
        return jnp.asarray(function(features))
    except (TypeError, ValueError) as error:
        first_line = (str(error).splitlines() or [""])[0]
        raise InputError(f"reward {name} fails on features of shape {features.shape}: {first_line}") from None


def _is_linear(function: RewardFunction) -> bool:
    """Whether sufficient statistics of the data are enough for a squared loss."""
    if isinstance(function, NoisyFunction):
        return function.constant and _is_linear(function.mean)
    return isinstance(function, LinearFunction)


def _coefficients(function: RewardFunction) -> Array | None:
    """The coefficients of a function, or of its logit, that is known to be linear, else None."""
    if isinstance(function, LinkedFunction):
        return _coefficients(function.predictor) if function.link == "logit" else None
    if isinstance(function, NoisyFunction):
        return _coefficients(function.mean) if function.constant else None
    return function.coefficients if isinstance(function, LinearFunction) else None


class PriorSample(NamedTuple):
    """Draws from a prior, and gradients of its log-density at the draws and far out in the tails."""

    draws: Float[np.ndarray, "draws size"]
    logdensities: Float[np.ndarray, " draws"]
    points: Float[np.ndarray, "points size"]  # the draws, then points in the tails
    gradients: Float[np.ndarray, "points size"]
    hessian: Float[np.ndarray, "size size"]  # at the mean of the draws
    coefficients: Float[np.ndarray, "draws features"] | None  # of the draws' functions, if they are linear


def _sample_prior(model: FlatModel) -> PriorSample:
    """Everything in one compiled program."""

    @jax.jit
    def sample() -> tuple[Array, Array, Array, Array, Array, Array | None]:
        draws = jax.vmap(model.draw)(jax.random.split(jax.random.key(1), NUM_DRAWS))
        centre = jnp.mean(draws, axis=0)
        points = jnp.concatenate([draws, centre + 100 * (draws - centre)])
        logdensity = model.logdensity(model.program)
        gradient = jax.grad(logdensity)
        coefficients = jax.vmap(lambda draw: _coefficients(model.function(draw)))(draws)
        gradients, hessian = jax.vmap(gradient)(points), jax.jacfwd(gradient)(centre)
        return draws, jax.vmap(logdensity)(draws), points, gradients, hessian, coefficients

    return PriorSample(*jax.tree.map(np.asarray, sample()))


def _gaussian_prior(sample: PriorSample) -> GaussianPrior | None:
    """The prior's moments if its log-density is quadratic in the flat vector, else None."""
    if not np.all(np.abs(sample.gradients) < MAX_SLOPE):  # grows exponentially, and is about to overflow
        return None
    precision, shift = -sample.hessian, sample.gradients[0] - sample.hessian @ sample.points[0]
    fitted = shift - sample.points @ precision
    quadratic = np.allclose(sample.gradients, fitted, rtol=1e-6, atol=1e-6 * np.std(sample.gradients))
    if not (quadratic and np.all(np.linalg.eigvalsh(precision) > 0)):
        return None
    return GaussianPrior(np.linalg.solve(precision, shift), np.asarray(precision))
