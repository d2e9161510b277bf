"""Generalised HMC: one leapfrog step a transition, with a momentum that persists."""

from typing import ClassVar

import blackjax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.from_blackjax import as_kernel
from samplers.mcmc.hmc import Hamiltonian
from samplers.settings import settings, traced_float, traced_int


@settings
class GHMC(Hamiltonian):
    """BlackJAX's generalised HMC with Neal's non-reversible accept test; momentum is fresh at each round's start."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted", ASYMPTOTIC, "steps + 1", "precision, to whiten"
    )

    steps: int = traced_int(default=20, ge=1, doc="transitions a round")
    step: float = traced_float(default=0.6, gt=0, doc="step size, times dim^(-1/4) / sqrt(largest curvature)")
    refresh: float = traced_float(
        default=0.4, gt=0, le=1, doc="share of the momentum's variance that is new in each transition"
    )
    drift: float = traced_float(default=0.1, ge=0, le=1, doc="how far the accept test's slice moves on")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.9)

    def kernel(self, frame: Preconditioned) -> Kernel:
        """A partial refreshment, a leapfrog step, an accept test that flips the momentum where it fails."""
        algorithm = blackjax.ghmc(
            frame.logdensity, self.size(frame), jnp.ones(frame.dim), self.refresh, self.drift
        )
        return as_kernel(algorithm, num_gradients=1)
