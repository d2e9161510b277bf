"""Hamiltonian Monte Carlo with a number of leapfrog steps that is drawn anew for each trajectory."""

from typing import ClassVar

import blackjax
import jax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Frame, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting, warming, warming_every
from samplers.base import ASYMPTOTIC, Card, Kernel
from samplers.from_blackjax import adapted
from samplers.mcmc.hmc import Hamiltonian
from samplers.settings import count, integer, number, settings


@settings
class DynamicHMC(Hamiltonian):
    """BlackJAX's HMC with 1 to 2 leapfrogs - 1 leapfrog steps, drawn anew: no trajectory length can resonate."""

    scalar: ClassVar[bool] = True
    card: ClassVar[Card] = Card(
        "Metropolis-adjusted", ASYMPTOTIC, "steps x leapfrogs + 1, on average", "precision, to whiten"
    )

    steps: int = count(default=5, least=1, doc="transitions a round")
    leapfrogs: int = integer(default=4, least=1, doc="leapfrog steps a transition, on average")
    step: float = number(default=0.6, above=0, doc="step size, times dim^(-1/4) / sqrt(largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.8)
    warmup: int = warming()
    warmup_every: int = warming_every()

    def kernel(self, frame: Frame) -> Kernel:
        """One trajectory of random length, one accept test."""
        most = 2 * self.leapfrogs
        algorithm = blackjax.dynamic_hmc(
            frame.logdensity,
            self.size(frame),
            jnp.ones(frame.dim),
            integration_steps_fn=lambda key: jax.random.randint(key, (), 1, most),
        )
        return adapted(algorithm, fresh_momentum=True)
