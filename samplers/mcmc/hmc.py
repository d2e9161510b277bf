"""Hamiltonian Monte Carlo with a fixed number of leapfrog steps."""

from typing import ClassVar, override

import blackjax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.markov import AdjustedSampler
from samplers.settings import settings, static_int, traced_float


@settings
class Hamiltonian(AdjustedSampler):
    """What samplers with leapfrog trajectories share: a step size that falls as dim^(-1/4) (Beskos et al. 2013)."""

    optimal_acceptance_rate: ClassVar[float] = 0.8

    step_size: float = traced_float(
        default=0.6, gt=0, doc="leapfrog step size in units of dim^(-1/4) / sqrt(largest curvature)"
    )

    def leapfrog_step(self, preconditioned: Preconditioned) -> Float[Array, ""]:
        """Returns the step size in the preconditioned coordinates."""
        return self.step_size * preconditioned.dim ** (-1 / 4) / preconditioned.root_curvature


@settings
class HMC(Hamiltonian):
    """BlackJAX's HMC: a leapfrog trajectory of fixed length, then an accept step (Neal 2011)."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted",
        ASYMPTOTIC,
        "num_steps x num_integration_steps + 1",
        "precision, to precondition",
    )

    num_steps: int = 5
    num_integration_steps: int = static_int(
        default=4, ge=1, doc="leapfrog steps of a transition, one gradient each"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        algorithm = blackjax.hmc(
            preconditioned.logdensity,
            self.leapfrog_step(preconditioned),
            jnp.ones(preconditioned.dim),
            self.num_integration_steps,
        )
        return as_kernel(algorithm, fresh_momentum=True)

    @property
    @override
    def expected_gradients(self) -> int:
        return self.num_steps * self.num_integration_steps
