"""Metropolis-adjusted Langevin."""

import blackjax
import jax.numpy as jnp
from jax import Array

from samplers.base import Kernel, MarkovSampler, Step
from samplers.settings import integer, number, settings
from samplers.whitening import Frame, whitening


@settings
class MALA(MarkovSampler):
    """BlackJAX's MALA; the step falls as dim^(-1/3), which keeps acceptance level."""

    steps: int = integer(default=20, least=1, doc="transitions a round")
    step: float = number(default=1.0, above=0, doc="step size, times dim^(-1/3) / largest curvature")
    whiten: str = whitening()

    def kernel(self, frame: Frame) -> Kernel:
        """One proposal, one accept test."""
        algorithm = blackjax.mala(frame.logdensity, self.step * frame.dim ** (-1 / 3) / frame.curvature)

        def step(
            key: Array, state: blackjax.mcmc.mala.MALAState
        ) -> tuple[blackjax.mcmc.mala.MALAState, Step]:
            state, info = algorithm.step(key, state)
            return state, Step(info.acceptance_rate, ~jnp.isfinite(state.logdensity), 1)

        return Kernel(lambda key, position: algorithm.init(position), step, lambda state: state.position)
