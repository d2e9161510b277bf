"""Microcanonical Monte Carlo under an accept test."""

from typing import ClassVar

import blackjax

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.mcmc.mclmc import Microcanonical
from samplers.settings import settings, static_int, traced_float, traced_int


@settings
class AdjustedMCLMC(Microcanonical):
    """BlackJAX's adjusted MCLMC: isokinetic trajectories under an accept test."""

    fetched: ClassVar[bool] = True  # at unit speed it would take many rounds
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted",
        ASYMPTOTIC,
        "2 x steps x integration_steps + 2",
        "dim >= 2; precision, to whiten",
    )

    steps: int = traced_int(default=5, ge=1, doc="transitions a round")
    integration_steps: int = static_int(
        default=3, ge=1, doc="integration steps a transition, two gradients each"
    )
    step: float = traced_float(default=0.5, gt=0, doc="step size, times sqrt(dim / largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.9)

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One trajectory, one accept test."""
        algorithm = blackjax.adjusted_mclmc(
            frame.logdensity,
            self.step * self.unit(frame),
            integration_steps_params=(self.integration_steps,),
        )
        return as_kernel(algorithm, num_gradients=2 * self.integration_steps)
