"""Overdispersed restarts: several starting points per round, as R-hat and nested R-hat require."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from samplers import Dense, Sampler, SamplerState, Target
from samplers.base import Start
from samplers.mode import find_mode

MODE_ITERATIONS = 20  # Newton steps from a draw of the prior to a mode


class ModeSearch(NamedTuple):
    """A mode of the target, and the draw from the prior at which the search for it started."""

    start: Float[Array, "*batch size"]
    mode: Float[Array, "*batch size"]


def search_mode(key: Key[Array, ""], target: Target, prior: Start) -> ModeSearch:
    """Climbs from a draw of the prior to a mode, so that different keys may lead to different modes.

    Without a known curvature there is no search: the start itself is returned as the mode.
    """
    start = prior(jax.random.split(key, 3)[0])
    return ModeSearch(start, start if target.precision is None else find_mode(target, start, MODE_ITERATIONS))


def overdispersed_start(key: Key[Array, ""], target: Target, prior: Start, search: ModeSearch) -> Start:
    """Distribution N(mode, 4 / curvature) of starting points, which needs no exact draws from the target.

    Args:
        key: One key per superchain. Three quarters of the variance are drawn from it and thus shared by all starting
            points of a superchain (the particles of a population, for example); one quarter is drawn per point.
        target: The posterior of the round.
        prior: Draws a position from the prior.
        search: The mode to start from, found by `search_mode` with the same key.

    Returns:
        A function that draws a starting point from a key. It is `prior` where the curvature is unknown, and it returns
        the start of the mode search where a point is not finite.
    """
    if target.precision is None:
        return prior
    coordinates = Dense().apply(target.with_local_precision(), search.mode)
    shared_key = jax.random.split(key, 3)[1]
    centre = coordinates.from_target(search.mode) + jnp.sqrt(3.0) * jax.random.normal(
        shared_key, search.mode.shape, search.mode.dtype
    )

    def draw(key: Array) -> Array:
        noise = jax.random.normal(key, search.mode.shape, search.mode.dtype)
        point = coordinates.to_target(centre + noise)
        return jnp.where(jnp.all(jnp.isfinite(point)), point, search.start)

    return draw


def restart(
    key: Key[Array, ""],
    sampler: Sampler,
    state: SamplerState,
    target: Target,
    prior: Start,
    search: ModeSearch,
) -> SamplerState:
    """Restarts a sampler from an overdispersed point.

    A Markov chain keeps what it has adapted. Samplers that carry particles or a fitted approximation are initialized
    from scratch, since what they carry determines where they are: see `Sampler.restart`.
    """
    init_key = jax.random.split(key, 3)[2]  # the first two are used by search_mode and overdispersed_start
    return sampler.restart(init_key, state, overdispersed_start(key, target, prior, search))
