"""The Metropolis-adjusted Langevin algorithm."""

from typing import ClassVar, override

import blackjax

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.markov import AdjustedSampler
from samplers.settings import settings, traced_float


@settings
class MALA(AdjustedSampler):
    """BlackJAX's MALA: a Langevin step, then an accept step (Roberts & Tweedie 1996).

    Proposes x + h grad log p(x) + sqrt(2h) noise. The step falls as dim^(-1/3), which keeps the acceptance rate level
    (Roberts & Rosenthal 1998).
    """

    optimal_acceptance_rate: ClassVar[float] = 0.57
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted", ASYMPTOTIC, "num_steps + 1", "precision, to precondition"
    )

    step_size: float = traced_float(
        default=1.0, gt=0, doc="step size h in units of dim^(-1/3) / largest curvature"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        size = self.step_size * preconditioned.dim ** (-1 / 3) / preconditioned.curvature
        return as_kernel(blackjax.mala(preconditioned.logdensity, size), num_gradients=1)
