"""The members of the family: Thompson sampling, and its feel-good variants with and without weights by variance."""

import dataclasses
import math
from abc import abstractmethod
from typing import Any, ClassVar, override

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.variance import VARIANCE_MODELS, Revealed, VarianceModel
from samplers.registry import Registry
from samplers.settings import component, required, settings, traced_float


@settings
class TS(Posterior):
    """Thompson sampling without a bonus.

    log p_t(f) = log p0(f) - eta sum_{s<t} (r_s - f(x_s, a_s))^2 (the paper's Section 3.2, "vanilla" Thompson sampling).
    """

    eta: float = traced_float(default=0.5, gt=0, doc="weight of a datum; 1/(2 sigma^2) is Bayes")

    @override
    def weight(self, sigma: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        return jnp.full_like(sigma, self.eta)

    @override
    def bonus_scale(
        self, total_variance: Float[Array, "*batch"], sigma: Float[Array, "*batch"]
    ) -> Float[Array, "*batch"]:
        return jnp.zeros_like(sigma)


class FeelGood(Posterior):
    """Feel-good Thompson sampling with the same weight for all data and the same scale for all bonuses."""

    eta: float
    lam: float | None

    @abstractmethod
    def default_lam(self, rounds: int) -> float:
        """The scale of the bonus for a horizon, where none is set."""

    @override
    def for_horizon(self, rounds: int) -> "FeelGood":
        changes: dict[str, Any] = {"lam": self.default_lam(rounds) if self.lam is None else self.lam}
        return dataclasses.replace(self, **changes)

    @override
    def weight(self, sigma: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        return jnp.full_like(sigma, self.eta)

    @override
    def bonus_scale(
        self, total_variance: Float[Array, "*batch"], sigma: Float[Array, "*batch"]
    ) -> Float[Array, "*batch"]:
        return jnp.full_like(sigma, required(self.lam, "lam"))


@settings
class FGTSA(FeelGood):
    """Feel-good Thompson sampling, type A: a bonus for every past round (Zhang 2022; the paper's Section 3.2).

    log p_t(f) = log p0(f) + sum_{s<t} [-eta (r_s - f(x_s, a_s))^2 + lambda max_{a in A_s} f(x_s, a)].
    """

    eta: float = traced_float(default=0.25, gt=0, doc="weight of a datum; the theory wants at most 1/4")
    lam: float | None = traced_float(
        default=None, ge=0, doc="scale of the bonus of a round; null: sqrt(log T / T)"
    )

    sums_past: ClassVar[bool] = True

    @override
    def default_lam(self, rounds: int) -> float:
        horizon = max(rounds, 2)
        return math.sqrt(math.log(horizon) / horizon)


@settings
class FGTSB(FeelGood):
    """Feel-good Thompson sampling, type B: a bonus for the current round (Dann et al. 2021; the paper's Section 3.2).

    log p_t(f) = log p0(f) - eta sum_{s<t} (r_s - f(x_s, a_s))^2 + lambda max_{a in A_t} f(x_t, a).
    """

    eta: float = traced_float(default=0.25, gt=0, doc="weight of a datum")
    lam: float | None = traced_float(default=None, ge=0, doc="scale of the bonus; null: sqrt(T)")

    @override
    def default_lam(self, rounds: int) -> float:
        """The theory's rate with log|F| / dc taken as 1."""
        return math.sqrt(rounds)


@settings
class FGTSVA(Posterior):
    """Variance-aware feel-good Thompson sampling (the paper's Section 4, "Posterior distribution").

    log p_t(f) = log p0(f) - sum_{s<t} eta_s (r_s - f(x_s, a_s))^2 + lambda_t max_{a in A_t} f(x_t, a) with
    sbar_t = max(sigma_t, alpha), eta_s = 1 / sbar_s^2, Lambda_t = sum_{s<=t} sbar_s^2 and
    lambda_t = c sqrt(Lambda_t) / sbar_t^2.
    """

    c: float = traced_float(default=0.003, ge=0, doc="scale of the feel-good term")
    alpha: float | None = traced_float(default=None, gt=0, doc="floor on sigma_t; null: 1/sqrt(T)")
    variance: VarianceModel = component(
        VARIANCE_MODELS,
        default=Revealed(),
        doc="what is known of sigma_t: revealed before the action (the paper), revealed_after the reward, or nothing",
    )

    @override
    def for_horizon(self, rounds: int) -> "FGTSVA":
        alpha = 1 / math.sqrt(rounds) if self.alpha is None else self.alpha
        return dataclasses.replace(self, alpha=alpha)

    @property
    @override
    def variance_model(self) -> VarianceModel:
        return self.variance

    @property
    @override
    def needs_sigma_before(self) -> bool:
        return self.variance_model.known_before

    @property
    @override
    def needs_sigma_after(self) -> bool:
        return self.variance_model.known_after

    @property
    @override
    def min_sigma(self) -> Float[Array, ""] | float:
        return required(self.alpha, "alpha")

    @override
    def round_variance(self, sigma: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """sbar_t^2."""
        return jnp.maximum(sigma, self.min_sigma) ** 2

    @override
    def weight(self, sigma: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        return self.variance_model.weight(self.round_variance(sigma))

    @override
    def bonus_scale(
        self, total_variance: Float[Array, "*batch"], sigma: Float[Array, "*batch"]
    ) -> Float[Array, "*batch"]:
        """c sqrt(Lambda_t) / sbar_t^2; Lambda_t includes the current round."""
        own = self.round_variance(sigma)
        return self.c * jnp.sqrt(total_variance + own) / own


POSTERIORS: Registry[Posterior] = Registry("posterior", "fgtsva.posteriors")
POSTERIORS.register("fgts_va", FGTSVA)
POSTERIORS.register("fgts_a", FGTSA)
POSTERIORS.register("fgts_b", FGTSB)
POSTERIORS.register("ts", TS)
