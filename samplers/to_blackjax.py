"""Our samplers as BlackJAX algorithms: `init(position, rng_key)` and `step(rng_key, state) -> (state, info)`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from blackjax.base import SamplingAlgorithm
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Bool, Float, Int

from samplers.base import Sampler, SamplerState
from samplers.errors import InputError
from samplers.target import Target


class AlgorithmState(NamedTuple):
    """The state of a sampler on one target, as BlackJAX's loops carry it.

    Attributes:
        position: The last draw, in the structure of the position that `init` was given.
        sampler: Everything that the sampler carries: adaptation, particles, a fit.
    """

    position: Any
    sampler: SamplerState


class AlgorithmInfo(NamedTuple):
    """What one draw reports, by BlackJAX's names; NaN where a quantity has no meaning.

    Attributes:
        acceptance_rate: Mean Metropolis acceptance probability over the transitions to this draw.
        is_divergent: Whether a transition to this draw diverged.
        energy: Energy of the last transition.
        num_integration_steps: Number of gradient evaluations for this draw.
    """

    acceptance_rate: Float[Array, ""]
    is_divergent: Bool[Array, ""]
    energy: Float[Array, ""]
    num_integration_steps: Int[Array, ""]


def to_blackjax(
    sampler: Sampler, target: Target | Callable[[Any], Array], *, jitter: float = 0.1
) -> SamplingAlgorithm:
    """Returns a sampler on one target as a BlackJAX `SamplingAlgorithm`.

    One step is one draw: the sampler's `num_steps` transitions. Set `num_steps=1` for a plain Markov kernel.

    Args:
        sampler: Any sampler of this package.
        target: A log-density of a pytree of arrays, or a `Target` on flat vectors with what else is known of it. A
            log-density alone is enough for samplers with `preconditioner="none"`.
        jitter: Standard deviation by which the particles of a population (`SMC`, `SVGD`) start apart from the
            position that `init` is given. Chains start exactly there.

    Returns:
        The pair of `init(position, rng_key)` and `step(rng_key, state)`. Only populations need the key of `init`.
    """
    if not isinstance(sampler, Sampler):
        raise InputError(f"to_blackjax takes a sampler such as samplers.MALA(), not {type(sampler).__name__}")
    if not isinstance(target, Target) and not callable(target):
        raise InputError("to_blackjax takes a log-density or a samplers.Target as its second argument")
    is_population = sampler.info.family == "population"

    def init(position: Any, rng_key: Array | None = None) -> AlgorithmState:
        flat, _ = ravel_pytree(position)
        if is_population and rng_key is None:
            raise InputError(f"{type(sampler).__name__} starts particles at random: init needs rng_key")

        def start(key: Array) -> Array:
            noise = jitter * jax.random.normal(key, flat.shape, flat.dtype)
            return flat + noise if is_population else flat

        return AlgorithmState(
            position, sampler.init(jax.random.key(0) if rng_key is None else rng_key, start)
        )

    def step(rng_key: Array, state: AlgorithmState) -> tuple[AlgorithmState, AlgorithmInfo]:
        unravel = ravel_pytree(state.position)[1]
        own = target if isinstance(target, Target) else Target(lambda flat: target(unravel(flat)))
        moved, draw = sampler.sample(rng_key, own, state.sampler)
        info = AlgorithmInfo(
            draw.acceptance_rate,
            jnp.asarray(draw.num_divergent) > 0,
            jnp.asarray(draw.energy, draw.acceptance_rate.dtype),
            draw.num_gradients,
        )
        return AlgorithmState(unravel(draw.position), moved), info

    return SamplingAlgorithm(init, step)
