"""An environment whose noise is replaced by a noise model."""

from typing import Any, NamedTuple, override

import jax
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.environments.linear import unit_vectors
from fgtsva_ppl.environments.noise import Noise, RoundContext
from fgtsva_ppl.rewards.context import context
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.errors import InputError
from samplers.settings import nested, settings

NOISE_STREAM = 1  # folded into a key, so that the inner environment's own splits of that key are not reused


class WithNoiseInstance(NamedTuple):
    """One run: the instance of the inner environment, and the context direction that the noise may depend on."""

    inner: Any
    direction: Float[Array, " dim"]


@settings
class WithNoise(Environment):
    """Action sets and mean rewards of an environment, with sigma_t and noise drawn from a noise model.

    Runs keep their parameters, action sets and mean rewards: only sigma_t and the noise differ from the inner
    environment, so that noise models are compared on common random numbers.
    """

    environment: Environment = nested()
    noise: Noise = nested()

    @property
    @override
    def shape(self) -> Shape:
        if not self.environment.additive_noise:
            raise InputError(
                f"noise: the rewards of environment {type(self.environment).__name__} are not means plus noise, "
                "and have no noise to replace"
            )
        return self.environment.shape

    @property
    @override
    def can_drift(self) -> bool:
        return self.environment.can_drift

    @override
    def moved(
        self, instance: WithNoiseInstance, other: WithNoiseInstance, angle: Float[Array, ""]
    ) -> WithNoiseInstance:
        return instance._replace(inner=self.environment.moved(instance.inner, other.inner, angle))

    @override
    def start(self, key: Key[Array, ""]) -> WithNoiseInstance:
        direction = unit_vectors(jax.random.fold_in(key, NOISE_STREAM), (self.shape.dim,))
        return WithNoiseInstance(self.environment.start(key), direction)

    @override
    def round(
        self, key: Key[Array, ""], instance: WithNoiseInstance, t: Int[Array, ""]
    ) -> tuple[Round, Outcome]:
        seen, outcome = self.environment.round(key, instance.inner, t)
        sigma_key, noise_key = jax.random.split(jax.random.fold_in(key, NOISE_STREAM))
        projection = context(seen.actions) @ instance.direction
        sigma = self.noise.sigma(sigma_key, RoundContext(t + 1, projection))
        deviation = sigma / 2 if self.environment.subgaussian else sigma
        noise = deviation * jax.random.normal(noise_key)
        return seen._replace(sigma=sigma), outcome._replace(rewards=outcome.means + noise)
