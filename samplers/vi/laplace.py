"""Laplace's approximation."""

from typing import ClassVar, override

import jax
from jax import Array
from jaxtyping import Key

from samplers.adaptation.preconditioning import Dense
from samplers.base import BIASED, SamplerInfo, SamplerState
from samplers.errors import InputError
from samplers.mode import find_mode
from samplers.settings import settings, static_int
from samplers.target import Target
from samplers.vi.base import Approximation, Fit


@settings
class Laplace(Approximation):
    """The Gaussian at a mode of the target, with the target's precision there; exact for Gaussian targets."""

    uses_metric: ClassVar[bool] = False
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "approximation", f"{BIASED}, unless Gaussian", "num_iterations + 1", "precision"
    )

    num_iterations: int = static_int(default=10, ge=1, doc="Newton steps to the mode, from the last mode")

    @override
    def fit(self, key: Key[Array, ""], target: Target, state: SamplerState) -> Fit:
        if target.precision is None:
            raise InputError("sampler 'laplace' needs the precision of the target, and this target has none")
        mode = find_mode(target, state.carry, self.num_iterations)
        preconditioned = Dense().apply(target.with_local_precision(), mode)
        centre = preconditioned.from_target(mode)

        def draw(key: Array) -> Array:
            noise = jax.random.normal(key, centre.shape, centre.dtype)
            return preconditioned.to_target(centre + noise)

        return Fit(draw, mode, self.num_iterations + 1)

    @property
    @override
    def expected_gradients(self) -> int:
        return self.num_iterations + 1
