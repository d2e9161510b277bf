"""The No-U-Turn sampler."""

from typing import ClassVar

import blackjax
import jax.numpy as jnp

from samplers.adaptation.preconditioning import Frame, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting, warming, warming_every
from samplers.base import ASYMPTOTIC, Card, Kernel
from samplers.from_blackjax import adapted
from samplers.mcmc.hmc import Hamiltonian
from samplers.settings import count, integer, number, settings


@settings
class NUTS(Hamiltonian):
    """BlackJAX's NUTS: trajectories as long as they are useful."""

    scalar: ClassVar[bool] = True
    card: ClassVar[Card] = Card(
        "Metropolis-adjusted", ASYMPTOTIC, "steps x (1 to 2^doublings - 1) + 1", "precision, to whiten"
    )

    steps: int = count(default=5, least=1, doc="transitions a round")
    step: float = number(default=0.9, above=0, doc="step size, times dim^(-1/4) / sqrt(largest curvature)")
    doublings: int = integer(default=8, least=1, most=12, doc="most doublings of a trajectory")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.8)
    warmup: int = warming()
    warmup_every: int = warming_every()

    def kernel(self, frame: Frame) -> Kernel:
        """One trajectory of dynamic length."""
        algorithm = blackjax.nuts(
            frame.logdensity, self.size(frame), jnp.ones(frame.dim), max_num_doublings=self.doublings
        )
        return adapted(algorithm, fresh_momentum=True)
