"""Barker's proposal: a gradient step that forgives a step size which is too large."""

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
class Barker(MarkovSampler):
    """BlackJAX's Barker proposal (Livingstone & Zanella 2022); the step falls as dim^(-1/6)."""

    fetched: ClassVar[bool] = True  # its steps are never longer than a few deviations
    card: ClassVar[Card] = Card("Metropolis-adjusted", ASYMPTOTIC, "steps + 2", "precision, to whiten")

    steps: int = count(default=20, least=1, doc="transitions a round")
    step: float = number(default=1.4, above=0, doc="step size, times dim^(-1/6) / sqrt(largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.5)

    def kernel(self, frame: Frame) -> Kernel:
        """One proposal whose sign follows the gradient, one accept test."""
        size = self.step * frame.dim ** (-1 / 6) / jnp.sqrt(frame.curvature)
        return adapted(blackjax.barker(frame.logdensity, size), gradients=1)
