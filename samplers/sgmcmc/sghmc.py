"""Stochastic-gradient Hamiltonian dynamics with friction."""

from typing import ClassVar

import blackjax
import jax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.base import BIASED, Kernel, SamplerInfo, Step
from samplers.markov import MarkovSampler
from samplers.settings import settings, static_int, traced_float, traced_int
from samplers.sgmcmc.sgld import decaying, minibatch


@settings
class SGHMC(MarkovSampler):
    """BlackJAX's SGHMC: Euler steps of Langevin dynamics from a fresh momentum.

    Biased by O(step) for trajectories of a given length step x leapfrogs; with more, shorter trajectories the fresh
    momenta add up, and a smaller step alone does not help.
    """

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient, unadjusted", f"{BIASED}, O(step)", "steps x leapfrogs", "precision, to whiten"
    )

    steps: int = traced_int(default=5, ge=1, doc="trajectories a round; the momentum is fresh in each")
    leapfrogs: int = static_int(default=10, ge=1, doc="Euler steps a trajectory, a gradient each")
    step: float = traced_float(default=0.1, gt=0, doc="step size in units of 1 / sqrt(largest curvature)")
    friction: float = traced_float(default=1.0, gt=0, doc="friction in units of sqrt(largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    decay: float = decaying()
    minibatch: int = minibatch()

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One trajectory on one batch."""
        root = jnp.sqrt(frame.curvature)
        algorithm = blackjax.sghmc(
            frame.gradient(self.minibatch), num_integration_steps=self.leapfrogs, alpha=self.friction * root
        )

        def step(key: Array, position: Array) -> tuple[Array, Step]:
            noise, batch = jax.random.split(key)
            moved = algorithm.step(noise, position, batch, self.step / root)
            return moved, Step(jnp.nan, ~jnp.all(jnp.isfinite(moved)), self.leapfrogs)

        return Kernel(lambda key, position: position, step, lambda state: state, init_gradients=0)
