"""What has been seen, in the form in which the posterior needs it.

Linear rewards: sums, whose size does not depend on t. Any other reward: rows in a buffer that doubles, where an
empty row has weight zero. Either way the weighted squared loss sum_s eta_s (r_s - f(x_s, a_s))^2 comes out.
"""

import dataclasses
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.rewards.program import LinearFunction, RewardFunction

SMALLEST_CAPACITY = 64  # rounds that a buffer first has room for


class SufficientStatistics(NamedTuple):
    """Sufficient statistics of the weighted squared loss of a linear function."""

    gram: Array  # sum eta phi phi'
    moment: Array  # sum eta r phi
    square: Array  # sum eta r^2

    def loss(self, function: RewardFunction) -> Array:
        """The loss as a quadratic form in the coefficients."""
        assert isinstance(function, LinearFunction)
        theta = function.coefficients
        return theta @ (self.gram @ theta - 2 * self.moment) + self.square

    def added(self, features: Array, reward: Array, weight: Array, index: Array) -> "SufficientStatistics":
        """With one more datum."""
        return SufficientStatistics(
            self.gram + weight * jnp.outer(features, features),
            self.moment + weight * reward * features,
            self.square + weight * reward**2,
        )

    def scaled(self, factor: Array | float) -> "SufficientStatistics":
        """With every weight multiplied."""
        return jax.tree.map(lambda total: factor * total, self)


class ReplayBuffer(NamedTuple):
    """Every datum, in a buffer."""

    features: Array  # (capacity, dim)
    rewards: Array  # (capacity,)
    weights: Array  # (capacity,), zero where empty

    def loss(self, function: RewardFunction) -> Array:
        """The loss, datum by datum."""
        return jnp.sum(self.weights * (self.rewards - function(self.features)) ** 2)

    def added(self, features: Array, reward: Array, weight: Array, index: Array) -> "ReplayBuffer":
        """With one more datum."""
        return ReplayBuffer(
            self.features.at[index].set(features),
            self.rewards.at[index].set(reward),
            self.weights.at[index].set(weight),
        )

    def scaled(self, factor: Array | float) -> "ReplayBuffer":
        """With every weight multiplied."""
        return self._replace(weights=factor * self.weights)

    def padded_with(self, row: Array) -> "ReplayBuffer":
        """The same data, with a row of real features where there is none: a reward may be undefined at zero."""
        empty = self.weights[:, None] == 0
        return self._replace(features=jnp.where(empty, row, self.features))


class ActionSets(NamedTuple):
    """The action sets of past rounds, which FGTS-A's bonus sums over."""

    actions: Array  # (capacity, arms, dim)
    present: Array  # (capacity,), one where filled

    def padded_with(self, actions: Array) -> "ActionSets":
        """The same sets, with a real one where there is none."""
        return self._replace(actions=jnp.where(self.present[:, None, None] == 0, actions, self.actions))


class Anchor(NamedTuple):
    """A mode from which minibatch gradients are measured."""

    position: Array
    pull: Array  # the gradient of the loss of all data there


@partial(jax.tree_util.register_dataclass, data_fields=("curvature", "anchor"), meta_fields=("arms", "dim"))
@dataclasses.dataclass(frozen=True)
class GradientCache:
    """What is known of all data without going through them: kept up datum by datum, and made anew now and then."""

    curvature: Array  # of their loss, each datum's at the position of its round
    anchor: Anchor | None  # None: gradients are not measured from anywhere
    arms: int  # of the rounds, so that the program can be found again
    dim: int


class History(NamedTuple):
    """All that the posterior of the next round depends on, the round itself apart."""

    data: SufficientStatistics | ReplayBuffer
    past: ActionSets | None  # kept only where a posterior needs it and the action set changes
    variance: Array  # Lambda_{t-1}
    rounds: Array  # t - 1
    gradient_cache: GradientCache | None = None  # kept only where gradients come from minibatches

    def added(
        self, actions: Array, action: Array, reward: Array, weight: Array, variance: Array
    ) -> "History":
        """With one more round."""
        # The round is over: so that the compiler writes in place, and does not copy all that is kept to read it later.
        index, reward = jax.lax.optimization_barrier((self.rounds, reward))
        past = self.past
        if past is not None:
            past = ActionSets(past.actions.at[index].set(actions), past.present.at[index].set(1.0))
        data = self.data.added(actions[action], reward, weight, index)
        return History(data, past, self.variance + variance, self.rounds + 1, self.gradient_cache)

    def padded_with(self, actions: Array) -> "History":
        """The same history, with real features in the rows that are still empty."""
        data = self.data.padded_with(actions[0]) if isinstance(self.data, ReplayBuffer) else self.data
        return self._replace(data=data, past=None if self.past is None else self.past.padded_with(actions))

    def without_gradient_cache(self) -> "History":
        """For those who go through all data anyway: nothing is known of them but themselves."""
        return self._replace(gradient_cache=None)


def empty(*, linear: bool, keep_actions: bool, arms: int, dim: int, capacity: int) -> History:
    """Nothing seen yet."""
    data: SufficientStatistics | ReplayBuffer
    if linear:
        data = SufficientStatistics(jnp.zeros((dim, dim)), jnp.zeros(dim), jnp.zeros(()))
    else:
        data = ReplayBuffer(jnp.zeros((capacity, dim)), jnp.zeros(capacity), jnp.zeros(capacity))
    past = ActionSets(jnp.zeros((capacity, arms, dim)), jnp.zeros(capacity)) if keep_actions else None
    return History(data, past, jnp.zeros(()), jnp.zeros((), int))


def grown(history: History, capacity: int) -> History:
    """The same history with room for `capacity` rounds."""

    def pad(rows: Array) -> Array:
        return jnp.pad(rows, [(0, capacity - rows.shape[0])] + [(0, 0)] * (rows.ndim - 1))

    data = jax.tree.map(pad, history.data) if isinstance(history.data, ReplayBuffer) else history.data
    past = None if history.past is None else jax.tree.map(pad, history.past)
    return history._replace(data=data, past=past)
