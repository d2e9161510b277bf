"""Hamiltonian Monte Carlo with a random number of leapfrog steps."""

from typing import ClassVar, override

import blackjax
import jax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.mcmc.hmc import Hamiltonian
from samplers.settings import settings, static_int


@settings
class DynamicHMC(Hamiltonian):
    """BlackJAX's dynamic HMC: each trajectory has 1 to 2 n - 1 leapfrog steps, drawn uniformly.

    With n = num_integration_steps on average, no trajectory length can resonate with the target (Mackenzie 1989).
    """

    sequential: ClassVar[bool] = True
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted",
        ASYMPTOTIC,
        "num_steps x num_integration_steps + 1, on average",
        "precision, to precondition",
    )

    num_steps: int = 5
    num_integration_steps: int = static_int(
        default=4, ge=1, doc="leapfrog steps of a transition on average, one gradient each"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        upper = 2 * self.num_integration_steps
        algorithm = blackjax.dynamic_hmc(
            preconditioned.logdensity,
            self.leapfrog_step(preconditioned),
            jnp.ones(preconditioned.dim),
            integration_steps_fn=lambda key: jax.random.randint(key, (), 1, upper),
        )
        return as_kernel(algorithm, fresh_momentum=True)

    @property
    @override
    def expected_gradients(self) -> int:
        return self.num_steps * self.num_integration_steps
