"""Hamiltonian Monte Carlo with a fixed number of leapfrog steps."""

from typing import ClassVar

import blackjax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting, warming, warming_every
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.markov import MarkovSampler
from samplers.settings import settings, static_int, traced_float, traced_int


class Hamiltonian(MarkovSampler):
    """What the trajectories share; the step falls as dim^(-1/4)."""

    step: float

    def size(self, frame: Preconditioned) -> Array:
        """The leapfrog step in the coordinates of the frame."""
        return self.step * frame.dim ** (-1 / 4) / jnp.sqrt(frame.curvature)


@settings
class HMC(Hamiltonian):
    """BlackJAX's HMC; the step falls as dim^(-1/4)."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted", ASYMPTOTIC, "steps x leapfrogs + 1", "precision, to whiten"
    )

    steps: int = traced_int(default=5, ge=1, doc="transitions a round")
    leapfrogs: int = static_int(default=4, ge=1, doc="leapfrog steps a transition, a gradient each")
    step: float = traced_float(default=0.6, gt=0, doc="step size, times dim^(-1/4) / sqrt(largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.8)
    warmup: int = warming()
    warmup_every: int = warming_every()

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One trajectory, one accept test."""
        algorithm = blackjax.hmc(frame.logdensity, self.size(frame), jnp.ones(frame.dim), self.leapfrogs)
        return as_kernel(algorithm, fresh_momentum=True)
