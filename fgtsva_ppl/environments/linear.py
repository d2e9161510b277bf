"""Linear bandits: r = <theta*, a> + N(0, sigma_t^2) with theta* uniform on the unit sphere."""

from abc import abstractmethod
from typing import Any, NamedTuple, override

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.environments.noise import ConstantNoise, DenseNoise, SparseNoise, StationaryNoise
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers import _fast_normal, _threefry
from samplers.errors import InputError
from samplers.settings import choice, flag, settings, static_int, traced_float

MAX_HYPERCUBE_DIM = 16


class Instance(NamedTuple):
    """One run of a linear bandit.

    Attributes:
        theta: The true parameter theta*.
        actions: The run's own action set; None if action sets are not drawn per run.
    """

    theta: Float[Array, " dim"]
    actions: Float[Array, "arms dim"] | None


def unit_vectors(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "*batch dim"]:
    """Draws vectors uniformly on the unit sphere, along the last axis."""
    normal = jax.random.normal(key, shape)
    return normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)


def turned(
    vector: Float[Array, " dim"], other: Float[Array, " dim"], angle: Float[Array, ""]
) -> Float[Array, " dim"]:
    """The direction of cos(angle) x + sin(angle) y, with a squared length between those of x and y.

    If both are unit vectors, so is the result, and if both are uniform on the sphere and independent, it is uniform.
    """
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    sum_ = cosine * vector + sine * other
    squared_length = cosine**2 * (vector @ vector) + sine**2 * (other @ other)
    squared_norm = sum_ @ sum_
    vanishes = squared_norm <= 1e-24 * squared_length  # opposite vectors, half-way between: no direction
    scale = jnp.sqrt(squared_length / jnp.where(vanishes, 1.0, squared_norm))
    return jnp.where(vanishes, vector, scale * sum_)


def hypercube(dim: int) -> Float[np.ndarray, "vertices dim"]:
    """All 2^dim vertices of {-1, 1}^dim / sqrt(dim), the action set of the paper's experiments (Section 7)."""
    signs: np.ndarray = 1 - 2 * ((np.arange(2**dim)[:, None] >> np.arange(dim)) & 1)
    return signs / np.sqrt(dim)


class LinearEnvironment(Environment):
    """Base class of linear bandits: a subclass chooses the action sets and the noise model."""

    dim: int

    @property
    @abstractmethod
    def noise(self) -> StationaryNoise:
        """The model of sigma_t."""

    def instance_actions(self, key: Key[Array, ""]) -> Float[Array, "arms dim"] | None:
        """Draws an action set that a run keeps for all its rounds; None if `round_actions` applies."""
        return None

    @abstractmethod
    def round_actions(self, key: Key[Array, ""]) -> Float[Array, "arms dim"]:
        """Draws the action set of one round.

        A set that does not depend on the key is not batched over runs: XLA computes with it once for all of them.
        """

    @override
    def start(self, key: Key[Array, ""]) -> Instance:
        theta_key, actions_key = jax.random.split(key)
        return Instance(unit_vectors(theta_key, (self.dim,)), self.instance_actions(actions_key))

    @property
    @override
    def can_drift(self) -> bool:
        return True

    @override
    def moved(self, instance: Instance, other: Instance, angle: Float[Array, ""]) -> Instance:
        return instance._replace(theta=turned(instance.theta, other.theta, angle))

    @override
    def round(self, key: Key[Array, ""], instance: Instance, t: Int[Array, ""]) -> tuple[Round, Outcome]:
        actions_key, sigma_key, noise_key = _threefry.split(key, 3)
        actions = self.round_actions(actions_key) if instance.actions is None else instance.actions
        sigma = self.noise.sigma(sigma_key)
        deviation = sigma / 2 if self.subgaussian else sigma
        means = actions @ instance.theta
        return Round(actions, sigma), Outcome(means, means + deviation * _threefry.normal(noise_key))


def _dim_field() -> Any:
    return static_int(default=5, ge=1, le=MAX_HYPERCUBE_DIM, doc="dimension d of the features")


def _arms_field() -> Any:
    return static_int(
        default=0, ge=0, doc="arms K: 0 for all 2^d vertices, else this many distinct ones drawn per run"
    )


