"""Hamiltonian Monte Carlo with a number of leapfrog steps that is drawn anew for each trajectory."""

from typing import ClassVar

import blackjax
import jax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting, warming, warming_every
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.mcmc.hmc import Hamiltonian
from samplers.settings import settings, static_int, traced_float, traced_int


@settings
class DynamicHMC(Hamiltonian):
    """BlackJAX's HMC with 1 to 2 leapfrogs - 1 leapfrog steps, drawn anew: no trajectory length can resonate."""

    sequential: ClassVar[bool] = True
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted", ASYMPTOTIC, "steps x leapfrogs + 1, on average", "precision, to whiten"
    )

    steps: int = traced_int(default=5, ge=1, doc="transitions a round")
    leapfrogs: int = static_int(default=4, ge=1, doc="leapfrog steps a transition, on average")
    step: float = traced_float(default=0.6, gt=0, doc="step size, times dim^(-1/4) / sqrt(largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.8)
    warmup: int = warming()
    warmup_every: int = warming_every()

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One trajectory of random length, one accept test."""
        most = 2 * self.leapfrogs
        algorithm = blackjax.dynamic_hmc(
            frame.logdensity,
            self.size(frame),
            jnp.ones(frame.dim),
            integration_steps_fn=lambda key: jax.random.randint(key, (), 1, most),
        )
        return as_kernel(algorithm, fresh_momentum=True)
