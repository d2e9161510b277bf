"""Linear rewards with one bias per arm; the mean and scale of the biases are learnt."""

from typing import override

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array

from fgtsva_ppl.rewards.base import Embedded, LinearFunction, Reward
from samplers.settings import settings, traced_float


@settings
class Hierarchical(Reward):
    """f(x, a) = <theta, phi(x, a)> + bias_a with bias_a ~ N(bias_mean, bias_scale^2)."""

    prior_scale: float | None = traced_float(
        default=None, gt=0, doc="standard deviation of a coefficient; null: 1/sqrt(d)"
    )
    bias_scale: float = traced_float(
        default=1.0, gt=0, doc="scale of the half-normal prior of the biases' scale"
    )

    @override
    def embedded(self, arms: int, dim: int) -> Embedded:
        """Appends a one-hot encoding of the arm to its features."""
        scale = dim**-0.5 if self.prior_scale is None else self.prior_scale

        def embed(actions: Array) -> Array:
            return jnp.concatenate([actions, jnp.eye(arms)], axis=1)

        def hierarchical() -> LinearFunction:
            theta = numpyro.sample("theta", dist.Normal(0, scale).expand([dim]).to_event(1))
            mean = numpyro.sample("bias_mean", dist.Normal(0.0, self.bias_scale))
            spread = numpyro.sample("bias_scale", dist.HalfNormal(self.bias_scale))
            with numpyro.plate("arms", arms):
                # Non-centred: with little data, the biases and their scale would form a funnel.
                standard = numpyro.sample("bias_standard", dist.Normal(0.0, 1.0))
            bias = numpyro.deterministic("bias", mean + spread * standard)
            return LinearFunction(jnp.concatenate([theta, bias]))

        return Embedded(hierarchical, embed, dim + arms)
