"""A linear bandit with arms in a cube, fixed for a run."""

from typing import override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from fgtsva_ppl.environments.linear import Instance, LinearEnvironment
from fgtsva_ppl.environments.noise import ConstantNoise, StationaryNoise
from fgtsva_ppl.types import Shape
from samplers.settings import settings, static_int, traced_float


@settings
class Cube(LinearEnvironment):
    """Arms uniform in [-1/sqrt(d), 1/sqrt(d)]^d, fixed for a run, and theta* ~ N(0, I): Ensemble++'s linear bandit."""

    dim: int = static_int(default=10, ge=1, doc="dimension d of the features")
    arms: int = static_int(default=100, ge=2, doc="arms K")
    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of the noise")

    @property
    @override
    def shape(self) -> Shape:
        return Shape(self.arms, self.dim, fixed_actions=True, linear=True)

    @property
    @override
    def noise(self) -> StationaryNoise:
        return ConstantNoise(self.scale)

    @override
    def start(self, key: Key[Array, ""]) -> Instance:
        theta_key, actions_key = jax.random.split(key)
        return Instance(jax.random.normal(theta_key, (self.dim,)), self.round_actions(actions_key))

    @override
    def round_actions(self, key: Key[Array, ""]) -> Float[Array, "arms dim"]:
        side = 1 / jnp.sqrt(self.dim)
        return jax.random.uniform(key, (self.arms, self.dim), minval=-side, maxval=side)
