"""Thompson sampling from Gaussians around a regression: LinTS, and LinNATS-style.

Thompson sampling proper, from the posteriors of the paper, is the agent `thompson`. Vanilla Thompson sampling with
heteroscedastic weights is that agent with the posterior `fgts_va` and c=0: weights 1/max(sigma_s, alpha)^2, no bonus.
"""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.agents.base import Learned, LinearAgent, delta_field, lam_field
from fgtsva_ppl.agents.oful import WeightedOFUL
from fgtsva_ppl.horizon import known, or_else
from fgtsva_ppl.types import Round
from samplers.settings import settings, traced_float


@settings
class LinTS(LinearAgent):
    """Linear Thompson sampling (Agrawal & Goyal 2013): theta ~ N(th, v^2 V^-1), v = R sqrt(9 d log(t/delta))."""

    radius: float = traced_float(
        default=1.0,
        ge=0,
        doc="multiplier of v; 1 is the textbook, 1/sqrt(9 d log(t/delta)) would be Bayes",
    )
    lam: float = lam_field()
    noise: float | None = traced_float(
        default=None,
        ge=0,
        doc="sub-Gaussian constant R; null: the largest sigma_t seen so far (greedy where there is no noise)",
    )
    delta: float | None = delta_field()

    label: ClassVar[str] = "LinTS"

    def for_horizon(self, rounds: int) -> "LinTS":
        """delta = 1/T."""
        return dataclasses.replace(self, delta=or_else(self.delta, 1 / rounds))

    def scores(self, key: Array, state: Learned, seen: Round) -> Array:
        """<a, theta> under a draw."""
        largest = jnp.maximum(state.largest, seen.sigma)
        R = largest if self.noise is None else self.noise
        dim, t = state.ridge.moment.size, state.rounds + 1
        v = R * jnp.sqrt(9 * dim * jnp.log(t / known(self.delta, "delta")))
        return seen.actions @ state.ridge.draw(key, self.radius * v)


@settings
class LinNATS(WeightedOFUL):
    """LinNATS-style: Weighted OFUL+'s statistics, theta ~ N(th, beta_k^2 Sigma^-1).

    A reconstruction from the abstract of Xu, Min & Wang (2023); its details were not checked against their text.
    """

    label: ClassVar[str] = "LinNATS-style"

    def scores(self, key: Array, state: Learned, seen: Round) -> Array:
        """<a, theta> under a draw."""
        return seen.actions @ state.ridge.draw(key, self.beta(state, seen))
