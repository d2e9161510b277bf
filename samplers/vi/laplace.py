"""Laplace's approximation."""

from typing import ClassVar

import jax
from jax import Array

from samplers.adaptation.preconditioning import frame
from samplers.base import BIASED, SamplerInfo, SamplerState
from samplers.errors import InputError
from samplers.settings import settings, static_int
from samplers.target import Target
from samplers.vi.base import Approximation, Fit, mode


@settings
class Laplace(Approximation):
    """A Gaussian at a mode of the target, with the precision there; exact for Gaussian targets."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "approximation", f"{BIASED}, unless Gaussian", "iterations + 1", "precision"
    )

    iterations: int = static_int(default=10, ge=1, doc="Newton steps to the mode, from the last mode")

    def fit(self, key: Array, target: Target, state: SamplerState) -> Fit:
        """Climbs, then takes the precision at the top."""
        if target.precision is None:
            raise InputError("sampler 'laplace' needs the precision of the target, and this target has none")
        top = mode(target, state.carry, self.iterations)
        where = frame(target, top, "dense")
        centre = where.from_target(top)

        def draw(key: Array) -> Array:
            return where.to_target(centre + jax.random.normal(key, centre.shape, centre.dtype))

        return Fit(draw, top, self.iterations + 1)
