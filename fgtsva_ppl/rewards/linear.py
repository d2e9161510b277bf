"""Linear rewards f(x, a) = <theta, phi(x, a)> with the paper's prior N(0, I/d)."""

from typing import override

import numpyro
import numpyro.distributions as dist

from fgtsva_ppl.rewards.base import LinearFunction, Program, Reward
from samplers.settings import settings, traced_float


@settings
class Linear(Reward):
    """Linear rewards with independent normal coefficients, theta ~ N(0, prior_scale^2 I)."""

    prior_scale: float | None = traced_float(
        default=None, gt=0, doc="standard deviation of a coefficient; null: 1/sqrt(d)"
    )

    @override
    def program(self, dim: int) -> Program:
        scale = dim**-0.5 if self.prior_scale is None else self.prior_scale

        def linear() -> LinearFunction:
            return LinearFunction(numpyro.sample("theta", dist.Normal(0, scale).expand([dim]).to_event(1)))

        return linear
