"""Metropolis-adjusted Langevin."""

from typing import ClassVar

import blackjax

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.markov import MarkovSampler
from samplers.settings import settings, traced_float, traced_int


@settings
class MALA(MarkovSampler):
    """BlackJAX's MALA; the step falls as dim^(-1/3), which keeps acceptance level."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted", ASYMPTOTIC, "steps + 1", "precision, to whiten"
    )

    steps: int = traced_int(default=20, ge=1, doc="transitions a round")
    step: float = traced_float(default=1.0, gt=0, doc="step size, times dim^(-1/3) / largest curvature")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.57)

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One proposal, one accept test."""
        size = self.step * frame.dim ** (-1 / 3) / frame.curvature
        return as_kernel(blackjax.mala(frame.logdensity, size), num_gradients=1)
