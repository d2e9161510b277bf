"""Hamiltonian Monte Carlo with a fixed number of leapfrog steps."""

from typing import Any

import blackjax
import jax.numpy as jnp
from jax import Array

from samplers.base import Kernel, MarkovSampler, Step
from samplers.settings import integer, number, settings
from samplers.whitening import Frame, whitening


@settings
class HMC(MarkovSampler):
    """BlackJAX's HMC; the step falls as dim^(-1/4)."""

    steps: int = integer(default=5, least=1, doc="transitions a round")
    leapfrogs: int = integer(default=4, least=1, doc="leapfrog steps a transition, a gradient each")
    step: float = number(default=0.6, above=0, doc="step size, times dim^(-1/4) / sqrt(largest curvature)")
    whiten: str = whitening()

    def kernel(self, frame: Frame) -> Kernel:
        """One trajectory, one accept test."""
        size = self.step * frame.dim ** (-1 / 4) / jnp.sqrt(frame.curvature)
        algorithm = blackjax.hmc(frame.logdensity, size, jnp.ones(frame.dim), self.leapfrogs)

        def step(key: Array, state: Any) -> tuple[Any, Step]:
            state, info = algorithm.step(key, state)
            return state, Step(info.acceptance_rate, info.is_divergent, info.num_integration_steps)

        return Kernel(lambda key, position: algorithm.init(position), step, lambda state: state.position)
