"""Linear bandits: r = <theta*, a> + N(0, sigma_t^2) with theta* uniform on the unit sphere."""

from abc import abstractmethod
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from fgtsva_ppl.environments.noise import ConstantNoise, DenseNoise, SparseNoise, SteadyNoise
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.errors import InputError
from samplers.settings import flag, settings, static_int, traced_float

MOST_HYPERCUBE_DIM = 16


class Instance(NamedTuple):
    """One run's truth."""

    theta: Array
    actions: Array | None  # drawn for this run; None where no run has any of its own


def unit_vectors(key: Array, shape: tuple[int, ...]) -> Array:
    """Uniform on the sphere along the last axis."""
    raw = jax.random.normal(key, shape)
    scaled: Array = raw / jnp.linalg.norm(raw, axis=-1, keepdims=True)
    return scaled


def hypercube(dim: int) -> np.ndarray:
    """All 2^dim vertices of {-1, 1}^dim / sqrt(dim)."""
    signs: np.ndarray = 1 - 2 * ((np.arange(2**dim)[:, None] >> np.arange(dim)) & 1)
    return signs / np.sqrt(dim)


class LinearEnvironment(Environment):
    """What the linear environments share; each says which action sets and which noise it has."""

    dim: int

    @property
    @abstractmethod
    def noise(self) -> SteadyNoise:
        """The model of sigma_t."""

    def own_actions(self, key: Array) -> Array | None:
        """An action set drawn for one run, kept for all its rounds; None where there is no such thing."""
        return None

    @abstractmethod
    def actions(self, key: Array) -> Array:
        """The action set of a round in a run without one of its own.

        A set that does not come from the key is one for all runs, and what is done with it is done for all at once.
        """

    def start(self, key: Array) -> Instance:
        """Draws theta*."""
        truth, actions = jax.random.split(key)
        return Instance(unit_vectors(truth, (self.dim,)), self.own_actions(actions))

    def round(self, key: Array, instance: Instance, t: Array) -> tuple[Round, Outcome]:
        """Draws actions, sigma_t and the noise. The noise is drawn whatever sigma_t is."""
        actions_key, sigma_key, noise_key = jax.random.split(key, 3)
        actions = self.actions(actions_key) if instance.actions is None else instance.actions
        sigma = self.noise.sigma(sigma_key)
        deviation = sigma / 2 if self.subgaussian else sigma
        outcome = Outcome(actions @ instance.theta, deviation * jax.random.normal(noise_key))
        return Round(actions, sigma), outcome


def _dim() -> int:
    made: int = static_int(default=5, ge=1, le=MOST_HYPERCUBE_DIM, doc="dimension d of the features")
    return made


def _arms() -> int:
    made: int = static_int(
        default=0, ge=0, doc="arms K: 0 for all 2^d vertices, else so many distinct ones drawn per run"
    )
    return made


def _subgaussian() -> bool:
    made: bool = flag(
        default=False,
        doc="sigma_t is the theory's sub-Gaussian norm: noise variance sigma_t^2/4, not sigma_t^2",
    )
    return made


class Hypercube(LinearEnvironment):
    """The paper's action set: the vertices of a hypercube with unit norm, the same in every round."""

    arms: int

    @property
    def shape(self) -> Shape:
        """2^dim arms unless fewer are asked for."""
        if self.arms > 2**self.dim:
            raise InputError(f"arms={self.arms} must be at most 2^dim = {2**self.dim}")
        return Shape(self.arms or 2**self.dim, self.dim, fixed_actions=True, linear=True)

    def own_actions(self, key: Array) -> Array | None:
        """Distinct vertices, where not all of them are arms."""
        if not self.arms:
            return None
        return self.actions(key)[jax.random.permutation(key, 2**self.dim)[: self.arms]]

    def actions(self, key: Array) -> Array:
        """All vertices, in a fixed order."""
        return jnp.asarray(hypercube(self.dim))


@settings
class Sparse(Hypercube):
    """The paper's sparse noise: sigma_t^2 is Bernoulli(p)."""

    dim: int = _dim()
    arms: int = _arms()
    p: float = traced_float(default=0.1, ge=0, le=1, doc="probability that a round is noisy")
    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of a noisy round")
    subgaussian: bool = _subgaussian()

    @property
    def noise(self) -> SteadyNoise:
        """Bernoulli variance."""
        return SparseNoise(self.p, self.scale)


@settings
class Dense(Hypercube):
    """The paper's dense noise: sigma_t^2 is chi-squared with one degree of freedom."""

    dim: int = _dim()
    arms: int = _arms()
    scale: float = traced_float(default=1.0, ge=0, doc="root mean square of the standard deviation")
    subgaussian: bool = _subgaussian()

    @property
    def noise(self) -> SteadyNoise:
        """Chi-squared variance."""
        return DenseNoise(self.scale)


@settings
class Deterministic(Hypercube):
    """No noise at all."""

    dim: int = _dim()
    arms: int = _arms()
    subgaussian: bool = _subgaussian()

    @property
    def noise(self) -> SteadyNoise:
        """sigma_t = 0."""
        return ConstantNoise(0.0)


@settings
class Homoscedastic(Hypercube):
    """The same noise in every round: the classical linear bandit."""

    dim: int = _dim()
    arms: int = _arms()
    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of every round")
    subgaussian: bool = _subgaussian()

    @property
    def noise(self) -> SteadyNoise:
        """sigma_t = scale."""
        return ConstantNoise(self.scale)


@settings
class Contextual(LinearEnvironment):
    """A fresh set of unit-norm arms in every round, with sparse noise."""

    dim: int = static_int(default=5, ge=1, doc="dimension d of the features")
    arms: int = static_int(default=32, ge=1, doc="arms K in each round")
    p: float = traced_float(default=0.1, ge=0, le=1, doc="probability that a round is noisy")
    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of a noisy round")
    subgaussian: bool = _subgaussian()

    @property
    def shape(self) -> Shape:
        """As asked for."""
        return Shape(self.arms, self.dim, fixed_actions=False, linear=True)

    @property
    def noise(self) -> SteadyNoise:
        """Bernoulli variance."""
        return SparseNoise(self.p, self.scale)

    def actions(self, key: Array) -> Array:
        """Uniform on the sphere."""
        return unit_vectors(key, (self.arms, self.dim))
