"""Barker's proposal: a gradient step that forgives a step size which is too large."""

from typing import ClassVar

import blackjax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.markov import MarkovSampler
from samplers.settings import settings, traced_float, traced_int


@settings
class Barker(MarkovSampler):
    """BlackJAX's Barker proposal (Livingstone & Zanella 2022); the step falls as dim^(-1/6)."""

    fetched: ClassVar[bool] = True  # its steps are never longer than a few deviations
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted", ASYMPTOTIC, "steps + 2", "precision, to whiten"
    )

    steps: int = traced_int(default=20, ge=1, doc="transitions a round")
    step: float = traced_float(default=1.4, gt=0, doc="step size, times dim^(-1/6) / sqrt(largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.5)

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One proposal whose sign follows the gradient, one accept test."""
        size = self.step * frame.dim ** (-1 / 6) / jnp.sqrt(frame.curvature)
        return as_kernel(blackjax.barker(frame.logdensity, size), num_gradients=1)
