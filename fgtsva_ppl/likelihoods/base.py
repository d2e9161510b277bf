"""The interface of a likelihood: what an observed reward says about the reward function.

    log p_t(f) = log p0(f) + sum_{s<t} eta_s log p(r_s | f(x_s, a_s)) + bonus

With `squared` the weights eta_s are the posterior's (1/sbar_s^2 of FGTS-VA, eta of TS). Every other likelihood has its
own power `eta`, the same for all data: 1 is Bayes' rule, less is tempered. The posterior's weights and sigma_t are then
not used for the data; the bonus is the posterior's in any case.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float

from fgtsva_ppl.rewards import AnyReward, LinkedFunction, RewardFunction, row_gradients
from samplers.errors import InputError


class Likelihood(ABC):
    """A distribution of rewards around the reward function, as a settings object.

    A member defines `losses` and `information` in terms of a predictor: the mean reward, or a function of it in which
    the likelihood is stable (the logit, the logarithm). Everything else follows.

    Attributes:
        conjugate: Whether sums over the data are enough where rewards are linear.
        link: Name of the predictor, if it is not the mean: "logit" or "log".
        eta: Power of the likelihood; 1 is Bayes.
    """

    conjugate: ClassVar[bool] = False
    link: ClassVar[str | None] = None
    eta: float

    @abstractmethod
    def losses(
        self, predictor: Float[Array, " rows"], rewards: Float[Array, " rows"]
    ) -> Float[Array, " rows"]:
        """-log p(r | f) of each row, up to a constant that depends on r only."""

    @abstractmethod
    def information(self, predictor: Float[Array, " rows"]) -> Float[Array, " rows"]:
        """The Fisher information of one datum about its predictor."""

    def predictor(
        self, function: RewardFunction, features: Float[Array, "rows features"]
    ) -> Float[Array, " rows"]:
        """The predictor of each row: the reward function's own where it has this link, else from its mean."""
        if self.link is None:
            return function(features)
        if isinstance(function, LinkedFunction) and function.link == self.link:
            return function.predictor(features)
        return self.from_mean(function(features))

    def from_mean(self, means: Float[Array, " rows"]) -> Float[Array, " rows"]:
        """The predictor of a mean reward."""
        return means

    def loss(
        self,
        function: RewardFunction,
        features: Float[Array, "rows features"],
        rewards: Float[Array, " rows"],
        weights: Float[Array, " rows"],
    ) -> Float[Array, ""]:
        """The weighted loss of some rows; rows of weight zero are empty."""
        return jnp.sum(weights * self.losses(self.predictor(function, features), rewards))

    def curvature_factor(
        self,
        function: Callable[[Array], RewardFunction],
        features: Float[Array, "rows features"],
        weights: Float[Array, " rows"],
        position: Float[Array, " size"],
    ) -> Float[Array, "factor_rows size"]:
        """Rows R with R'R the Fisher information of some rows (the Gauss-Newton curvature).

        Args:
            function: Parameters -> reward function.
            features: Of the rows.
            weights: Of the rows.
            position: The parameters.
        """
        information = self.information(self.predictor(function(position), features))
        gradients = row_gradients(
            lambda x: lambda rows: self.predictor(function(x), rows), features, position
        )
        return jnp.sqrt(weights * information)[:, None] * gradients

    def reward(self, reward: AnyReward) -> AnyReward:
        """The reward whose mean this likelihood takes."""
        return reward

    def check_rewards(self, rewards: Float[np.ndarray, "..."], source: str) -> None:
        """Raises InputError for rewards that have no density.

        Args:
            rewards: Observed ones.
            source: Who pays them, for the message.
        """
        wrong = rewards[~self.is_possible(rewards)]
        if wrong.size:
            raise InputError(
                f"likelihood {self.name} needs rewards that are {self.values}, and {source} pays {wrong.flat[0]:.4g}"
            )

    def check_means(self, means: Float[np.ndarray, "..."], reward: str) -> None:  # noqa: B027 (optional)
        """Raises InputError for mean rewards that this likelihood cannot have."""

    @property
    def restricts_rewards(self) -> bool:
        """Whether some real numbers are no possible rewards."""
        return type(self).is_possible is not Likelihood.is_possible

    values: ClassVar[str] = "real numbers"  # the possible rewards, for messages

    def is_possible(self, rewards: Float[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Which rewards have a density."""
        return np.ones(rewards.shape, bool)

    @property
    def name(self) -> str:
        """What messages call it."""
        return type(self).__name__.lower()


def stable_log(values: Float[Array, " rows"], smallest: float) -> Float[Array, " rows"]:
    """The logarithm, with values below `smallest` counted as `smallest`."""
    return jnp.log(jnp.maximum(values, smallest))


def bernoulli_variance(logits: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """p (1 - p) of a logit, without cancellation."""
    return jnp.exp(-jax.nn.softplus(logits) - jax.nn.softplus(-logits))
