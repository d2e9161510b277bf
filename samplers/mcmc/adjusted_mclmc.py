"""Microcanonical Monte Carlo under an accept test."""

from typing import ClassVar

import blackjax

from samplers.adaptation.preconditioning import Frame, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting
from samplers.base import ASYMPTOTIC, Card, Kernel
from samplers.from_blackjax import adapted
from samplers.mcmc.mclmc import Microcanonical
from samplers.settings import count, integer, number, settings


@settings
class AdjustedMCLMC(Microcanonical):
    """BlackJAX's adjusted MCLMC: isokinetic trajectories under an accept test."""

    fetched: ClassVar[bool] = True  # at unit speed it would take many rounds
    card: ClassVar[Card] = Card(
        "Metropolis-adjusted",
        ASYMPTOTIC,
        "2 x steps x integration_steps + 2",
        "dim >= 2; precision, to whiten",
    )

    steps: int = count(default=5, least=1, doc="transitions a round")
    integration_steps: int = integer(
        default=3, least=1, doc="integration steps a transition, two gradients each"
    )
    step: float = number(default=0.5, above=0, doc="step size, times sqrt(dim / largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    adapt: bool = adapting()
    target_acceptance: float = acceptance(0.9)

    def kernel(self, frame: Frame) -> Kernel:
        """One trajectory, one accept test."""
        algorithm = blackjax.adjusted_mclmc(
            frame.logdensity,
            self.step * self.unit(frame),
            integration_steps_params=(self.integration_steps,),
        )
        return adapted(algorithm, gradients=2 * self.integration_steps)
