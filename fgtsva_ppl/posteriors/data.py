"""Data in the forms in which losses are computed: sums, rows, or the rows of a window.

All give the weighted squared loss sum_s eta_s (r_s - f(x_s, a_s))^2.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from fgtsva_ppl.rewards import LinearFunction, RewardFunction


class SufficientStatistics(NamedTuple):
    """Sums over the data from which the weighted squared loss of a linear function follows.

    Attributes:
        gram: sum_s eta_s phi_s phi_s'.
        moment: sum_s eta_s r_s phi_s.
        square: sum_s eta_s r_s^2.
    """

    gram: Float[Array, "dim dim"]
    moment: Float[Array, " dim"]
    square: Float[Array, ""]

    def loss(self, function: RewardFunction) -> Float[Array, ""]:
        """The loss, a quadratic form in the coefficients."""
        assert isinstance(function, LinearFunction)
        theta = function.coefficients
        return theta @ (self.gram @ theta - 2 * self.moment) + self.square

    def added(
        self,
        features: Float[Array, " dim"],
        reward: Float[Array, ""],
        weight: Float[Array, ""],
        index: Int[Array, ""],
    ) -> "SufficientStatistics":
        """With one more datum."""
        return SufficientStatistics(
            self.gram + weight * jnp.outer(features, features),
            self.moment + weight * reward * features,
            self.square + weight * reward**2,
        )

    def scaled(self, factor: Float[Array, ""] | float) -> "SufficientStatistics":
        """With every weight multiplied."""
        return jax.tree.map(lambda total: factor * total, self)


class ReplayBuffer(NamedTuple):
    """Every datum in a row of its own.

    Attributes:
        features: Of the arms that were pulled.
        rewards: Observed rewards r_s.
        weights: eta_s; zero in empty rows.
    """

    features: Float[Array, "capacity dim"]
    rewards: Float[Array, " capacity"]
    weights: Float[Array, " capacity"]

    def loss(self, function: RewardFunction) -> Float[Array, ""]:
        """The loss, summed over the rows."""
        return jnp.sum(self.weights * (self.rewards - function(self.features)) ** 2)

    def added(
        self,
        features: Float[Array, " dim"],
        reward: Float[Array, ""],
        weight: Float[Array, ""],
        index: Int[Array, ""],
    ) -> "ReplayBuffer":
        """With one more datum in row `index`."""
        return ReplayBuffer(
            self.features.at[index].set(features),
            self.rewards.at[index].set(reward),
            self.weights.at[index].set(weight),
        )

    def scaled(self, factor: Float[Array, ""] | float) -> "ReplayBuffer":
        """With every weight multiplied."""
        return self._replace(weights=factor * self.weights)

    def padded_with(self, features: Float[Array, " dim"]) -> "ReplayBuffer":
        """With valid features in the empty rows, because a reward may be undefined at zero."""
        empty = self.weights[:, None] == 0
        return self._replace(features=jnp.where(empty, features, self.features))


class LinearWindow(NamedTuple):
    """The rows of the last rounds, of which a linear reward only needs the sums; see `ReplayBuffer`."""

    features: Float[Array, "window dim"]
    rewards: Float[Array, " window"]
    weights: Float[Array, " window"]

    def loss(self, function: RewardFunction) -> Float[Array, ""]:
        """The loss, a quadratic form in the coefficients."""
        return self.scaled(1.0).loss(function)

    def added(
        self,
        features: Float[Array, " dim"],
        reward: Float[Array, ""],
        weight: Float[Array, ""],
        index: Int[Array, ""],
    ) -> "LinearWindow":
        """With one more datum in row `index`."""
        return LinearWindow(*ReplayBuffer(*self).added(features, reward, weight, index))

    def scaled(self, factor: Float[Array, ""] | float) -> SufficientStatistics:
        """The sums over the rows, with every weight multiplied."""
        weighted = factor * self.weights[:, None] * self.features
        responses = factor * self.weights * self.rewards
        return SufficientStatistics(
            weighted.T @ self.features, self.rewards @ weighted, self.rewards @ responses
        )


type Data = SufficientStatistics | ReplayBuffer  # with their weights in the current round
