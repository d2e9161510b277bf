"""Contextual bandits with nonlinear mean rewards: new unit-norm arms in every round, constant noise."""

from abc import abstractmethod
from typing import Any, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.environments.bernoulli import SIGMA, bernoulli_rewards
from fgtsva_ppl.environments.linear import unit_vectors
from fgtsva_ppl.rewards import MLP, Logistic, RewardFunction, flat_model
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.settings import choice, settings, static_int, traced_float


def _dim_field() -> Any:
    return static_int(default=5, ge=1, doc="dimension d of the features")


def _arms_field() -> Any:
    return static_int(default=10, ge=1, doc="arms K in each round")


def _scale_field() -> Any:
    return traced_float(default=0.1, ge=0, doc="standard deviation of every round's noise")


class NonlinearBandit(Environment):
    """Base class: a subclass draws a run's parameters and maps them to the true reward function."""

    dim: int
    arms: int
    scale: float

    @property
    @override
    def shape(self) -> Shape:
        return Shape(self.arms, self.dim, fixed_actions=False, linear=False)

    @override
    @abstractmethod
    def start(self, key: Key[Array, ""]) -> Float[Array, " size"]:
        """Draws the parameters of a run's true reward function."""

    @abstractmethod
    def reward_function(self, parameters: Float[Array, " size"]) -> RewardFunction:
        """The true reward function f*, from features (arms, dim) to means (arms,)."""

    @override
    def round(
        self, key: Key[Array, ""], instance: Float[Array, " size"], t: Int[Array, ""]
    ) -> tuple[Round, Outcome]:
        actions_key, noise_key = jax.random.split(key)
        actions = unit_vectors(actions_key, (self.arms, self.dim))
        sigma = jnp.asarray(self.scale, dtype=float)
        means = self.reward_function(instance)(actions)
        return Round(actions, sigma), Outcome(means, means + sigma * jax.random.normal(noise_key))


@settings
class LogisticBandit(NonlinearBandit):
    """f*(phi) = 1/(1 + exp(-<theta*, phi>)) with theta* ~ N(0, steepness^2 I); 0/1 rewards with rewards=bernoulli."""

    dim: int = _dim_field()
    arms: int = _arms_field()
    scale: float = _scale_field()
    steepness: float = traced_float(default=3.0, gt=0, doc="standard deviation of the true coefficients")
    rewards: str = choice(
        default="gaussian",
        options=("gaussian", "bernoulli"),
        doc="means plus normal noise; or 0/1 rewards with these means, of which sigma_t = 1/2 is revealed",
    )

    @property
    @override
    def additive_noise(self) -> bool:
        return self.rewards == "gaussian"

    @override
    def round(
        self, key: Key[Array, ""], instance: Float[Array, " size"], t: Int[Array, ""]
    ) -> tuple[Round, Outcome]:
        seen, outcome = super().round(key, instance, t)
        if self.rewards == "gaussian":
            return seen, outcome
        revealed = seen._replace(sigma=jnp.asarray(SIGMA))
        return revealed, outcome._replace(rewards=bernoulli_rewards(key, outcome.means))

    @property
    @override
    def can_drift(self) -> bool:
        return True

    @override
    def moved(
        self, instance: Float[Array, " size"], other: Float[Array, " size"], angle: Float[Array, ""]
    ) -> Float[Array, " size"]:
        """cos(angle) x + sin(angle) y, which keeps the normal distribution of independent x and y."""
        return jnp.cos(angle) * instance + jnp.sin(angle) * other

    @override
    def start(self, key: Key[Array, ""]) -> Float[Array, " size"]:
        return self.steepness * flat_model(Logistic(), self.dim).draw(key)

    @override
    def reward_function(self, parameters: Float[Array, " size"]) -> RewardFunction:
        return flat_model(Logistic(), self.dim).function(parameters)


@settings
class MLPBandit(NonlinearBandit):
    """f* is a multilayer perceptron with weights drawn from the prior of reward `mlp`."""

    dim: int = _dim_field()
    arms: int = _arms_field()
    scale: float = _scale_field()
    width: int = static_int(default=16, ge=1, doc="units of a hidden layer")
    depth: int = static_int(default=1, ge=1, doc="hidden layers")
    activation: str = choice(
        default="tanh", options=("tanh", "relu", "softplus"), doc="activation of hidden units"
    )

    @override
    def start(self, key: Key[Array, ""]) -> Float[Array, " size"]:
        return flat_model(self._reward, self.dim).draw(key)

    @override
    def reward_function(self, parameters: Float[Array, " size"]) -> RewardFunction:
        return flat_model(self._reward, self.dim).function(parameters)

    @property
    def _reward(self) -> MLP:
        return MLP(self.width, self.depth, self.activation)


@settings
class QuadraticBandit(NonlinearBandit):
    """f*(phi) = gain <theta*, phi>^2 with theta* uniform on the unit sphere.

    theta* and -theta* have the same rewards, so the posterior has two modes.
    """

    dim: int = _dim_field()
    arms: int = _arms_field()
    scale: float = _scale_field()
    gain: float = traced_float(default=1.0, gt=0, doc="largest mean reward")

    @override
    def start(self, key: Key[Array, ""]) -> Float[Array, " size"]:
        return unit_vectors(key, (self.dim,))

    @override
    def reward_function(self, parameters: Float[Array, " size"]) -> RewardFunction:
        return lambda features: self.gain * (features @ parameters) ** 2
