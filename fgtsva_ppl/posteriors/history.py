"""What has been observed, in the form in which the posterior needs it.

Linear rewards: sufficient statistics, whose size does not depend on t. Other rewards: a buffer of rows that doubles
when it is full, where empty rows have weight zero. Both give the weighted squared loss
sum_s eta_s (r_s - f(x_s, a_s))^2.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from fgtsva_ppl.posteriors.data import Data, LinearWindow, ReplayBuffer, SufficientStatistics
from fgtsva_ppl.rewards import LearnedFeatures
from samplers.gaussian import Moments

__all__ = ["Data", "History", "LinearWindow", "ReplayBuffer", "SufficientStatistics"]

SMALLEST_CAPACITY = 64  # rounds that a buffer first has room for


class ActionSets(NamedTuple):
    """The action sets of past rounds, over which the bonus of FGTS-A is summed."""

    actions: Float[Array, "capacity arms dim"]
    present: Float[Array, " capacity"]  # 1 where a row is filled, else 0

    def padded_with(self, actions: Float[Array, "arms dim"]) -> "ActionSets":
        """With a valid action set in the empty rows."""
        return self._replace(actions=jnp.where(self.present[:, None, None] == 0, actions, self.actions))


class Anchor(NamedTuple):
    """The reference point of a control variate for minibatch gradients."""

    position: Float[Array, " size"]
    gradient: Float[Array, " size"]  # of the loss of all data at the position


@jax.tree_util.register_static
@dataclass(frozen=True)
class ProgramShape:
    """The sizes with which a reward's program was built."""

    arms: int
    dim: int


class GradientCache(NamedTuple):
    """Summaries of all data for samplers that only see minibatches; see `posteriors.gradient_cache`.

    Attributes:
        anchor: Of the control variate.
        shape: To look up the reward's program again.
    """

    anchor: Anchor
    shape: ProgramShape


class GaussianCache(NamedTuple):
    """The Gaussian part of a linear posterior, updated with each datum.

    Attributes:
        moments: Mean, covariance and its root.
        shape: To look up the reward's program again.
    """

    moments: Moments
    shape: ProgramShape


class CurvatureCache(NamedTuple):
    """The curvature of the loss, averaged over earlier positions of the chain; see `posteriors.curvature`.

    Attributes:
        curvature: Gauss-Newton curvature of the loss of all data, or its diagonal if there are many parameters.
        points: Earlier positions, at which a new datum is evaluated; at first draws from the prior.
        num_points: Number of positions that were ever stored in `points`.
        stiffness: See samplers.target.Target.
    """

    curvature: Float[Array, "size size"] | Float[Array, " size"]
    points: Float[Array, "points size"]
    num_points: Int[Array, ""]
    stiffness: Float[Array, ""]


class History(NamedTuple):
    """Everything that the posterior of a round depends on, except the round itself.

    Its size is O(d^2) for linear rewards and O(capacity d) for others.

    Attributes:
        data: Sufficient statistics or rows.
        past: Past action sets; None unless the posterior sums its bonus over changing action sets.
        total_variance: Lambda_{t-1}, the sum of the rounds' (floored) variances.
        rounds: t - 1.
        gradient_cache: None unless minibatch gradients have a control variate.
        curvature_cache: None where the posterior's curvature is known in closed form.
        gaussian_cache: None unless the sampler uses the moments of a linear posterior's Gaussian part.
        learned: None unless the reward's features are learned.
        window_variances: What each row of a sliding window adds to Lambda; None without a window.
    """

    data: Data | LinearWindow
    past: ActionSets | None
    total_variance: Float[Array, ""]
    rounds: Int[Array, ""]
    gradient_cache: GradientCache | None = None
    curvature_cache: CurvatureCache | None = None
    gaussian_cache: GaussianCache | None = None
    learned: LearnedFeatures | None = None
    window_variances: Float[Array, " window"] | None = None

    @property
    def moments(self) -> Moments | None:
        """The moments of a linear posterior's Gaussian part, if they are kept."""
        return None if self.gaussian_cache is None else self.gaussian_cache.moments

    def added(
        self,
        actions: Float[Array, "arms dim"],
        action: Int[Array, ""],
        reward: Float[Array, ""],
        weight: Float[Array, ""],
        variance: Float[Array, ""],
    ) -> "History":
        """With one more round.

        Args:
            actions: Features of all arms.
            action: The arm that was pulled.
            reward: Its reward.
            weight: eta_t of the datum.
            variance: What the round adds to Lambda_t.
        """
        # The barrier ends the round: without it the compiler copies the buffers instead of writing in place.
        index, reward = jax.lax.optimization_barrier((self.rounds, reward))
        past = self.past
        if past is not None:
            past = ActionSets(past.actions.at[index].set(actions), past.present.at[index].set(1.0))
        # Computed once: the compiler would gather and normalise them again in every element of the outer products.
        features = jax.lax.optimization_barrier(actions[action])
        data = self.data.added(features, reward, weight, index)
        cache = self.gaussian_cache
        if cache is not None:  # the loss has no factor 1/2
            cache = cache._replace(moments=cache.moments.conditioned(features, reward, 2 * weight))
        return self._replace(
            data=data,
            past=past,
            total_variance=self.total_variance + variance,
            rounds=self.rounds + 1,
            gaussian_cache=cache,
        )

    def padded_with(self, actions: Float[Array, "arms dim"]) -> "History":
        """With valid features in the rows that are still empty."""
        data = self.data.padded_with(actions[0]) if isinstance(self.data, ReplayBuffer) else self.data
        return self._replace(data=data, past=None if self.past is None else self.past.padded_with(actions))

    def without_gradient_cache(self) -> "History":
        """Drops cached gradient state; gradients then use all data."""
        return self._replace(gradient_cache=None)

    def without_moments(self) -> "History":
        """Drops the moments, which are then computed from the data."""
        return self._replace(gaussian_cache=None)


def empty(*, linear: bool, keep_actions: bool, arms: int, dim: int, capacity: int) -> History:
    """A history without any rounds.

    Args:
        linear: Whether sufficient statistics are enough.
        keep_actions: Whether past action sets are stored.
        arms: Number of arms.
        dim: Number of (embedded) features of an arm.
        capacity: Rounds that the buffers have room for.
    """
    data: Data
    if linear:
        data = SufficientStatistics(jnp.zeros((dim, dim)), jnp.zeros(dim), jnp.zeros(()))
    else:
        data = ReplayBuffer(jnp.zeros((capacity, dim)), jnp.zeros(capacity), jnp.zeros(capacity))
    past = ActionSets(jnp.zeros((capacity, arms, dim)), jnp.zeros(capacity)) if keep_actions else None
    return History(data, past, jnp.zeros(()), jnp.zeros((), int))


def grown(history: History, capacity: int) -> History:
    """The same history with room for `capacity` rounds, unless it keeps a window of them only."""
    if history.window_variances is not None:
        return history

    def pad(rows: Array) -> Array:
        return jnp.pad(rows, [(0, capacity - rows.shape[0])] + [(0, 0)] * (rows.ndim - 1))

    data = jax.tree.map(pad, history.data) if isinstance(history.data, ReplayBuffer) else history.data
    past = None if history.past is None else jax.tree.map(pad, history.past)
    learned = history.learned
    if learned is not None:
        learned = learned._replace(rows=jax.tree.map(pad, learned.rows))
    return history._replace(data=data, past=past, learned=learned)
