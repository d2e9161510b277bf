"""Variance models: what an agent knows of the noise's standard deviation sigma_t, and when.

The paper reveals sigma_t before the action. Where it does not, the bonus uses the root mean square of what the past has
shown, sqrt((initial_sigma^2 + Lambda_{t-1}) / t), and the weights of the data depend on the model chosen here.

Models that sample the variance use the loss (r - f)^2 / (2 s^2) + log s with s^2 = sigma^2 + alpha^2: the Bayes
temperature, not half of it as in the rest of the family. At half of it, a likelihood with no more data than parameters
would have its mass where there is no noise at all. The floor alpha bounds the weight of a round.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, override

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from fgtsva_ppl.posteriors.history import Data, History, ReplayBuffer
from fgtsva_ppl.posteriors.loss import (
    Matrix,
    gauss_newton,
    gauss_newton_factor,
    noisy_curvature,
    noisy_factor,
    noisy_loss,
)
from fgtsva_ppl.rewards import AnyReward, FlatModel, RewardFunction, WithNoiseModel
from fgtsva_ppl.types import Round
from samplers.registry import Registry
from samplers.settings import settings, traced_float

type Scalar = Float[Array, ""] | float


class VarianceModel(ABC):
    """When sigma_t is known, and what replaces it otherwise.

    Attributes:
        known_before: Whether sigma_t is known before the action.
        known_after: Whether it is only known when the reward is observed.
        sampled: Whether the reward program models its noise, so that the variance is sampled with the other parameters.
        rescales: Whether the weights of past data change from round to round.
    """

    known_before: ClassVar[bool] = False
    known_after: ClassVar[bool] = False
    sampled: ClassVar[bool] = False
    rescales: ClassVar[bool] = False

    @abstractmethod
    def bonus_sigma(self, history: History, round: Round) -> Float[Array, ""]:
        """The sigma_t from which the bonus of a round is computed."""

    def observed_sigma(self, sigma: Float[Array, ""], residual: Callable[[], Array]) -> Float[Array, ""]:
        """The sigma_t with which a round enters the history.

        Args:
            sigma: The true sigma_t.
            residual: Computes the difference between the reward and its prediction.
        """
        return sigma

    def weight(self, variance: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """The weight of a datum when it is stored, given its (floored) variance."""
        return 1 / variance

    def weight_scale(self, history: History, min_sigma: Scalar) -> Scalar:
        """The factor by which the stored weights of all data are multiplied in the current round."""
        return 1.0

    def reward(self, reward: AnyReward) -> AnyReward:
        """The reward, with sites for the noise if the variance is sampled."""
        return reward

    def loss(
        self, function: RewardFunction, data: Data, rounds: Int[Array, ""], min_sigma: Scalar
    ) -> Float[Array, ""]:
        """The loss of some data: by default sum_s eta_s (r_s - f(x_s, a_s))^2."""
        return data.loss(function)

    def curvature(
        self,
        model: FlatModel,
        data: Data,
        rounds: Int[Array, ""],
        position: Float[Array, " size"],
        min_sigma: Scalar,
        *,
        diagonal: bool = False,
    ) -> Matrix:
        """The Gauss-Newton curvature of the loss of some data, or its diagonal."""
        return gauss_newton(model, data, position, diagonal=diagonal)

    def curvature_factor(
        self, model: FlatModel, rows: ReplayBuffer, position: Float[Array, " size"], min_sigma: Scalar
    ) -> Float[Array, "factor_rows size"]:
        """Rows R with R'R the Gauss-Newton curvature of the loss of some rows."""
        return gauss_newton_factor(model, rows, position)


@settings
class Revealed(VarianceModel):
    """sigma_t is revealed before the action, as in the paper."""

    known_before: ClassVar[bool] = True

    @override
    def bonus_sigma(self, history: History, round: Round) -> Float[Array, ""]:
        return round.sigma


@settings
class RevealedAfter(VarianceModel):
    """sigma_t is revealed together with the reward."""

    initial_sigma: float = traced_float(default=1.0, gt=0, doc="estimate of sigma before the first round")

    known_after: ClassVar[bool] = True

    @override
    def bonus_sigma(self, history: History, round: Round) -> Float[Array, ""]:
        return jnp.sqrt(self._mean_square(history))

    def _mean_square(self, history: History) -> Float[Array, ""]:
        """The mean of the variances so far, including that of the initial estimate."""
        return (self.initial_sigma**2 + history.total_variance) / (1 + history.rounds)


@settings
class Estimated(RevealedAfter):
    """sigma_t is never revealed: all data have the weight of the mean squared residual so far."""

    known_after: ClassVar[bool] = False
    rescales: ClassVar[bool] = True

    @override
    def observed_sigma(self, sigma: Float[Array, ""], residual: Callable[[], Array]) -> Float[Array, ""]:
        return jnp.abs(residual())

    @override
    def weight(self, variance: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        return jnp.ones_like(variance)

    @override
    def weight_scale(self, history: History, min_sigma: Scalar) -> Scalar:
        return 1 / jnp.maximum(self._mean_square(history), min_sigma**2)


@settings
class Modelled(Estimated):
    """sigma_t is never revealed: one unknown sigma for all rounds is sampled with the other parameters."""

    sampled: ClassVar[bool] = True
    by_context: ClassVar[bool] = False

    @override
    def weight_scale(self, history: History, min_sigma: Scalar) -> Scalar:
        return 1.0

    @override
    def reward(self, reward: AnyReward) -> AnyReward:
        return WithNoiseModel(reward, self.by_context)

    @override
    def loss(
        self, function: RewardFunction, data: Data, rounds: Int[Array, ""], min_sigma: Scalar
    ) -> Float[Array, ""]:
        return noisy_loss(function, data, rounds, min_sigma)

    @override
    def curvature(
        self,
        model: FlatModel,
        data: Data,
        rounds: Int[Array, ""],
        position: Float[Array, " size"],
        min_sigma: Scalar,
        *,
        diagonal: bool = False,
    ) -> Matrix:
        return noisy_curvature(model, data, rounds, position, min_sigma, diagonal=diagonal)

    @override
    def curvature_factor(
        self, model: FlatModel, rows: ReplayBuffer, position: Float[Array, " size"], min_sigma: Scalar
    ) -> Float[Array, "factor_rows size"]:
        return noisy_factor(model, rows, position, min_sigma)


@settings
class ModelledByContext(Modelled):
    """sigma_t is never revealed: log sigma_t is linear in the round's context, and sampled."""

    by_context: ClassVar[bool] = True


VARIANCE_MODELS: Registry[VarianceModel] = Registry("variance model", "fgtsva.variance_models")
VARIANCE_MODELS.register("revealed", Revealed)
VARIANCE_MODELS.register("revealed_after", RevealedAfter)
VARIANCE_MODELS.register("estimated", Estimated)
VARIANCE_MODELS.register("modelled", Modelled)
VARIANCE_MODELS.register("modelled_by_context", ModelledByContext)
