"""Optimism in the face of uncertainty: OFUL, and its variance-aware heir Weighted OFUL+."""

import dataclasses
import math
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.agents.base import (
    Learned,
    LinearAgent,
    delta_field,
    lam_field,
    norm_field,
    radius_field,
)
from fgtsva_ppl.horizon import known, or_else
from fgtsva_ppl.types import Round, Shape
from samplers.errors import InputError
from samplers.settings import choice, flag, settings, traced_float


def self_normalised(state: Learned, lam: float, delta: float) -> Array:
    """sqrt(log det(Sigma)/det(lam I) + 2 log(1/delta)): the radius for 1-sub-Gaussian noise."""
    dim = state.ridge.moment.size
    grown = state.ridge.log_det - dim * jnp.log(lam)
    return jnp.sqrt(grown + 2 * jnp.log(1 / delta))


@settings
class OFUL(LinearAgent):
    """OFUL, also called LinUCB (Abbasi-Yadkori, Pal, Szepesvari 2011)."""

    radius: float = radius_field()
    lam: float = lam_field()
    norm: float = norm_field()
    noise: float | None = traced_float(
        default=None,
        ge=0,
        doc="sub-Gaussian constant R of the noise; null: the largest sigma_t seen so far",
    )
    delta: float | None = delta_field()

    label: ClassVar[str] = "OFUL"

    def for_horizon(self, rounds: int) -> "OFUL":
        """delta = 1/T."""
        return dataclasses.replace(self, delta=or_else(self.delta, 1 / rounds))

    def scores(self, key: Array, state: Learned, seen: Round) -> Array:
        """<a, th> + beta ||a||, beta = R sqrt(log det V - d log lam + 2 log(1/delta)) + sqrt(lam) S."""
        largest = jnp.maximum(state.largest, seen.sigma)
        R = largest if self.noise is None else self.noise
        beta = R * self_normalised(state, self.lam, known(self.delta, "delta"))
        beta = beta + jnp.sqrt(self.lam) * self.norm
        return seen.actions @ state.ridge.estimate + self.radius * beta * state.ridge.norms(seen.actions)


@settings
class WeightedOFUL(LinearAgent):
    """Weighted OFUL+ (Zhou & Gu 2022, Alg. 1). Without the gamma floor: Weighted OFUL (Zhou et al. 2021)."""

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
        default=None, gt=0, doc="bound R on the noise; null: tail times the largest sigma_t seen so far"
    )
    tail: float | None = traced_float(
        default=None,
        gt=0,
        doc="how many sigma a Gaussian noise may reach; null: sqrt(2 log(2T/delta)), good for T rounds",
    )
    delta: float | None = delta_field()

    label: ClassVar[str] = "Weighted OFUL+"

    def for_horizon(self, rounds: int) -> "WeightedOFUL":
        """alpha = 1/sqrt(T), delta = 1/T, R = sqrt(2 log(2T/delta)) sigma."""
        delta = or_else(self.delta, 1 / rounds)
        tail = or_else(self.tail, math.sqrt(2 * math.log(2 * rounds / delta)))
        alpha = or_else(self.alpha, 1 / math.sqrt(rounds))
        return dataclasses.replace(self, alpha=alpha, tail=tail, delta=delta)

    def start(self, key: Array, shape: Shape) -> Learned:
        """Nothing seen yet."""
        if self.bound == "bernstein" and not self.floor:
            raise InputError(
                "bound=bernstein has the term R/gamma^2 and needs the gamma floor: set floor=true or "
                "bound=subgaussian"
            )
        return super().start(key, shape)

    def scores(self, key: Array, state: Learned, seen: Round) -> Array:
        """<a, th> + beta_k ||a||."""
        beta = self.beta(state, seen)
        return seen.actions @ state.ridge.estimate + beta * state.ridge.norms(seen.actions)

    def weight(self, state: Learned, seen: Round, action: Array) -> Array:
        """1/sbar^2, sbar = max(sigma, alpha, gamma ||a||^(1/2)), the norm taken before the update."""
        sbar = jnp.maximum(seen.sigma, known(self.alpha, "alpha"))
        if self.floor:
            norm = state.ridge.norms(seen.actions[action])
            sbar = jnp.maximum(sbar, self._gamma(state, seen) * jnp.sqrt(norm))
        return 1 / sbar**2

    def beta(self, state: Learned, seen: Round) -> Array:
        """The radius of round k, multiplier included."""
        root = jnp.sqrt(self.lam) * self.norm
        if self.bound == "subgaussian":
            return self.radius * (self_normalised(state, self.lam, known(self.delta, "delta")) + root)
        dim, k, alpha = state.ridge.moment.size, state.rounds + 1, known(self.alpha, "alpha")
        gamma = self._gamma(state, seen)
        # The number of dyadic levels between alpha and gamma^2; the formula supposes that there is one.
        levels = jnp.maximum(jnp.log(gamma**2 / alpha), 0) + 1
        log_k = jnp.log(32 * levels * k**2 / known(self.delta, "delta"))
        # R/gamma^2 is sqrt(d) at the recommended gamma, also while R = 0 because no noise has been seen.
        ratio = jnp.sqrt(dim) if self.gamma is None else self._bound(state, seen) / gamma**2
        width = dim * jnp.log1p(k * self.reach**2 / (alpha**2 * dim * self.lam))
        return self.radius * (12 * jnp.sqrt(width * log_k) + 30 * log_k * ratio + root)

    def _gamma(self, state: Learned, seen: Round) -> Array:
        if self.gamma is not None:
            return jnp.asarray(self.gamma)
        return jnp.sqrt(self._bound(state, seen)) / state.ridge.moment.size**0.25

    def _bound(self, state: Learned, seen: Round) -> Array:
        """R."""
        if self.noise is not None:
            return jnp.asarray(self.noise)
        return known(self.tail, "tail") * jnp.maximum(state.largest, seen.sigma)
