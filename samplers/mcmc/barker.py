"""Barker's proposal: a gradient-based kernel that is robust to a step size which is too large."""

from typing import ClassVar, override

import blackjax

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.markov import AdjustedSampler
from samplers.settings import settings, traced_float


@settings
class Barker(AdjustedSampler):
    """BlackJAX's Barker proposal: the gradient decides the sign of each coordinate's move (Livingstone & Zanella 2022).

    The step falls as dim^(-1/6).
    """

    needs_typical_start: ClassVar[bool] = True  # its steps are never longer than a few standard deviations
    optimal_acceptance_rate: ClassVar[float] = 0.5
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted", ASYMPTOTIC, "num_steps + 2", "precision, to precondition"
    )

    step_size: float = traced_float(
        default=1.4, gt=0, doc="step size in units of dim^(-1/6) / sqrt(largest curvature)"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        size = self.step_size * preconditioned.dim ** (-1 / 6) / preconditioned.root_curvature
        return as_kernel(blackjax.barker(preconditioned.logdensity, size), num_gradients=1)
