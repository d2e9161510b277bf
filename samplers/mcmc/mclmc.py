"""Microcanonical Langevin Monte Carlo, without an accept step."""

from typing import ClassVar, override

import blackjax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import BIASED, Kernel, SamplerInfo
from samplers.errors import InputError
from samplers.from_blackjax import as_kernel
from samplers.markov import PreconditionedSampler
from samplers.settings import settings, traced_float, traced_int


def typical_radius(preconditioned: Preconditioned) -> Float[Array, ""]:
    """Returns sqrt(dim / curvature), the radius of the typical set: the unit of lengths in microcanonical dynamics."""
    if preconditioned.dim < 2:
        raise InputError(
            "microcanonical dynamics need at least 2 dimensions; in one, a direction cannot turn"
        )
    return jnp.sqrt(preconditioned.dim / preconditioned.curvature)


@settings
class MCLMC(PreconditionedSampler):
    """BlackJAX's MCLMC: a velocity of unit length that the gradient turns (Robnik et al. 2023).

    With McLachlan's integrator it is biased by O(step_size^2).
    """

    needs_typical_start: ClassVar[bool] = True  # at unit speed it would take many targets
    stable_curvature: ClassVar[float | None] = 10.0
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient, unadjusted",
        f"{BIASED}, O(step_size^2)",
        "2 x num_steps + 2",
        "dim >= 2; precision, to precondition",
    )

    num_steps: int = traced_int(default=20, ge=1, doc="integration steps per draw, two gradients each")
    step_size: float = traced_float(
        default=0.3, gt=0, doc="step size in units of sqrt(dim / largest curvature)"
    )
    L: float = traced_float(
        default=1.0, gt=0, doc="momentum decoherence length in units of sqrt(dim / largest curvature)"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        unit = typical_radius(preconditioned)
        algorithm = blackjax.mclmc(
            preconditioned.logdensity, L=self.L * unit, step_size=self.step_size * unit
        )
        return as_kernel(algorithm, num_gradients=2)

    @property
    @override
    def expected_gradients(self) -> int:
        return 2 * self.num_steps
