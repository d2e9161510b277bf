"""The posteriors of (feel-good) Thompson sampling, written once as a NumPyro program over a reward program.

log p_t(f) = log p0(f) - sum_{s<t} eta_s (r_s - f(x_s, a_s))^2 + bonus(f), with no 1/2 in the loss: a datum adds
2 eta_s to the precision. With eta_s = 1/sigma_s^2 that is a posterior at half the Bayes temperature, as in the paper.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpyro
from jax import Array

from fgtsva_ppl import oracle
from fgtsva_ppl.history import History, Rows, Sums
from fgtsva_ppl.minibatch import minibatch_gradient
from fgtsva_ppl.protocols import Round, Shape
from fgtsva_ppl.rewards.finite import FiniteProgram
from fgtsva_ppl.rewards.program import Latent, LinearFunction, Program, RewardFunction
from samplers.registry import Registry
from samplers.settings import InputError, choice, number, settings
from samplers.target import Gaussian, Target

MAXIMA = ("hard", "logsumexp", "softplus")


def _maximum() -> str:
    made: str = choice(
        default="hard",
        options=MAXIMA,
        aliases={"smoothed": "logsumexp"},
        doc="maximum over arms in the bonus: hard, log-sum-exp (smoothed), or hard under a softplus cap",
    )
    return made


def _sharpness() -> float:
    made: float = number(default=10.0, above=0, doc="sharpness s of the smoothed maxima; hard as s grows")
    return made


def _cap() -> float | None:
    made: float | None = number(default=None, doc="cap b on the maximum, min(b, max_a f); null: none")
    return made


class Posterior(ABC):
    """A member of the family: what a datum weighs, and how much optimism a round gets."""

    maximum: str
    sharpness: float
    cap: float | None
    sums_past: ClassVar[bool] = False  # the bonus runs over all past rounds, not over the current one

    @abstractmethod
    def weight(self, sigma: Array) -> Array:
        """eta_t of a datum."""

    @abstractmethod
    def optimism(self, variance: Array, sigma: Array) -> Array:
        """lambda_t, given Lambda_{t-1} and sigma_t."""

    def variance(self, sigma: Array) -> Array:
        """What a round adds to Lambda_t."""
        return sigma**2

    def for_horizon(self, rounds: int) -> "Posterior":
        """The same posterior with everything that is derived from the horizon filled in."""
        return self

    def keeps_actions(self, shape: Shape) -> bool:
        """Whether past action sets must be remembered."""
        return self.sums_past and not shape.fixed_actions

    def peak(self, values: Array) -> Array:
        """The (smoothed, capped) maximum over the last axis."""
        if self.maximum == "softplus":
            if self.cap is None:
                raise InputError("maximum=softplus smooths the cap and needs one: set cap")
            gap = self.cap - jnp.max(values, axis=-1)
            return self.cap - jax.nn.softplus(self.sharpness * gap) / self.sharpness
        smooth = self.maximum == "logsumexp"
        top = (
            jax.nn.logsumexp(self.sharpness * values, axis=-1) / self.sharpness
            if smooth
            else jnp.max(values, -1)
        )
        return top if self.cap is None else jnp.minimum(top, self.cap)

    def bonus(self, function: RewardFunction, history: History, seen: Round) -> Array:
        """The feel-good term."""
        lam = self.optimism(history.variance, seen.sigma)
        if history.past is not None:
            sets = history.past.actions
            values = function(sets.reshape(-1, sets.shape[-1])).reshape(sets.shape[:-1])
            return lam * jnp.sum(history.past.present * self.peak(values))
        rounds = history.rounds if self.sums_past else 1
        return lam * rounds * self.peak(function(seen.actions))

    def program(self, model: Latent, history: History, seen: Round) -> Callable[[], None]:
        """The posterior as a NumPyro program."""

        def posterior() -> None:
            function = model.program()
            numpyro.factor("loss", -history.data.loss(function))
            numpyro.factor("feel_good", self.bonus(function, history, seen))

        return posterior

    def target(self, model: Latent, history: History, seen: Round) -> Target:
        """The posterior as a log-density, with what is known of its shape."""
        logdensity = model.logdensity(self.program(model, history, seen))
        if model.gaussian is None or not isinstance(history.data, Sums):
            return self._generic(model, history, seen, logdensity)
        prior = jax.tree.map(jnp.asarray, model.gaussian)
        precision = prior.precision + 2 * history.data.gram
        shift = prior.precision @ prior.mean + 2 * history.data.moment
        gaussian = Gaussian(precision, shift)
        target = Target(logdensity, lambda position: precision, gaussian)
        if self.maximum != "hard" or self.cap is not None or history.past is not None:
            return target
        rounds = history.rounds if self.sums_past else 1
        lam = rounds * self.optimism(history.variance, seen.sigma)

        def law() -> oracle.Tilted:
            return oracle.tilted(gaussian, seen.actions, lam)

        return target._replace(
            exact=lambda key: oracle.draw(key, law()),
            exact_draws=lambda key, number: oracle.draws(key, law(), number),
        )

    def _generic(
        self, model: Latent, history: History, seen: Round, logdensity: Callable[[Array], Array]
    ) -> Target:
        """What is known where the posterior has no closed form: the prior, and the data if they are kept."""
        gaussian, batches = None, None
        if model.prior is not None:
            prior = jax.tree.map(jnp.asarray, model.prior)
            gaussian = Gaussian(prior.precision, prior.precision @ prior.mean)
        if isinstance(history.data, Rows):
            bonus = partial(self.bonus, history=history, seen=seen)
            batches = minibatch_gradient(model, history.data, history.rounds, bonus)
        return Target(
            logdensity,
            lambda position: curvature(model, history.data, position),
            gaussian,
            self._member(model.program, history, seen),
            batches,
        )

    def _member(self, program: Program, history: History, seen: Round) -> Callable[[Array], Array] | None:
        """Exact draws from a finite class: the posterior is a softmax over its members."""
        if not isinstance(program, FiniteProgram):
            return None
        functions = jnp.asarray(program.table)

        def weight(coefficients: Array) -> Array:
            function = LinearFunction(coefficients)
            return self.bonus(function, history, seen) - history.data.loss(function)

        def draw(key: Array) -> Array:
            which, where = jax.random.split(key)
            member = jax.random.categorical(which, jax.vmap(weight)(functions))
            return program.positions(jax.random.uniform(where))[member]

        return draw


def curvature(model: Latent, data: Sums | Rows, position: Array) -> Array:
    """Gauss-Newton: the prior's precision plus 2 sum eta grad f grad f'."""
    features = jnp.eye(data.moment.size) if isinstance(data, Sums) else data.features
    jacobian: Array = jax.jacobian(lambda x: model.function(x)(features))(position)
    weighted = data.gram @ jacobian if isinstance(data, Sums) else data.weights[:, None] * jacobian
    return jnp.asarray(model.prior_precision) + 2 * jacobian.T @ weighted


@settings
class TS(Posterior):
    """Thompson sampling without optimism (eq:vanilla_TS)."""

    eta: float = number(default=0.5, above=0, doc="weight of a datum; 1/(2 sigma^2) is Bayes")
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

    eta: float = number(default=0.25, above=0, doc="weight of a datum; the theory wants at most 1/4")
    lam: float | None = number(default=None, least=0, doc="optimism a round; null: sqrt(log T / T)")
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
        return jnp.full_like(sigma, _known(self.lam, "lam"))


@settings
class FGTSB(Posterior):
    """Feel-good Thompson sampling, type B: optimism for the current round (eq:posterior_FGTS_B; Dann et al. 2021)."""

    eta: float = number(default=0.25, above=0, doc="weight of a datum")
    lam: float | None = number(default=None, least=0, doc="optimism; null: sqrt(T)")
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
        return jnp.full_like(sigma, _known(self.lam, "lam"))


@settings
class FGTSVA(Posterior):
    """Variance-aware feel-good Thompson sampling (eq:posterior with eq:parameters)."""

    c: float = number(default=0.003, least=0, doc="scale of the feel-good term")
    alpha: float | None = number(default=None, above=0, doc="floor on sigma_t; null: 1/sqrt(T)")
    maximum: str = _maximum()
    sharpness: float = _sharpness()
    cap: float | None = _cap()

    def for_horizon(self, rounds: int) -> "FGTSVA":
        """alpha = 1/sqrt(T)."""
        alpha = 1 / math.sqrt(rounds) if self.alpha is None else self.alpha
        return FGTSVA(self.c, alpha, self.maximum, self.sharpness, self.cap)

    def variance(self, sigma: Array) -> Array:
        """sbar_t^2 = max(sigma_t, alpha)^2."""
        return jnp.maximum(sigma, _known(self.alpha, "alpha")) ** 2

    def weight(self, sigma: Array) -> Array:
        """eta_t = 1 / sbar_t^2."""
        return 1 / self.variance(sigma)

    def optimism(self, variance: Array, sigma: Array) -> Array:
        """lambda_t = c sqrt(Lambda_t) / sbar_t^2, the current round in Lambda_t."""
        own = self.variance(sigma)
        return self.c * jnp.sqrt(variance + own) / own


def _known(value: float | None, name: str) -> float:
    if value is None:
        raise InputError(f"{name} depends on the horizon: call for_horizon(rounds) first, or set it")
    return value


POSTERIORS: Registry[Posterior] = Registry("posterior", "fgtsva.posteriors")
POSTERIORS.register("fgts_va", FGTSVA)
POSTERIORS.register("fgts_a", FGTSA)
POSTERIORS.register("fgts_b", FGTSB)
POSTERIORS.register("ts", TS)
