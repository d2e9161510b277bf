"""The members of the family: Thompson sampling, and its feel-good forms with and without regard to the variance."""

import dataclasses
import math
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.horizon import known
from fgtsva_ppl.posteriors.base import BY_CONTEXT, ESTIMATED, MAXIMA, REVEALED, SIGMAS, Posterior
from fgtsva_ppl.posteriors.history import History
from fgtsva_ppl.rewards.noise_model import WithNoiseModel
from fgtsva_ppl.rewards.program import AnyReward
from fgtsva_ppl.types import Round
from samplers.registry import Registry
from samplers.settings import choice, settings, traced_float


def _maximum() -> str:
    made: str = choice(
        default="hard",
        options=MAXIMA,
        aliases={"smoothed": "logsumexp"},
        doc="maximum over arms in the bonus: hard, log-sum-exp (smoothed), or hard under a softplus cap",
    )
    return made


def _sharpness() -> float:
    made: float = traced_float(default=10.0, gt=0, doc="sharpness s of the smoothed maxima; hard as s grows")
    return made


def _cap() -> float | None:
    made: float | None = traced_float(default=None, doc="cap b on the maximum, min(b, max_a f); null: none")
    return made


@settings
class TS(Posterior):
    """Thompson sampling without optimism (eq:vanilla_TS)."""

    eta: float = traced_float(default=0.5, gt=0, doc="weight of a datum; 1/(2 sigma^2) is Bayes")
    maximum: str = _maximum()
    sharpness: float = _sharpness()
    cap: float | None = _cap()

    def weight(self, sigma: Array) -> Array:
        """The same for every datum."""
        return jnp.full_like(sigma, self.eta)

    def optimism(self, variance: Array, sigma: Array) -> Array:
        """None."""
        return jnp.zeros_like(sigma)


@settings
class FGTSA(Posterior):
    """Feel-good Thompson sampling, type A: optimism for every past round (eq:posterior_FGTS_A; Zhang 2022)."""

    eta: float = traced_float(default=0.25, gt=0, doc="weight of a datum; the theory wants at most 1/4")
    lam: float | None = traced_float(default=None, ge=0, doc="optimism a round; null: sqrt(log T / T)")
    maximum: str = _maximum()
    sharpness: float = _sharpness()
    cap: float | None = _cap()

    sums_past: ClassVar[bool] = True

    def for_horizon(self, rounds: int) -> "FGTSA":
        """lambda = sqrt(log T / T)."""
        lam = math.sqrt(math.log(max(rounds, 2)) / max(rounds, 2)) if self.lam is None else self.lam
        return FGTSA(self.eta, lam, self.maximum, self.sharpness, self.cap)

    def weight(self, sigma: Array) -> Array:
        """The same for every datum."""
        return jnp.full_like(sigma, self.eta)

    def optimism(self, variance: Array, sigma: Array) -> Array:
        """The same for every round."""
        return jnp.full_like(sigma, known(self.lam, "lam"))


@settings
class FGTSB(Posterior):
    """Feel-good Thompson sampling, type B: optimism for the current round (eq:posterior_FGTS_B; Dann et al. 2021)."""

    eta: float = traced_float(default=0.25, gt=0, doc="weight of a datum")
    lam: float | None = traced_float(default=None, ge=0, doc="optimism; null: sqrt(T)")
    maximum: str = _maximum()
    sharpness: float = _sharpness()
    cap: float | None = _cap()

    def for_horizon(self, rounds: int) -> "FGTSB":
        """lambda = sqrt(T), the theory's rate with log|F|/dc taken as 1."""
        lam = math.sqrt(rounds) if self.lam is None else self.lam
        return FGTSB(self.eta, lam, self.maximum, self.sharpness, self.cap)

    def weight(self, sigma: Array) -> Array:
        """The same for every datum."""
        return jnp.full_like(sigma, self.eta)

    def optimism(self, variance: Array, sigma: Array) -> Array:
        """The same in every round."""
        return jnp.full_like(sigma, known(self.lam, "lam"))


@settings
class FGTSVA(Posterior):
    """Variance-aware feel-good Thompson sampling (eq:posterior with eq:parameters)."""

    c: float = traced_float(default=0.003, ge=0, doc="scale of the feel-good term")
    alpha: float | None = traced_float(default=None, gt=0, doc="floor on sigma_t; null: 1/sqrt(T)")
    maximum: str = _maximum()
    sharpness: float = _sharpness()
    cap: float | None = _cap()
    sigma: str = choice(
        default=REVEALED,
        options=SIGMAS,
        doc="sigma_t is revealed before the action (the paper), only afterwards, or never: then it is estimated from "
        "residuals, modelled as one unknown number, or modelled by_context, either sampled with the rest",
    )
    guess: float = traced_float(
        default=1.0, gt=0, doc="sigma before anything is known, where it is not revealed beforehand"
    )

    def for_horizon(self, rounds: int) -> "FGTSVA":
        """alpha = 1/sqrt(T)."""
        alpha = 1 / math.sqrt(rounds) if self.alpha is None else self.alpha
        return dataclasses.replace(self, alpha=alpha)

    @property
    def needs_sigma(self) -> bool:
        """Unless it is never revealed."""
        return not self.sigma_unobserved

    @property
    def floor(self) -> Array | float:
        """alpha."""
        return known(self.alpha, "alpha")

    def variance(self, sigma: Array) -> Array:
        """sbar_t^2 = max(sigma_t, alpha)^2 (eq:parameters)."""
        return jnp.maximum(sigma, self.floor) ** 2

    def weight(self, sigma: Array) -> Array:
        """eta_t = 1 / sbar_t^2 (eq:parameters); where sigma_t is never revealed, weights come later."""
        return jnp.ones_like(sigma) if self.sigma_unobserved else 1 / self.variance(sigma)

    def optimism(self, variance: Array, sigma: Array) -> Array:
        """lambda_t = c sqrt(Lambda_t) / sbar_t^2, the current round in Lambda_t (eq:parameters)."""
        own = self.variance(sigma)
        return self.c * jnp.sqrt(variance + own) / own

    def believed(self, history: History, seen: Round) -> Array:
        """sigma_t, or the root mean square of what the rounds so far have shown, the guess among them."""
        if self.sigma == REVEALED:
            return seen.sigma
        return jnp.sqrt((self.guess**2 + history.variance) / (1 + history.rounds))

    def factor(self, history: History) -> Array | float:
        """Where sigma_t is estimated, all data have the weight of the present estimate."""
        if self.sigma != ESTIMATED:
            return 1.0
        mean = (self.guess**2 + history.variance) / (1 + history.rounds)
        return 1 / jnp.maximum(mean, self.floor**2)

    def reward(self, reward: AnyReward) -> AnyReward:
        """With sites for the noise, where it is modelled."""
        return WithNoiseModel(reward, self.sigma == BY_CONTEXT) if self.models_variance else reward


POSTERIORS: Registry[Posterior] = Registry("posterior", "fgtsva.posteriors")
POSTERIORS.register("fgts_va", FGTSVA)
POSTERIORS.register("fgts_a", FGTSA)
POSTERIORS.register("fgts_b", FGTSB)
POSTERIORS.register("ts", TS)
