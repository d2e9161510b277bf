"""A Gaussian process with a squared-exponential kernel, by random Fourier features (Rahimi & Recht 2007).

Linear in those features with a Gaussian prior: sums are kept, not rows, and exact draws are to be had.
"""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array

from fgtsva_ppl.rewards.program import Embedded, LinearFunction
from samplers.settings import settings, static_int, traced_float


@settings
class GP:
    """f ~ GP(0, amplitude^2 exp(-|x - y|^2 / (2 lengthscale^2))), by so many random features."""

    features: int = static_int(default=100, ge=1, doc="random Fourier features")
    lengthscale: float = traced_float(default=1.0, gt=0, doc="distance over which rewards are alike")
    amplitude: float = traced_float(default=1.0, gt=0, doc="standard deviation of a reward under the prior")
    feature_seed: int = static_int(default=0, doc="which random features")

    def embedded(self, arms: int, dim: int) -> Embedded:
        """sqrt(2/m) cos(<omega_i, phi> + u_i), with frequencies from the kernel's spectrum."""
        rng = np.random.default_rng((self.feature_seed, self.features, dim))
        frequencies = rng.normal(size=(dim, self.features)) / self.lengthscale
        phases = rng.uniform(0, 2 * np.pi, self.features)

        def embed(actions: Array) -> Array:
            return jnp.sqrt(2 / self.features) * jnp.cos(actions @ frequencies + phases)

        def process() -> LinearFunction:
            law = dist.Normal(0, self.amplitude).expand([self.features]).to_event(1)
            return LinearFunction(numpyro.sample("weights", law))

        return Embedded(process, embed, self.features)
