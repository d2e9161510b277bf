"""The family of (feel-good) Thompson-sampling posteriors: what its members have in common.

    log p_t(f) = log p0(f) - sum_{s<t} eta_s (r_s - f(x_s, a_s))^2 + lambda_t max_a f(x_t, a) + constant

This is the FGTS-VA posterior of the paper (Section 4). The loss has no factor 1/2, so a datum adds 2 eta_s to the
precision: with eta_s = 1 / sigma_s^2 it is a posterior at half the Bayes temperature, as in the paper.
"""

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from fgtsva_ppl.posteriors.history import Data, History, ReplayBuffer
from fgtsva_ppl.posteriors.loss import Matrix
from fgtsva_ppl.posteriors.variance import Revealed, VarianceModel
from fgtsva_ppl.rewards import FlatModel, RewardFunction
from fgtsva_ppl.types import Round, Shape
from samplers.errors import InputError
from samplers.logistic import LogisticFactor
from samplers.settings import choice, settings, static_int, traced_float

MAXIMA = ("hard", "logsumexp", "softplus")


@settings
class Posterior(ABC):
    """A member of the family: the weight of a datum and the scale of the feel-good bonus.

    Everything else follows from these: `density.target` turns a posterior, a reward program and a history into a
    log-density.
    """

    _: KW_ONLY
    maximum: str = choice(
        default="hard",
        options=MAXIMA,
        aliases={"smoothed": "logsumexp"},
        doc="maximum over arms in the bonus: hard, log-sum-exp (smoothed), or hard under a softplus cap",
    )
    sharpness: float = traced_float(
        default=10.0, gt=0, doc="sharpness s of the smoothed maxima; hard as s grows"
    )
    cap: float | None = traced_float(default=None, doc="cap b on the maximum, min(b, max_a f); null: none")

    discount: float | None = traced_float(
        default=None,
        gt=0,
        le=1,
        doc="factor of the weights of all earlier data in each round; null or 1: none",
    )
    window: int = static_int(
        default=0, ge=0, doc="only the data of so many rounds count; 0: those of all rounds"
    )
    random_walk: float | None = traced_float(
        default=None,
        ge=0,
        doc="prior with a random walk of the coefficients, with steps of this standard deviation; null or 0: none",
    )

    sums_past: ClassVar[bool] = False  # the bonus runs over all past rounds instead of the current one

    @abstractmethod
    def weight(self, sigma: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """The weight eta_t of a datum with this standard deviation."""

    @abstractmethod
    def bonus_scale(
        self, total_variance: Float[Array, "*batch"], sigma: Float[Array, "*batch"]
    ) -> Float[Array, "*batch"]:
        """The scale lambda_t of the bonus, given Lambda_{t-1} and sigma_t."""

    def round_variance(self, sigma: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """What a round adds to Lambda_t."""
        return sigma**2

    @property
    def variance_model(self) -> VarianceModel:
        """What is known of sigma_t. Members whose weights do not depend on sigma_t need nothing."""
        return Revealed()

    @property
    def needs_sigma_before(self) -> bool:
        """Whether sigma_t must be known before the action."""
        return False

    @property
    def needs_sigma_after(self) -> bool:
        """Whether sigma_t must be known when the reward is observed."""
        return False

    @property
    def min_sigma(self) -> Float[Array, ""] | float:
        """The smallest standard deviation that a datum can have."""
        return 0.0

    def for_horizon(self, rounds: int) -> "Posterior":
        """Fills in every setting that is derived from the number of rounds."""
        return self

    @property
    def forgets(self) -> bool:
        """Whether old data count less than new data; see `posteriors.forgetting`."""
        return self.discount is not None or self.window > 0 or self.random_walk is not None

    def without_neutral_forgetting(self) -> "Posterior":
        """The same posterior, where a discount of 1 or a random walk with steps of 0 is none at all."""
        changes: dict[str, Any] = {}
        if self.discount is not None and self.discount == 1:
            changes["discount"] = None
        if self.random_walk is not None and self.random_walk == 0:
            changes["random_walk"] = None
        return dataclasses.replace(self, **changes)

    def keeps_actions(self, shape: Shape) -> bool:
        """Whether past action sets must be stored."""
        return self.sums_past and not shape.fixed_actions

    def weight_scale(self, history: History) -> Float[Array, ""] | float:
        """The factor by which the weights of all data are multiplied in the current round."""
        return self.variance_model.weight_scale(history, self.min_sigma)

    def weighted_data(self, history: History) -> Data:
        """The data with their weights in the current round."""
        return history.data.scaled(self.weight_scale(history))

    def loss(self, history: History, data: Data, function: RewardFunction) -> Float[Array, ""]:
        """The loss of a reward function on some of the history's data."""
        return self.variance_model.loss(function, data, history.rounds, self.min_sigma)

    def curvature(
        self,
        model: FlatModel,
        history: History,
        data: Data,
        position: Float[Array, " size"],
        *,
        diagonal: bool = False,
    ) -> Matrix:
        """The Gauss-Newton curvature of the loss on some of the history's data, or its diagonal."""
        return self.variance_model.curvature(
            model, data, history.rounds, position, self.min_sigma, diagonal=diagonal
        )

    def curvature_factor(
        self, model: FlatModel, rows: ReplayBuffer, position: Float[Array, " size"]
    ) -> Float[Array, "factor_rows size"]:
        """Rows R with R'R the Gauss-Newton curvature of the loss on some rows."""
        return self.variance_model.curvature_factor(model, rows, position, self.min_sigma)

    def bonus(self, function: RewardFunction, history: History, round: Round) -> Float[Array, ""]:
        """The feel-good term: lambda_t max_a f(x_t, a), or lambda sum_{s<t} max_a f(x_s, a) if `sums_past`."""
        if history.past is not None:
            actions = history.past.actions
            values = function(actions.reshape(-1, actions.shape[-1])).reshape(actions.shape[:-1])
            scale = self._scale(history, round)
            return scale * jnp.sum(history.past.present * self.maximum_over_arms(values))
        num_rounds = history.rounds if self.sums_past else 1
        return self._scale(history, round) * num_rounds * self.maximum_over_arms(function(round.actions))

    def logistic_factor(self, model: FlatModel, history: History, round: Round) -> LogisticFactor | None:
        """The posterior without its Gaussian prior as a logistic regression, where it is one."""
        return None

    def tilt(self, history: History, round: Round) -> Float[Array, ""]:
        """The factor of max_a f(x_t, a) where all rounds have the same action set."""
        num_rounds = history.rounds if self.sums_past else 1
        return num_rounds * self._scale(history, round)

    def _scale(self, history: History, round: Round) -> Array:
        sigma = self.variance_model.bonus_sigma(history, round)
        return self.bonus_scale(history.total_variance, sigma)

    def maximum_over_arms(self, values: Float[Array, "*batch arms"]) -> Float[Array, "*batch"]:
        """The hard, smoothed or capped maximum over the last axis."""
        if self.maximum == "softplus":
            if self.cap is None:
                raise InputError("maximum=softplus smooths the cap and needs one: set cap")
            gap = self.cap - jnp.max(values, axis=-1)
            return self.cap - jax.nn.softplus(self.sharpness * gap) / self.sharpness
        if self.maximum == "logsumexp":
            top = jax.nn.logsumexp(self.sharpness * values, axis=-1) / self.sharpness
        else:
            top = jnp.max(values, -1)
        return top if self.cap is None else jnp.minimum(top, self.cap)
