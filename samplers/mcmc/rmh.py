"""Random-walk Metropolis: what can be done without a gradient."""

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
class RMH(MarkovSampler):
    """BlackJAX's Gaussian random walk; the step falls as dim^(-1/2)."""

    fetched: ClassVar[bool] = True  # its steps are never longer than a few deviations
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient-free",
        ASYMPTOTIC,
        "1, to come in from far out (and steps + 1 values)",
        "precision, to whiten",
    )

    steps: int = traced_int(default=50, ge=1, doc="transitions a round")
    step: float = traced_float(default=2.4, gt=0, doc="step size, times dim^(-1/2) / sqrt(largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.25)

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One proposal, one accept test."""
        size = self.step / jnp.sqrt(frame.dim * frame.curvature)
        walk = blackjax.additive_step_random_walk.normal_random_walk(
            frame.logdensity, jnp.full(frame.dim, size)
        )
        return as_kernel(walk, num_gradients=0, init_gradients=0)
