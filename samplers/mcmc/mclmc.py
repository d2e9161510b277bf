"""Microcanonical Langevin Monte Carlo, without an accept test."""

from typing import ClassVar

import blackjax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Frame, step_rule, whitening
from samplers.base import BIASED, Card, Kernel
from samplers.from_blackjax import adapted
from samplers.markov import MarkovSampler
from samplers.settings import InputError, count, number, settings


class Microcanonical(MarkovSampler):
    """A unit velocity that the gradient turns; lengths are in units of sqrt(dim), the radius of the typical set."""

    def unit(self, frame: Frame) -> Array:
        """sqrt(dim) standard deviations."""
        if frame.dim < 2:
            raise InputError(
                "microcanonical dynamics need at least 2 dimensions; in one, a direction cannot turn"
            )
        return jnp.sqrt(frame.dim / frame.curvature)


@settings
class MCLMC(Microcanonical):
    """BlackJAX's MCLMC (Robnik et al. 2023) with McLachlan's integrator; biased by O(step^2)."""

    fetched: ClassVar[bool] = True  # at unit speed it would take many rounds
    card: ClassVar[Card] = Card(
        "gradient, unadjusted", f"{BIASED}, O(step^2)", "2 x steps + 2", "dim >= 2; precision, to whiten"
    )

    steps: int = count(default=20, least=1, doc="integration steps a round, two gradients each")
    step: float = number(default=0.3, above=0, doc="step size, times sqrt(dim / largest curvature)")
    length: float = number(
        default=1.0, above=0, doc="length over which momentum decoheres, times sqrt(dim / largest curvature)"
    )
    whiten: str = whitening()
    rule: str = step_rule()

    def kernel(self, frame: Frame) -> Kernel:
        """One step of the isokinetic dynamics with a partial refreshment."""
        unit = self.unit(frame)
        return adapted(
            blackjax.mclmc(frame.logdensity, L=self.length * unit, step_size=self.step * unit), gradients=2
        )
