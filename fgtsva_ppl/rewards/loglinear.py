"""Positive rewards, such as the means of counts: f(x, a) = exp(<theta, phi(x, a)>)."""

from typing import override

import numpyro
import numpyro.distributions as dist

from fgtsva_ppl.rewards.base import LinearFunction, Program, Reward, RewardFunction
from fgtsva_ppl.rewards.link import LinkedFunction
from samplers.settings import settings, traced_float


@settings
class LogLinear(Reward):
    """The exponential of a linear function with independent normal coefficients, theta ~ N(0, prior_scale^2 I)."""

    prior_scale: float = traced_float(default=1.0, gt=0, doc="standard deviation of a coefficient")

    @override
    def program(self, dim: int) -> Program:
        def loglinear() -> RewardFunction:
            prior = dist.Normal(0, self.prior_scale).expand([dim]).to_event(1)
            return LinkedFunction(LinearFunction(numpyro.sample("theta", prior)), "log")

        return loglinear
