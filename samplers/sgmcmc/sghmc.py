"""Stochastic-gradient Hamiltonian dynamics with friction."""

from typing import ClassVar

import blackjax
import jax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Frame, step_rule, whitening
from samplers.base import BIASED, Card, Kernel, Step
from samplers.markov import MarkovSampler
from samplers.settings import count, integer, number, settings
from samplers.sgmcmc.sgld import decaying, minibatch


@settings
class SGHMC(MarkovSampler):
    """BlackJAX's SGHMC: Euler steps of Langevin dynamics from a fresh momentum.

    Biased by O(step) for trajectories of a given length step x leapfrogs; with more, shorter trajectories the fresh
    momenta add up, and a smaller step alone does not help.
    """

    card: ClassVar[Card] = Card(
        "gradient, unadjusted", f"{BIASED}, O(step)", "steps x leapfrogs", "precision, to whiten"
    )

    steps: int = count(default=5, least=1, doc="trajectories a round; the momentum is fresh in each")
    leapfrogs: int = integer(default=10, least=1, doc="Euler steps a trajectory, a gradient each")
    step: float = number(default=0.1, above=0, doc="step size in units of 1 / sqrt(largest curvature)")
    friction: float = number(default=1.0, above=0, doc="friction in units of sqrt(largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    decay: float = decaying()
    minibatch: int = minibatch()

    def kernel(self, frame: Frame) -> Kernel:
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
