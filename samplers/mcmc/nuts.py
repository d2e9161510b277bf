"""The No-U-Turn sampler."""

from typing import ClassVar

import blackjax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting, warming, warming_every
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.mcmc.hmc import Hamiltonian
from samplers.settings import settings, static_int, traced_float, traced_int


@settings
class NUTS(Hamiltonian):
    """BlackJAX's NUTS: trajectories as long as they are useful."""

    sequential: ClassVar[bool] = True
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted", ASYMPTOTIC, "steps x (1 to 2^doublings - 1) + 1", "precision, to whiten"
    )

    steps: int = traced_int(default=5, ge=1, doc="transitions a round")
    step: float = traced_float(default=0.9, gt=0, doc="step size, times dim^(-1/4) / sqrt(largest curvature)")
    doublings: int = static_int(default=8, ge=1, le=12, doc="most doublings of a trajectory")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.8)
    warmup: int = warming()
    warmup_every: int = warming_every()

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One trajectory of dynamic length."""
        algorithm = blackjax.nuts(
            frame.logdensity, self.size(frame), jnp.ones(frame.dim), max_num_doublings=self.doublings
        )
        return as_kernel(algorithm, fresh_momentum=True)
