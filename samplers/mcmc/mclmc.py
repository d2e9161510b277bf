"""Microcanonical Langevin Monte Carlo, without an accept test."""

from typing import ClassVar

import blackjax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.base import BIASED, Kernel, SamplerInfo
from samplers.errors import InputError
from samplers.from_blackjax import as_kernel
from samplers.markov import MarkovSampler
from samplers.settings import settings, traced_float, traced_int


class Microcanonical(MarkovSampler):
    """A unit velocity that the gradient turns; lengths are in units of sqrt(dim), the radius of the typical set."""

    def unit(self, frame: Preconditioned) -> Array:
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
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient, unadjusted", f"{BIASED}, O(step^2)", "2 x steps + 2", "dim >= 2; precision, to whiten"
    )

    steps: int = traced_int(default=20, ge=1, doc="integration steps a round, two gradients each")
    step: float = traced_float(default=0.3, gt=0, doc="step size, times sqrt(dim / largest curvature)")
    length: float = traced_float(
        default=1.0, gt=0, doc="length over which momentum decoheres, times sqrt(dim / largest curvature)"
    )
    whiten: str = whitening()
    rule: str = step_rule()

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One step of the isokinetic dynamics with a partial refreshment."""
        unit = self.unit(frame)
        return as_kernel(
            blackjax.mclmc(frame.logdensity, L=self.length * unit, step_size=self.step * unit),
            num_gradients=2,
        )
