"""Microcanonical Monte Carlo with an accept step."""

from typing import ClassVar, override

import blackjax

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.markov import AdjustedSampler
from samplers.mcmc.mclmc import typical_radius
from samplers.settings import settings, static_int, traced_float


@settings
class AdjustedMCLMC(AdjustedSampler):
    """BlackJAX's adjusted MCLMC: an isokinetic trajectory, then an accept step (Robnik et al. 2025)."""

    needs_typical_start: ClassVar[bool] = True  # at unit speed it would take many targets
    optimal_acceptance_rate: ClassVar[float] = 0.9
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted",
        ASYMPTOTIC,
        "2 x num_steps x num_integration_steps + 2",
        "dim >= 2; precision, to precondition",
    )

    num_steps: int = 5
    num_integration_steps: int = static_int(
        default=3, ge=1, doc="integration steps of a transition, two gradients each"
    )
    step_size: float = traced_float(
        default=0.5, gt=0, doc="step size in units of sqrt(dim / largest curvature)"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        algorithm = blackjax.adjusted_mclmc(
            preconditioned.logdensity,
            self.step_size * typical_radius(preconditioned),
            integration_steps_params=(self.num_integration_steps,),
        )
        return as_kernel(algorithm, num_gradients=2 * self.num_integration_steps)

    @property
    @override
    def expected_gradients(self) -> int:
        return 2 * self.num_steps * self.num_integration_steps
