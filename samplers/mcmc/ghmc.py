"""Generalised Hamiltonian Monte Carlo: one leapfrog step per transition, with a persistent momentum."""

from typing import ClassVar, override

import blackjax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.mcmc.hmc import Hamiltonian
from samplers.settings import settings, traced_float


@settings
class GHMC(Hamiltonian):
    """BlackJAX's generalised HMC: partial momentum refreshment, one leapfrog step, a non-reversible accept step.

    The momentum is refreshed as in Horowitz (1991) and the slice variable moves on as in Neal (2020). Each target
    starts with a new momentum.
    """

    optimal_acceptance_rate: ClassVar[float] = 0.9
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted", ASYMPTOTIC, "num_steps + 1", "precision, to precondition"
    )

    alpha: float = traced_float(
        default=0.4, gt=0, le=1, doc="share of the momentum's variance that a transition refreshes"
    )
    delta: float = traced_float(
        default=0.1, ge=0, le=1, doc="by how much a transition moves the slice variable of the accept step"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        algorithm = blackjax.ghmc(
            preconditioned.logdensity,
            self.leapfrog_step(preconditioned),
            jnp.ones(preconditioned.dim),
            self.alpha,
            self.delta,
        )
        return as_kernel(algorithm, num_gradients=1)
