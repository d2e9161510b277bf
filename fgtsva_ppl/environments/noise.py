"""Noise models: the variance sigma_t^2 that is revealed in each round."""

from typing import Protocol

import jax
import jax.numpy as jnp
from jax import Array

from samplers.settings import number, settings


class Noise(Protocol):
    """Draws a round's standard deviation."""

    @property
    def mean_variance(self) -> float:
        """E sigma_t^2: what a round adds to Lambda on average."""
        ...

    def sigma(self, key: Array) -> Array:
        """sigma_t."""
        ...


@settings
class SparseNoise:
    """sigma_t = scale with probability p, else 0 (the paper's first noise model)."""

    p: float = number(default=0.1, least=0, most=1, doc="probability that a round is noisy")
    scale: float = number(default=1.0, least=0, doc="standard deviation of a noisy round")

    @property
    def mean_variance(self) -> float:
        """p scale^2."""
        return self.p * self.scale**2

    def sigma(self, key: Array) -> Array:
        """Bernoulli(p) variance, scaled."""
        return jnp.where(jax.random.uniform(key) < self.p, self.scale, 0.0)


@settings
class DenseNoise:
    """sigma_t^2 = scale^2 times a chi-squared variable with one degree of freedom (the paper's second)."""

    scale: float = number(default=1.0, least=0, doc="root mean square of the standard deviation")

    @property
    def mean_variance(self) -> float:
        """scale^2."""
        return self.scale**2

    def sigma(self, key: Array) -> Array:
        """The root of a chi^2_1 variable is the size of a standard normal one."""
        return self.scale * jnp.abs(jax.random.normal(key))


@settings
class ConstantNoise:
    """sigma_t = scale in every round."""

    scale: float = number(default=1.0, least=0, doc="standard deviation")

    @property
    def mean_variance(self) -> float:
        """scale^2."""
        return self.scale**2

    def sigma(self, key: Array) -> Array:
        """The same in every round."""
        return jnp.asarray(self.scale, dtype=float)
