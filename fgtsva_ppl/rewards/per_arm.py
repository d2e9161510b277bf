"""Linear rewards with a model of its own for each arm, for environments with `encoding=disjoint`."""

from typing import override

import numpy as np
import numpyro
import numpyro.distributions as dist

from fgtsva_ppl.rewards.base import Embedded, LinearFunction, Reward
from samplers.errors import InputError
from samplers.settings import settings, traced_float


@settings
class PerArm(Reward):
    """f(x, a) = <theta_a, (x, 1)> for rewards 0 and 1 of which one arm pays: the intercepts have the mean 1/K.

    So an arm that was never played is expected to pay as often as a guess. With the prior mean 0 of `linear` it would
    look as bad as arms that failed, and the more arms there are the longer the failures. theta ~ N(m, prior_scale^2 I).
    """

    prior_scale: float | None = traced_float(
        default=None, gt=0, doc="standard deviation of a coefficient; null: 1/(2 sqrt(d)), d of all arms"
    )

    @override
    def embedded(self, arms: int, dim: int) -> Embedded:
        size, rest = divmod(dim, arms)
        if rest:
            raise InputError(
                "reward per_arm needs an environment with a block of features for each arm (encoding=disjoint)"
            )
        scale = dim**-0.5 / 2 if self.prior_scale is None else self.prior_scale
        mean = np.zeros((arms, size))
        mean[:, -1] = 1 / arms

        def linear() -> LinearFunction:
            return LinearFunction(numpyro.sample("theta", dist.Normal(mean.ravel(), scale).to_event(1)))

        return Embedded(linear, lambda actions: actions, dim)
