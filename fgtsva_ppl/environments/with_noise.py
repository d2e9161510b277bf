"""An environment with another noise than its own."""

from typing import Any, NamedTuple

import jax
from jax import Array

from fgtsva_ppl.environments.linear import unit_vectors
from fgtsva_ppl.environments.noise import Noise, Now
from fgtsva_ppl.rewards.context import context
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.settings import nested, settings

OWN = 1  # stream of a key, beside what the environment within splits off


class WithNoiseInstance(NamedTuple):
    """One run's truth, and the direction of the context along which its noise may change."""

    truth: Any
    direction: Array


@settings
class WithNoise(Environment):
    """Arms and mean rewards of an environment, with sigma_t and noise of a model."""

    environment: Environment = nested()
    noise: Noise = nested()

    @property
    def shape(self) -> Shape:
        """As the environment within."""
        return self.environment.shape

    def start(self, key: Array) -> WithNoiseInstance:
        """The same truth as without this noise."""
        direction = unit_vectors(jax.random.fold_in(key, OWN), (self.shape.dim,))
        return WithNoiseInstance(self.environment.start(key), direction)

    def round(self, key: Array, instance: WithNoiseInstance, t: Array) -> tuple[Round, Outcome]:
        """The same arms and means as without this noise."""
        inner = self.environment
        seen, outcome = inner.round(key, instance.truth, t)
        sigma_key, noise_key = jax.random.split(jax.random.fold_in(key, OWN))
        now = Now(t + 1, context(seen.actions) @ instance.direction)
        sigma = self.noise.sigma(sigma_key, now)
        deviation = sigma / 2 if inner.subgaussian else sigma
        noise = deviation * jax.random.normal(noise_key)
        return seen._replace(sigma=sigma), outcome._replace(noise=noise)