def _subgaussian_field() -> Any:
    return flag(
        default=False,
        doc="sigma_t is the theory's sub-Gaussian norm: noise variance sigma_t^2/4, not sigma_t^2",
    )


class Hypercube(LinearEnvironment):
    """Base class with the paper's action set: vertices of a hypercube with unit norm, fixed for a run."""

    arms: int

    @property
    @override
    def shape(self) -> Shape:
        if self.arms > 2**self.dim:
            raise InputError(f"arms={self.arms} must be at most 2^dim = {2**self.dim}")
        return Shape(self.arms or 2**self.dim, self.dim, fixed_actions=True, linear=True)

    @override
    def instance_actions(self, key: Key[Array, ""]) -> Float[Array, "arms dim"] | None:
        if not self.arms:
            return None
        return self.round_actions(key)[jax.random.permutation(key, 2**self.dim)[: self.arms]]

    @override
    def round_actions(self, key: Key[Array, ""]) -> Float[Array, "arms dim"]:
        return jnp.asarray(hypercube(self.dim))


@settings
class Sparse(Hypercube):
    """The paper's sparse noise (Section 7): sigma_t = scale with probability p, else 0."""

    dim: int = _dim_field()
    arms: int = _arms_field()
    p: float = traced_float(default=0.1, ge=0, le=1, doc="probability that a round is noisy")
    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of a noisy round")
    subgaussian: bool = _subgaussian_field()

    @property
    @override
    def noise(self) -> StationaryNoise:
        return SparseNoise(self.p, self.scale)


@settings
class Dense(Hypercube):
    """The paper's dense noise (Section 7): sigma_t^2 / scale^2 is chi-squared with one degree of freedom."""

    dim: int = _dim_field()
    arms: int = _arms_field()
    scale: float = traced_float(default=1.0, ge=0, doc="root mean square of sigma_t")
    subgaussian: bool = _subgaussian_field()

    @property
    @override
    def noise(self) -> StationaryNoise:
        return DenseNoise(self.scale)


@settings
class Deterministic(Hypercube):
    """Rewards without noise: sigma_t = 0."""

    dim: int = _dim_field()
    arms: int = _arms_field()
    subgaussian: bool = _subgaussian_field()

    @property
    @override
    def noise(self) -> StationaryNoise:
        return ConstantNoise(0.0)


@settings
class Homoscedastic(Hypercube):
    """The classical linear bandit: sigma_t = scale in every round."""

    dim: int = _dim_field()
    arms: int = _arms_field()
    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of every round")
    subgaussian: bool = _subgaussian_field()

    @property
    @override
    def noise(self) -> StationaryNoise:
        return ConstantNoise(self.scale)


@settings
class Contextual(LinearEnvironment):
    """A new set of unit-norm arms in every round, uniform on the sphere, with sparse noise."""

    dim: int = static_int(default=5, ge=1, doc="dimension d of the features")
    arms: int = static_int(default=32, ge=1, doc="arms K in each round")
    p: float = traced_float(default=0.1, ge=0, le=1, doc="probability that a round is noisy")
    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of a noisy round")
    subgaussian: bool = _subgaussian_field()
    truth: str = choice(
        default="sphere",
        options=("sphere", "prior"),
        doc="theta*: uniform on the unit sphere, or N(0, I/d), the prior of reward linear",
    )

    @override
    def start(self, key: Key[Array, ""]) -> Instance:
        if self.truth == "sphere":
            return super().start(key)
        theta = jax.random.normal(jax.random.split(key)[0], (self.dim,)) / jnp.sqrt(self.dim)
        return Instance(theta, None)

    @property
    @override
    def shape(self) -> Shape:
        return Shape(self.arms, self.dim, fixed_actions=False, linear=True)

    @property
    @override
    def noise(self) -> StationaryNoise:
        return SparseNoise(self.p, self.scale)

    @override
    def round_actions(self, key: Key[Array, ""]) -> Float[Array, "arms dim"]:
        # Most of a round's cost in high dimensions. Sums by a product, which a CPU does ten times faster than a
        # reduction along rows.
        directions = _fast_normal.normal(key, (self.arms, self.dim))
        lengths = jnp.sqrt(directions**2 @ jnp.ones(self.dim))
        return directions / lengths[:, None]
