"""Linear rewards with a model for each arm, for environments with `encoding=disjoint` of which one arm pays."""

from typing import override

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Float

from fgtsva_ppl.rewards.base import Embedded, LinearFunction, Reward
from samplers.errors import InputError
from samplers.settings import settings, traced_float

VALUE_SCALE = (
    0.3  # prior standard deviation of a mean reward in a typical context, |(x, 1)|^2 = number of features
)


@settings
class PerArm(Reward):
    """f(x, a) = <theta_a, (x, 1)> for rewards 0 and 1 of which one arm pays: sum_a f(x, a) is about 1.

    The intercepts have the prior mean 1/K, so that an arm that was never played is expected to pay as often as a guess.
    Each coefficient is normal over the arms, with covariance prior_scale^2 (I - J + common^2 J), J = 11'/K: what all
    arms have in common is nearly known, since mean rewards sum to one, so that a reward of one arm tells something of
    the others. With common=1 arms are independent.
    """

    prior_scale: float | None = traced_float(
        default=None,
        gt=0,
        doc=f"standard deviation of a contrast of arms in a coefficient; null: {VALUE_SCALE:g} / sqrt(features of an "
        "arm)",
    )
    common: float = traced_float(
        default=0.1,
        gt=0,
        doc="standard deviation of what all arms have in common, over that of their contrasts; 1: independent arms",
    )

    @override
    def embedded(self, arms: int, dim: int) -> Embedded:
        size, rest = divmod(dim, arms)
        if rest:
            raise InputError(
                "reward per_arm needs an environment with a block of features for each arm (encoding=disjoint)"
            )
        scale = VALUE_SCALE * size**-0.5 if self.prior_scale is None else self.prior_scale
        shared = np.full((arms, arms), 1 / arms)
        factor = scale * np.linalg.cholesky(np.eye(arms) - shared + self.common**2 * shared)
        mean = np.zeros((size, arms))
        mean[-1] = 1 / arms

        def linear() -> LinearFunction:
            prior = dist.MultivariateNormal(mean, scale_tril=factor).to_event(1)
            return LinearFunction(numpyro.sample("theta", prior).reshape(-1))

        def embed(actions: Float[Array, "arms dim"]) -> Float[Array, "arms dim"]:
            """The features in the order of theta: arms within a coefficient."""
            return jnp.swapaxes(actions.reshape(-1, arms, size), 1, 2).reshape(-1, dim)

        return Embedded(linear, embed, dim)
