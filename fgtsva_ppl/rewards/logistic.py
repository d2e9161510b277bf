"""Rewards between 0 and 1: f(x, a) = sigmoid(<theta, phi(x, a)>)."""

import jax
import numpyro
import numpyro.distributions as dist

from fgtsva_ppl.rewards.program import Program, RewardFunction
from samplers.settings import settings, traced_float


@settings
class Logistic:
    """A logistic function of the features, with independent normal coefficients."""

    prior_scale: float = traced_float(default=1.0, gt=0, doc="standard deviation of a coefficient")

    def program(self, dim: int) -> Program:
        """theta ~ N(0, prior_scale^2 I)."""

        def logistic() -> RewardFunction:
            law = dist.Normal(0, self.prior_scale).expand([dim]).to_event(1)
            theta = numpyro.sample("theta", law)
            return lambda features: jax.nn.sigmoid(features @ theta)

        return logistic
