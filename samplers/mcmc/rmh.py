"""Random-walk Metropolis: what can be done without a gradient."""

from typing import ClassVar

import blackjax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Frame, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting
from samplers.base import ASYMPTOTIC, Card, Kernel
from samplers.from_blackjax import adapted
from samplers.markov import MarkovSampler
from samplers.settings import count, number, settings


@settings
class RMH(MarkovSampler):
    """BlackJAX's Gaussian random walk; the step falls as dim^(-1/2)."""

    fetched: ClassVar[bool] = True  # its steps are never longer than a few deviations
    card: ClassVar[Card] = Card(
        "gradient-free",
        ASYMPTOTIC,
        "1, to come in from far out (and steps + 1 values)",
        "precision, to whiten",
    )

    steps: int = count(default=50, least=1, doc="transitions a round")
    step: float = number(default=2.4, above=0, doc="step size, times dim^(-1/2) / sqrt(largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.25)

    def kernel(self, frame: Frame) -> Kernel:
        """One proposal, one accept test."""
        size = self.step / jnp.sqrt(frame.dim * frame.curvature)
        walk = blackjax.additive_step_random_walk.normal_random_walk(
            frame.logdensity, jnp.full(frame.dim, size)
        )
        return adapted(walk, gradients=0, init_gradients=0)
