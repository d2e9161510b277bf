"""The reference: draws that the target itself can make exactly."""

from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from samplers.base import EXACT, Draw, SamplerInfo, SamplerState
from samplers.errors import InputError
from samplers.settings import settings
from samplers.target import Target


@settings
class Exact:
    """Independent exact draws, for targets that offer them."""

    sequential: ClassVar[bool] = False
    info: ClassVar[SamplerInfo] = SamplerInfo("exact", EXACT, "0", "a target that can draw from itself")

    def init(self, key: Array, start: Callable[[Array], Array]) -> SamplerState:
        """Starts at a position, which no draw depends on."""
        return SamplerState(start(key))

    def sample(self, key: Array, target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        """One exact draw."""
        draw = self._draw(key, target)
        return SamplerState(draw.position), draw

    def trace(self, key: Array, target: Target, state: SamplerState, draws: int) -> Draw:
        """Independent exact draws."""
        if target.exact_draws is not None:
            nothing = jnp.zeros(draws, int)
            return Draw(target.exact_draws(key, draws), jnp.full(draws, jnp.nan), nothing, nothing)
        return jax.vmap(lambda k: self._draw(k, target))(jax.random.split(key, draws))

    def _draw(self, key: Array, target: Target) -> Draw:
        if target.exact is None:
            raise InputError(
                "sampler 'exact' has no exact draws for this posterior; it serves finite classes (reward=finite), "
                "and linear rewards with a Gaussian prior, a hard uncapped maximum and one action set in the bonus"
            )
        return Draw(target.exact(key), jnp.asarray(jnp.nan), jnp.asarray(0), jnp.asarray(0))
