"""A contextual bandit in which every arm has coefficients of its own."""

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
class Disjoint(LinearEnvironment):
    """Disjoint linear arms: a normal context x in each round, mean <x, theta_a>, and theta_a ~ N(0, I)."""

    arms: int = static_int(default=5, ge=2, doc="arms K")
    context_dim: int = static_int(default=4, ge=1, doc="dimension of the context")
    scale: float = traced_float(default=0.5, ge=0, doc="standard deviation of the noise")

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Coefficients of all arms."""
        return self.arms * self.context_dim

    @property
    @override
    def shape(self) -> Shape:
        return Shape(self.arms, self.dim, fixed_actions=False, linear=True)

    @property
    @override
    def noise(self) -> StationaryNoise:
        return ConstantNoise(self.scale)

    @override
    def start(self, key: Key[Array, ""]) -> Instance:
        return Instance(jax.random.normal(key, (self.dim,)), None)

    @override
    def round_actions(self, key: Key[Array, ""]) -> Float[Array, "arms dim"]:
        context = jax.random.normal(key, (self.context_dim,))
        return jnp.kron(jnp.eye(self.arms), context)
