"""Noise models: the standard deviation sigma_t of each round. Any of them goes with any environment."""

from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from samplers.registry import Registry
from samplers.settings import settings, traced_float


class Now(NamedTuple):
    """What a noise model may look at."""

    round: Array | int = 1  # counted from 1
    along: Array | float = 0.0  # where the context lies along the run's own direction, about standard normal


FIRST = Now()


class Noise(Protocol):
    """Draws a round's standard deviation."""

    def sigma(self, key: Array, now: Now = FIRST) -> Array:
        """sigma_t."""
        ...


class SteadyNoise(Noise, Protocol):
    """The same law in every round."""

    @property
    def mean_variance(self) -> float:
        """E sigma_t^2: what a round adds to Lambda on average."""
        ...


@settings
class OwnNoise:
    """The noise that the environment brings along."""

    def sigma(self, key: Array, now: Now = FIRST) -> Array:
        """Not called: the environment is left as it is."""
        raise NotImplementedError


@settings
class SparseNoise:
    """sigma_t = scale with probability p, else 0 (the paper's first noise model)."""

    p: float = traced_float(default=0.1, ge=0, le=1, doc="probability that a round is noisy")
    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of a noisy round")

    @property
    def mean_variance(self) -> float:
        """p scale^2."""
        return self.p * self.scale**2

    def sigma(self, key: Array, now: Now = FIRST) -> Array:
        """Bernoulli(p) variance, scaled."""
        return jnp.where(jax.random.uniform(key) < self.p, self.scale, 0.0)


@settings
class DenseNoise:
    """sigma_t^2 = scale^2 times a chi-squared variable with one degree of freedom (the paper's second)."""

    scale: float = traced_float(default=1.0, ge=0, doc="root mean square of the standard deviation")

    @property
    def mean_variance(self) -> float:
        """scale^2."""
        return self.scale**2

    def sigma(self, key: Array, now: Now = FIRST) -> Array:
        """The root of a chi^2_1 variable is the size of a standard normal one."""
        return self.scale * jnp.abs(jax.random.normal(key))


@settings
class ConstantNoise:
    """sigma_t = scale in every round."""

    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation")

    @property
    def mean_variance(self) -> float:
        """scale^2."""
        return self.scale**2

    def sigma(self, key: Array, now: Now = FIRST) -> Array:
        """The same in every round."""
        return jnp.asarray(self.scale, dtype=float)


@settings
class DecayingNoise:
    """sigma_t = scale t^-power: measurements that get better."""

    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of the first round")
    power: float = traced_float(default=0.5, ge=0, doc="power of t by which it falls")

    def sigma(self, key: Array, now: Now = FIRST) -> Array:
        """Less in every round."""
        return self.scale * jnp.asarray(now.round, dtype=float) ** -self.power


@settings
class ContextNoise:
    """sigma_t = scale exp(slope z_t), where z_t says where the round's context lies along a direction drawn per run."""

    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation at z = 0")
    slope: float = traced_float(
        default=1.0, doc="how fast its logarithm rises with z, which is about standard normal"
    )

    def sigma(self, key: Array, now: Now = FIRST) -> Array:
        """A log-linear function of the context; the same in every round where the action set is."""
        return self.scale * jnp.exp(self.slope * jnp.asarray(now.along, dtype=float))


NOISES: Registry[Noise] = Registry("noise", "fgtsva.noises")
NOISES.register("own", OwnNoise)
NOISES.register("sparse", SparseNoise)
NOISES.register("dense", DenseNoise)
NOISES.register("constant", ConstantNoise)
NOISES.register("decaying", DecayingNoise)
NOISES.register("by_context", ContextNoise)
