"""Contextual bandits whose truth is not linear: fresh unit-norm arms in every round, constant noise."""

from abc import abstractmethod

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.environments.linear import unit_vectors
from fgtsva_ppl.rewards import MLP, Logistic, RewardFunction, flat_model
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.settings import choice, settings, static_int, traced_float


def _dim() -> int:
    made: int = static_int(default=5, ge=1, doc="dimension d of the features")
    return made


def _arms() -> int:
    made: int = static_int(default=10, ge=1, doc="arms K in each round")
    return made


def _scale() -> float:
    made: float = traced_float(default=0.1, ge=0, doc="standard deviation of every round's noise")
    return made


class NonlinearBandit(Environment):
    """What the teachers share; each says what is drawn for a run, and which rewards follow from that."""

    dim: int
    arms: int
    scale: float

    @property
    def shape(self) -> Shape:
        """As asked for."""
        return Shape(self.arms, self.dim, fixed_actions=False, linear=False)

    @abstractmethod
    def start(self, key: Array) -> Array:
        """The parameters of a run's truth."""

    @abstractmethod
    def truth(self, parameters: Array) -> RewardFunction:
        """The reward function that they stand for."""

    def round(self, key: Array, instance: Array, t: Array) -> tuple[Round, Outcome]:
        """Draws arms and noise."""
        actions_key, noise_key = jax.random.split(key)
        actions = unit_vectors(actions_key, (self.arms, self.dim))
        sigma = jnp.asarray(self.scale, dtype=float)
        outcome = Outcome(self.truth(instance)(actions), sigma * jax.random.normal(noise_key))
        return Round(actions, sigma), outcome


@settings
class LogisticBandit(NonlinearBandit):
    """The truth is drawn from reward `logistic`."""

    dim: int = _dim()
    arms: int = _arms()
    scale: float = _scale()
    steepness: float = traced_float(default=3.0, gt=0, doc="standard deviation of the true coefficients")

    def start(self, key: Array) -> Array:
        """theta* ~ N(0, steepness^2 I)."""
        return self.steepness * flat_model(Logistic(), self.dim).draw(key)

    def truth(self, parameters: Array) -> RewardFunction:
        """A probability."""
        return flat_model(Logistic(), self.dim).function(parameters)


@settings
class MLPBandit(NonlinearBandit):
    """The truth is a network drawn from reward `mlp`."""

    dim: int = _dim()
    arms: int = _arms()
    scale: float = _scale()
    width: int = static_int(default=16, ge=1, doc="units of a hidden layer")
    depth: int = static_int(default=1, ge=1, doc="hidden layers")
    activation: str = choice(default="tanh", options=("tanh", "relu", "softplus"), doc="of a hidden unit")

    def start(self, key: Array) -> Array:
        """Weights from the prior."""
        return flat_model(self._reward, self.dim).draw(key)

    def truth(self, parameters: Array) -> RewardFunction:
        """The network."""
        return flat_model(self._reward, self.dim).function(parameters)

    @property
    def _reward(self) -> MLP:
        return MLP(self.width, self.depth, self.activation)


@settings
class Quadratic(NonlinearBandit):
    """f*(phi) = gain <theta*, phi>^2 with theta* uniform on the unit sphere."""

    dim: int = _dim()
    arms: int = _arms()
    scale: float = _scale()
    gain: float = traced_float(default=1.0, gt=0, doc="the largest reward there is")

    def start(self, key: Array) -> Array:
        """theta*."""
        return unit_vectors(key, (self.dim,))

    def truth(self, parameters: Array) -> RewardFunction:
        """Even in theta*: there are two of them."""
        return lambda features: self.gain * (features @ parameters) ** 2
