"""A Gaussian process with a squared-exponential kernel, by random Fourier features (Rahimi & Recht 2007).

It is linear in those features with a Gaussian prior, so that sufficient statistics are enough and draws can be exact.
"""

from typing import override

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array

from fgtsva_ppl.rewards.base import Embedded, LinearFunction, Reward
from samplers.settings import settings, static_int, traced_float


@settings
class GP(Reward):
    """f ~ GP(0, amplitude^2 exp(-|x - y|^2 / (2 lengthscale^2))), approximated by random Fourier features."""

    features: int = static_int(default=100, ge=1, doc="random Fourier features")
    lengthscale: float = traced_float(default=1.0, gt=0, doc="distance over which rewards are similar")
    amplitude: float = traced_float(default=1.0, gt=0, doc="standard deviation of a reward under the prior")
    feature_seed: int = static_int(default=0, doc="seed of the random features")

    @override
    def embedded(self, arms: int, dim: int) -> Embedded:
        """sqrt(2/m) cos(<omega_i, phi> + u_i), with frequencies omega_i from the kernel's spectrum."""
        rng = np.random.default_rng((self.feature_seed, self.features, dim))
        frequencies = rng.normal(size=(dim, self.features)) / self.lengthscale
        phases = rng.uniform(0, 2 * np.pi, self.features)

        def embed(actions: Array) -> Array:
            return jnp.sqrt(2 / self.features) * jnp.cos(actions @ frequencies + phases)

        def process() -> LinearFunction:
            prior = dist.Normal(0, self.amplitude).expand([self.features]).to_event(1)
            return LinearFunction(numpyro.sample("weights", prior))

        return Embedded(process, embed, self.features)
