"""Langevin steps without an accept test: the paper's sampler, and the same in whitened coordinates."""

import blackjax
import jax
import jax.numpy as jnp
from jax import Array

from samplers.base import Kernel, MarkovSampler, Step
from samplers.settings import integer, number, settings
from samplers.whitening import Frame, whitening


class Langevin(MarkovSampler):
    """x + h grad + sqrt(2h) noise, with h = step / largest curvature; biased by O(h)."""

    step: float

    def kernel(self, frame: Frame) -> Kernel:
        """BlackJAX's SGLD with the full gradient."""
        gradient = jax.grad(frame.logdensity)
        algorithm = blackjax.sgld(lambda position, _: gradient(position))
        size = self.step / frame.curvature

        def step(key: Array, position: Array) -> tuple[Array, Step]:
            moved = algorithm.step(key, position, None, size)
            return moved, Step(jnp.nan, ~jnp.all(jnp.isfinite(moved)), 1)

        return Kernel(lambda key, position: position, step, lambda state: state, init_gradients=0)


@settings
class SGLD(Langevin):
    """The paper's sampler: Langevin steps in plain coordinates from a warm start."""

    steps: int = integer(default=20, least=1, doc="Langevin steps a round (the paper's K)")
    step: float = number(
        default=0.5, above=0, doc="step size in units of 1 / largest curvature; unstable from 2 on"
    )
    whiten: str = whitening("none")


@settings
class PSGLD(Langevin):
    """The same steps in coordinates whitened by the posterior precision."""

    steps: int = integer(default=20, least=1, doc="Langevin steps a round")
    step: float = number(
        default=0.1, above=0, doc="step size in whitened units; the variance is 1/(1 - step/2) too large"
    )
    whiten: str = whitening()
