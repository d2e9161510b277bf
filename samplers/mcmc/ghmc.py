"""Generalised HMC: one leapfrog step a transition, with a momentum that persists."""

from typing import ClassVar

import blackjax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Frame, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting
from samplers.base import ASYMPTOTIC, Card, Kernel
from samplers.from_blackjax import adapted
from samplers.mcmc.hmc import Hamiltonian
from samplers.settings import count, number, settings


@settings
class GHMC(Hamiltonian):
    """BlackJAX's generalised HMC with Neal's non-reversible accept test; momentum is fresh at each round's start."""

    card: ClassVar[Card] = Card("Metropolis-adjusted", ASYMPTOTIC, "steps + 1", "precision, to whiten")

    steps: int = count(default=20, least=1, doc="transitions a round")
    step: float = number(default=0.6, above=0, doc="step size, times dim^(-1/4) / sqrt(largest curvature)")
    refresh: float = number(
        default=0.4, above=0, most=1, doc="share of the momentum's variance that is new in each transition"
    )
    drift: float = number(default=0.1, least=0, most=1, doc="how far the accept test's slice moves on")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.9)

    def kernel(self, frame: Frame) -> Kernel:
        """A partial refreshment, a leapfrog step, an accept test that flips the momentum where it fails."""
        algorithm = blackjax.ghmc(
            frame.logdensity, self.size(frame), jnp.ones(frame.dim), self.refresh, self.drift
        )
        return adapted(algorithm, gradients=1)
