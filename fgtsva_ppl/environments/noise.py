"""Noise models: the distribution of each round's noise level sigma_t, combined with any environment by `WithNoise`."""

from abc import ABC, abstractmethod
from typing import NamedTuple, override

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from samplers import _threefry
from samplers.registry import Registry
from samplers.settings import settings, traced_float


class RoundContext(NamedTuple):
    """The features of a round that a noise model may depend on.

    Attributes:
        number: Number of the round, counted from 1.
        projection: Projection z_t of the round's context on a direction drawn for the run; about standard normal.
    """

    number: Int[Array, ""] | int = 1
    projection: Float[Array, ""] | float = 0.0


FIRST_ROUND = RoundContext()


class Noise(ABC):
    """A model of the noise level sigma_t."""

    @abstractmethod
    def sigma(self, key: Key[Array, ""], context: RoundContext = FIRST_ROUND) -> Float[Array, ""]:
        """Draws sigma_t, the standard deviation of the round's noise."""


class StationaryNoise(Noise):
    """A noise model with the same distribution of sigma_t in every round."""

    @property
    @abstractmethod
    def mean_variance(self) -> float:
        """E sigma_t^2, the expected contribution of a round to the total variance Lambda."""


@settings
class DefaultNoise(Noise):
    """The environment's own noise, unchanged."""

    @override
    def sigma(self, key: Key[Array, ""], context: RoundContext = FIRST_ROUND) -> Float[Array, ""]:
        raise NotImplementedError(
            "noise 'default' leaves the environment as it is: do not wrap it in WithNoise"
        )


@settings
class SparseNoise(StationaryNoise):
    """sigma_t = scale with probability p, else 0 (first noise model of the paper's Section 7)."""

    p: float = traced_float(default=0.1, ge=0, le=1, doc="probability that a round is noisy")
    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of a noisy round")

    @property
    @override
    def mean_variance(self) -> float:
        return self.p * self.scale**2

    @override
    def sigma(self, key: Key[Array, ""], context: RoundContext = FIRST_ROUND) -> Float[Array, ""]:
        return jnp.where(_threefry.uniform(key) < self.p, self.scale, 0.0)


@settings
class DenseNoise(StationaryNoise):
    """sigma_t^2 = scale^2 X_t with X_t ~ chi^2_1 (second noise model of the paper's Section 7)."""

    scale: float = traced_float(default=1.0, ge=0, doc="root mean square of sigma_t")

    @property
    @override
    def mean_variance(self) -> float:
        return self.scale**2

    @override
    def sigma(self, key: Key[Array, ""], context: RoundContext = FIRST_ROUND) -> Float[Array, ""]:
        return self.scale * jnp.abs(_threefry.normal(key))  # |N(0, 1)| is the root of a chi^2_1 variable


@settings
class ConstantNoise(StationaryNoise):
    """sigma_t = scale in every round."""

    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation")

    @property
    @override
    def mean_variance(self) -> float:
        return self.scale**2

    @override
    def sigma(self, key: Key[Array, ""], context: RoundContext = FIRST_ROUND) -> Float[Array, ""]:
        return jnp.asarray(self.scale, dtype=float)


@settings
class DecayingNoise(Noise):
    """sigma_t = scale t^-power: measurements become more precise over time."""

    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of the first round")
    power: float = traced_float(default=0.5, ge=0, doc="exponent of the decay in t")

    @override
    def sigma(self, key: Key[Array, ""], context: RoundContext = FIRST_ROUND) -> Float[Array, ""]:
        return self.scale * jnp.asarray(context.number, dtype=float) ** -self.power


@settings
class ContextNoise(Noise):
    """sigma_t = scale exp(slope z_t), log-linear in the projection z_t of the context on a direction drawn per run.

    Where the action set is fixed, so is z_t, and sigma_t is the same in every round of a run.
    """

    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation at z = 0")
    slope: float = traced_float(default=1.0, doc="slope of log sigma in z, which is about standard normal")

    @override
    def sigma(self, key: Key[Array, ""], context: RoundContext = FIRST_ROUND) -> Float[Array, ""]:
        return self.scale * jnp.exp(self.slope * jnp.asarray(context.projection, dtype=float))


NOISES: Registry[Noise] = Registry("noise", "fgtsva.noises")
NOISES.register("default", DefaultNoise)
NOISES.register("sparse", SparseNoise)
NOISES.register("dense", DenseNoise)
NOISES.register("constant", ConstantNoise)
NOISES.register("decaying", DecayingNoise)
NOISES.register("by_context", ContextNoise)
