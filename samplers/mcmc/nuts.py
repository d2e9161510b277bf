"""The No-U-Turn sampler."""

from typing import ClassVar, override

import blackjax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.mcmc.hmc import Hamiltonian
from samplers.settings import settings, static_int

TYPICAL_TRAJECTORY = 8  # gradients of a transition at the default step size


@settings
class NUTS(Hamiltonian):
    """BlackJAX's NUTS: trajectories that double until they turn back (Hoffman & Gelman 2014; Betancourt 2017)."""

    sequential: ClassVar[bool] = True
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted",
        ASYMPTOTIC,
        "num_steps x (1 to 2^max_num_doublings - 1) + 1",
        "precision, to precondition",
    )

    num_steps: int = 5
    step_size: float = 0.9
    max_num_doublings: int = static_int(default=8, ge=1, le=12, doc="most doublings of a trajectory")

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        algorithm = blackjax.nuts(
            preconditioned.logdensity,
            self.leapfrog_step(preconditioned),
            jnp.ones(preconditioned.dim),
            max_num_doublings=self.max_num_doublings,
        )
        return as_kernel(algorithm, fresh_momentum=True)

    @property
    @override
    def expected_gradients(self) -> int:
        return self.num_steps * min(TYPICAL_TRAJECTORY, 2**self.max_num_doublings - 1)
