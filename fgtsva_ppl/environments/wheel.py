"""The wheel bandit (Riquelme, Tucker & Snoek 2018): how much exploration it needs is one number."""

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.environments.encoding import encoded, encoded_size, encoding
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.settings import settings, traced_float

ARMS = 5
SAFE, PLAIN, JACKPOT = 1.2, 1.0, 50.0  # mean rewards


@settings
class Wheel(Environment):
    """A context in the unit disk. The first arm pays 1.2 always, the others 1; in its own quadrant of the rim, 50."""

    delta: float = traced_float(default=0.95, ge=0, le=1, doc="radius within which the first arm is best")
    scale: float = traced_float(default=0.01, ge=0, doc="standard deviation of every reward")
    encoding: str = encoding()

    @property
    def shape(self) -> Shape:
        """Five arms, two numbers of context."""
        return Shape(ARMS, encoded_size(2, ARMS, self.encoding), fixed_actions=False, linear=False)

    def start(self, key: Array) -> tuple[()]:
        """Every run has the same truth."""
        return ()

    def round(self, key: Array, instance: tuple[()], t: Array) -> tuple[Round, Outcome]:
        """A point in the disk."""
        place, noise_key = jax.random.split(key)
        share, turn = jax.random.uniform(place, (2,))
        radius, angle = jnp.sqrt(share), 2 * jnp.pi * turn
        point = radius * jnp.array([jnp.cos(angle), jnp.sin(angle)])
        quadrant = 1 + 2 * (point[0] <= 0) + (point[1] <= 0)
        means = jnp.full(ARMS, PLAIN).at[0].set(SAFE)
        means = jnp.where((radius > self.delta) & (jnp.arange(ARMS) == quadrant), JACKPOT, means)
        sigma = jnp.asarray(self.scale, dtype=float)
        seen = Round(encoded(point, ARMS, self.encoding), sigma)
        return seen, Outcome(means, sigma * jax.random.normal(noise_key))
