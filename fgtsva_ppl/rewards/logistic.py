"""Rewards between 0 and 1: f(x, a) = sigmoid(<theta, phi(x, a)>)."""

from typing import override

import numpyro
import numpyro.distributions as dist

from fgtsva_ppl.rewards.base import LinearFunction, Program, Reward, RewardFunction
from fgtsva_ppl.rewards.link import LinkedFunction
from samplers.settings import settings, traced_float


@settings
class Logistic(Reward):
    """A logistic function of the features with independent normal coefficients, theta ~ N(0, prior_scale^2 I)."""

    prior_scale: float = traced_float(default=1.0, gt=0, doc="standard deviation of a coefficient")

    @override
    def program(self, dim: int) -> Program:
        def logistic() -> RewardFunction:
            prior = dist.Normal(0, self.prior_scale).expand([dim]).to_event(1)
            theta = numpyro.sample("theta", prior)
            return LinkedFunction(LinearFunction(theta), "logit")

        return logistic
