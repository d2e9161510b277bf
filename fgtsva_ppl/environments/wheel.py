"""The wheel bandit (Riquelme, Tucker & Snoek 2018): one number sets how much exploration it needs."""

from typing import override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, Key

from fgtsva_ppl.environments.encoding import encode, encoded_dim, encoding_field
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.settings import settings, traced_float

ARMS = 5
SAFE_MEAN, LOW_MEAN, HIGH_MEAN = 1.2, 1.0, 50.0


@settings
class Wheel(Environment):
    """Contexts are uniform on the unit disk. Arm 0 always pays 1.2.

    The other four arms pay 1, but 50 where the context has a radius above delta and lies in the arm's own quadrant.
    The larger delta, the rarer the contexts that reward exploration.
    """

    delta: float = traced_float(default=0.95, ge=0, le=1, doc="radius up to which the first arm is best")
    scale: float = traced_float(default=0.01, ge=0, doc="standard deviation of every reward")
    encoding: str = encoding_field()

    @property
    @override
    def shape(self) -> Shape:
        return Shape(ARMS, encoded_dim(2, ARMS, self.encoding), fixed_actions=False, linear=False)

    @override
    def start(self, key: Key[Array, ""]) -> tuple[()]:
        return ()  # mean rewards are the same function of the context in all runs

    @override
    def round(self, key: Key[Array, ""], instance: tuple[()], t: Int[Array, ""]) -> tuple[Round, Outcome]:
        context_key, noise_key = jax.random.split(key)
        squared_radius, turn = jax.random.uniform(context_key, (2,))
        radius, angle = jnp.sqrt(squared_radius), 2 * jnp.pi * turn
        context = radius * jnp.array([jnp.cos(angle), jnp.sin(angle)])
        quadrant = 1 + 2 * (context[0] <= 0) + (context[1] <= 0)
        means = jnp.full(ARMS, LOW_MEAN).at[0].set(SAFE_MEAN)
        means = jnp.where((radius > self.delta) & (jnp.arange(ARMS) == quadrant), HIGH_MEAN, means)
        sigma = jnp.asarray(self.scale, dtype=float)
        seen = Round(encode(context, ARMS, self.encoding), sigma)
        return seen, Outcome(means, means + sigma * jax.random.normal(noise_key))
