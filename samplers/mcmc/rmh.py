"""Random-walk Metropolis-Hastings, which needs no gradient."""

from typing import ClassVar, override

import blackjax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.markov import AdjustedSampler
from samplers.settings import settings, traced_float


@settings
class RMH(AdjustedSampler):
    """BlackJAX's Gaussian random walk; the step falls as dim^(-1/2) (Roberts, Gelman & Gilks 1997)."""

    needs_typical_start: ClassVar[bool] = True  # its steps are never longer than a few standard deviations
    optimal_acceptance_rate: ClassVar[float] = 0.25
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient-free",
        ASYMPTOTIC,
        "1, for a start far out (and num_steps + 1 values)",
        "precision, to precondition",
    )

    num_steps: int = 50
    step_size: float = traced_float(
        default=2.4, gt=0, doc="standard deviation of a step in units of dim^(-1/2) / sqrt(largest curvature)"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        size = self.step_size / jnp.sqrt(preconditioned.dim * preconditioned.curvature)
        walk = blackjax.additive_step_random_walk.normal_random_walk(
            preconditioned.logdensity, jnp.full(preconditioned.dim, size)
        )
        return as_kernel(walk, num_gradients=0, init_gradients=0)
