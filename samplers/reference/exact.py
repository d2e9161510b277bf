"""The reference: draws that the target itself offers."""

from typing import ClassVar, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Key

from samplers.base import EXACT, Draw, Sampler, SamplerInfo, SamplerState
from samplers.errors import InputError
from samplers.settings import settings
from samplers.target import Target


@settings
class Exact(Sampler):
    """Independent exact draws, for targets that offer them."""

    uses_metric: ClassVar[bool] = False
    info: ClassVar[SamplerInfo] = SamplerInfo("exact", EXACT, "0", "a target that can draw from itself")

    @property
    @override
    def uses_moments(self) -> bool:
        return True

    @override
    def sample(self, key: Key[Array, ""], target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        draw = self._draw(key, target)
        return SamplerState(draw.position), draw

    @override
    def trace(self, key: Key[Array, ""], target: Target, state: SamplerState, num_draws: int) -> Draw:
        """Returns independent exact draws."""
        if target.exact_draws is not None:
            zeros = jnp.zeros(num_draws, int)
            return Draw(target.exact_draws(key, num_draws), jnp.full(num_draws, jnp.nan), zeros, zeros)
        return jax.vmap(lambda k: self._draw(k, target))(jax.random.split(key, num_draws))

    def _draw(self, key: Array, target: Target) -> Draw:
        if target.exact is None:
            raise InputError(
                "sampler 'exact' has no exact draws for this posterior; it serves finite classes (reward=finite), "
                "and linear rewards with a Gaussian prior, a hard uncapped maximum and one action set in the bonus"
            )
        return Draw(target.exact(key), jnp.asarray(jnp.nan), jnp.asarray(0), jnp.asarray(0))
