"""The No-U-Turn sampler."""

from typing import Any, ClassVar

import blackjax
import jax.numpy as jnp
from jax import Array

from samplers.base import Kernel, MarkovSampler, Step
from samplers.settings import integer, number, settings
from samplers.whitening import Frame, whitening


@settings
class NUTS(MarkovSampler):
    """BlackJAX's NUTS: trajectories as long as they are useful."""

    scalar: ClassVar[bool] = True

    steps: int = integer(default=3, least=1, doc="transitions a round")
    step: float = number(default=0.9, above=0, doc="step size, times dim^(-1/4) / sqrt(largest curvature)")
    doublings: int = integer(default=8, least=1, most=12, doc="most doublings of a trajectory")
    whiten: str = whitening()

    def kernel(self, frame: Frame) -> Kernel:
        """One trajectory of dynamic length."""
        size = self.step * frame.dim ** (-1 / 4) / jnp.sqrt(frame.curvature)
        algorithm = blackjax.nuts(
            frame.logdensity, size, jnp.ones(frame.dim), max_num_doublings=self.doublings
        )

        def step(key: Array, state: Any) -> tuple[Any, Step]:
            state, info = algorithm.step(key, state)
            return state, Step(info.acceptance_rate, info.is_divergent, info.num_integration_steps)

        return Kernel(lambda key, position: algorithm.init(position), step, lambda state: state.position)
