"""Optimism in the face of uncertainty: OFUL, and the variance-aware Weighted OFUL+."""

import dataclasses
import math
from typing import ClassVar, override

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents.base import (
    LinearAgent,
    RidgeState,
    delta_field,
    lam_field,
    norm_field,
    radius_field,
)
from fgtsva_ppl.types import Round, Shape
from samplers.errors import InputError
from samplers.settings import choice, flag, required, settings, traced_float


def self_normalised(
    state: RidgeState, lam: Float[Array, ""] | float, delta: Float[Array, ""] | float
) -> Float[Array, ""]:
    """The radius sqrt(log det(Sigma)/det(lam I) + 2 log(1/delta)) for 1-sub-Gaussian noise."""
    dim = state.ridge.moment.size
    log_ratio = state.ridge.log_det - dim * jnp.log(lam)
    return jnp.sqrt(log_ratio + 2 * jnp.log(1 / delta))


@settings
class OFUL(LinearAgent):
    """OFUL, also called LinUCB (Abbasi-Yadkori, Pal, Szepesvari 2011).

    Plays argmax_a <a, theta_t> + beta ||a||_{V^-1} with
    beta = R sqrt(log det V - d log lam + 2 log(1/delta)) + sqrt(lam) S.
    """

    radius: float = radius_field()
    lam: float = lam_field()
    norm: float = norm_field()
    noise: float | None = traced_float(
        default=None,
        ge=0,
        doc="sub-Gaussian constant R of the noise; null: the largest sigma_t so far",
    )
    delta: float | None = delta_field()

    label: ClassVar[str] = "OFUL"

    @override
    def for_horizon(self, rounds: int) -> "OFUL":
        return dataclasses.replace(self, delta=1 / rounds if self.delta is None else self.delta)

    @override
    def scores(self, key: Key[Array, ""], state: RidgeState, round: Round) -> Float[Array, " arms"]:
        """The upper confidence bounds."""
        max_sigma = jnp.maximum(state.max_sigma, round.sigma)
        R = max_sigma if self.noise is None else self.noise
        beta = R * self_normalised(state, self.lam, required(self.delta, "delta"))
        beta = beta + jnp.sqrt(self.lam) * self.norm
        return round.actions @ state.ridge.estimate + self.radius * beta * state.ridge.norms(round.actions)


@settings
class WeightedOFUL(LinearAgent):
    """Weighted OFUL+ (Zhou & Gu 2022, Alg. 1); without the gamma floor, Weighted OFUL (Zhou et al. 2021).

    Plays argmax_a <a, theta_k> + beta_k ||a||_{Sigma^-1}; a datum has weight 1/sbar^2 with
    sbar = max(sigma, alpha, gamma ||a||^(1/2)).
    """

    radius: float = radius_field()
    bound: str = choice(
        default="bernstein",
        options=("bernstein", "subgaussian"),
        doc="form of the radius: the published one for |noise| <= R, or the self-normalised one for Gaussian noise",
    )
    floor: bool = flag(default=True, doc="floor gamma ||a||^(1/2) on the standard deviation of a datum")
    gamma: float | None = traced_float(
        default=None, gt=0, doc="scale of the floor; null: R^(1/2) / d^(1/4), the recommended one"
    )
    alpha: float | None = traced_float(
        default=None, gt=0, doc="floor on sigma_t in the weights; null: 1/sqrt(T)"
    )
    lam: float = lam_field()
    norm: float = norm_field()
    reach: float = traced_float(default=1.0, gt=0, doc="bound A on the norm of an action")
    noise: float | None = traced_float(
        default=None, gt=0, doc="bound R on the noise; null: tail times the largest sigma_t so far"
    )
    tail: float | None = traced_float(
        default=None,
        gt=0,
        doc="number of sigma that Gaussian noise may reach; null: sqrt(2 log(2T/delta)), good for T rounds",
    )
    delta: float | None = delta_field()

    label: ClassVar[str] = "Weighted OFUL+"

    @override
    def for_horizon(self, rounds: int) -> "WeightedOFUL":
        """alpha = 1/sqrt(T), delta = 1/T, R = sqrt(2 log(2T/delta)) sigma."""
        delta = 1 / rounds if self.delta is None else self.delta
        tail = math.sqrt(2 * math.log(2 * rounds / delta)) if self.tail is None else self.tail
        alpha = 1 / math.sqrt(rounds) if self.alpha is None else self.alpha
        return dataclasses.replace(self, alpha=alpha, tail=tail, delta=delta)

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> RidgeState:
        if self.bound == "bernstein" and not self.floor:
            raise InputError(
                "bound=bernstein has the term R/gamma^2 and needs the gamma floor: set floor=true or "
                "bound=subgaussian"
            )
        return super().start(key, shape)

    @override
    def scores(self, key: Key[Array, ""], state: RidgeState, round: Round) -> Float[Array, " arms"]:
        """The upper confidence bounds."""
        beta = self.beta(state, round)
        return round.actions @ state.ridge.estimate + beta * state.ridge.norms(round.actions)

    @override
    def weight(self, state: RidgeState, round: Round, action: Int[Array, ""]) -> Float[Array, ""]:
        """1/sbar^2, with the norm ||a|| before the update."""
        sbar = jnp.maximum(round.sigma, required(self.alpha, "alpha"))
        if self.floor:
            norm = state.ridge.norms(round.actions[action])
            sbar = jnp.maximum(sbar, self._gamma(state, round) * jnp.sqrt(norm))
        return 1 / sbar**2

    def beta(self, state: RidgeState, round: Round) -> Float[Array, ""]:
        """The radius of round k, including the multiplier."""
        root = jnp.sqrt(self.lam) * self.norm
        if self.bound == "subgaussian":
            return self.radius * (self_normalised(state, self.lam, required(self.delta, "delta")) + root)
        dim, k, alpha = state.ridge.moment.size, state.rounds + 1, required(self.alpha, "alpha")
        gamma = self._gamma(state, round)
        # The number of dyadic levels between alpha and gamma^2, of which the formula assumes at least one.
        levels = jnp.maximum(jnp.log(gamma**2 / alpha), 0) + 1
        log_k = jnp.log(32 * levels * k**2 / required(self.delta, "delta"))
        # R/gamma^2 is sqrt(d) at the recommended gamma, also while R = 0 because no noise has been observed.
        ratio = jnp.sqrt(dim) if self.gamma is None else self._bound(state, round) / gamma**2
        width = dim * jnp.log1p(k * self.reach**2 / (alpha**2 * dim * self.lam))
        return self.radius * (12 * jnp.sqrt(width * log_k) + 30 * log_k * ratio + root)

    def _gamma(self, state: RidgeState, round: Round) -> Array:
        if self.gamma is not None:
            return jnp.asarray(self.gamma)
        return jnp.sqrt(self._bound(state, round)) / state.ridge.moment.size**0.25

    def _bound(self, state: RidgeState, round: Round) -> Array:
        """The bound R on the noise."""
        if self.noise is not None:
            return jnp.asarray(self.noise)
        return required(self.tail, "tail") * jnp.maximum(state.max_sigma, round.sigma)
