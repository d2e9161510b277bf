"""Metropolis-adjusted Langevin."""

from typing import ClassVar

import blackjax

from samplers.adaptation.preconditioning import Frame, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting
from samplers.base import ASYMPTOTIC, Card, Kernel
from samplers.from_blackjax import adapted
from samplers.markov import MarkovSampler
from samplers.settings import count, number, settings


@settings
class MALA(MarkovSampler):
    """BlackJAX's MALA; the step falls as dim^(-1/3), which keeps acceptance level."""

    card: ClassVar[Card] = Card("Metropolis-adjusted", ASYMPTOTIC, "steps + 1", "precision, to whiten")

    steps: int = count(default=20, least=1, doc="transitions a round")
    step: float = number(default=1.0, above=0, doc="step size, times dim^(-1/3) / largest curvature")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.57)

    def kernel(self, frame: Frame) -> Kernel:
        """One proposal, one accept test."""
        size = self.step * frame.dim ** (-1 / 3) / frame.curvature
        return adapted(blackjax.mala(frame.logdensity, size), gradients=1)
