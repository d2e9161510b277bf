"""Thompson sampling from Gaussians around a regression: LinTS, and LinNATS-style.

Thompson sampling from the posteriors of the paper is the agent `thompson`. Vanilla Thompson sampling with weights
1/max(sigma_s, alpha)^2 and no bonus is that agent with the posterior `fgts_va` and c=0.
"""

import dataclasses
from typing import ClassVar, override

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from fgtsva_ppl.agents.base import LinearAgent, RidgeState, delta_field, lam_field
from fgtsva_ppl.agents.oful import WeightedOFUL
from fgtsva_ppl.types import Round
from samplers.settings import required, settings, traced_float


@settings
class LinTS(LinearAgent):
    """Linear Thompson sampling (Agrawal & Goyal 2013).

    Draws theta ~ N(theta_t, v^2 V^-1) with v = R sqrt(9 d log(t/delta)), and plays argmax_a <a, theta>.
    """

    radius: float = traced_float(
        default=1.0,
        ge=0,
        doc="multiplier of v; 1 is the textbook, 1/sqrt(9 d log(t/delta)) would be Bayes",
    )
    lam: float = lam_field()
    noise: float | None = traced_float(
        default=None,
        ge=0,
        doc="sub-Gaussian constant R; null: the largest sigma_t so far (greedy where there is no noise)",
    )
    delta: float | None = delta_field()

    label: ClassVar[str] = "LinTS"

    @override
    def for_horizon(self, rounds: int) -> "LinTS":
        return dataclasses.replace(self, delta=1 / rounds if self.delta is None else self.delta)

    @override
    def scores(self, key: Key[Array, ""], state: RidgeState, round: Round) -> Float[Array, " arms"]:
        """<a, theta> under a draw."""
        max_sigma = jnp.maximum(state.max_sigma, round.sigma)
        R = max_sigma if self.noise is None else self.noise
        dim, t = state.ridge.moment.size, state.rounds + 1
        v = R * jnp.sqrt(9 * dim * jnp.log(t / required(self.delta, "delta")))
        return round.actions @ state.ridge.draw(key, self.radius * v)


@settings
class LinNATS(WeightedOFUL):
    """LinNATS-style: draws theta ~ N(theta_k, beta_k^2 Sigma^-1) with the statistics of Weighted OFUL+.

    A reconstruction from the abstract of Xu, Min & Wang (2023); its details were not checked against their text.
    """

    label: ClassVar[str] = "LinNATS-style"

    @override
    def scores(self, key: Key[Array, ""], state: RidgeState, round: Round) -> Float[Array, " arms"]:
        """<a, theta> under a draw."""
        return round.actions @ state.ridge.draw(key, self.beta(state, round))
