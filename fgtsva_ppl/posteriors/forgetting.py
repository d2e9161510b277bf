"""Forgetting: old data count less, so that a posterior can follow a truth that drifts.

- `discount` g: in each round all earlier weights are multiplied by g, so that a datum of age k (0 for the newest) has
  weight eta_s g^k. The prior is kept: log p_t = log p0 - sum_s g^(t-1-s) eta_s (r_s - f)^2 + bonus.
- `window` w: only the data of the last w rounds count.
- `random_walk` q: theta_t = theta_{t-1} + N(0, q^2 I) with theta_0 from the prior, for linear rewards with a Gaussian
  prior; p_t is the distribution of theta_t given the data of the rounds before t (a Kalman filter).

All keep the closed form of linear rewards, and with it exact draws. Discounting the likelihood but not the prior, and a
random walk, change the precision by full rank: moments are then computed by a factorisation in each round, O(d^3),
instead of a rank-one update, O(d^2). A window sums over its rows, O(w d^2). Lambda_t, by which the bonus of FGTS-VA is
scaled, forgets as the weights do.
"""

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.history import History, LinearWindow, ReplayBuffer, SufficientStatistics
from fgtsva_ppl.rewards import FlatModel
from fgtsva_ppl.rewards.model import GaussianPrior
from samplers.errors import InputError


def check_forgetting(posterior: Posterior, model: FlatModel) -> None:
    """Raises InputError if a posterior cannot forget in the chosen way."""
    values = {name: getattr(posterior, name) for name in ("discount", "random_walk")}
    chosen = [name for name, value in values.items() if value is not None]
    chosen += ["window"] if posterior.window else []
    if not chosen:
        return
    if len(chosen) > 1:
        raise InputError(f"posterior.{chosen[0]} and posterior.{chosen[1]} both forget: set one of them")
    if model.learner is not None:
        raise InputError(f"posterior.{chosen[0]}: reward neural_linear trains on all data and cannot forget")
    if posterior.sums_past:
        raise InputError(
            f"posterior.{chosen[0]}: fgts_a sums its bonus over all past rounds and cannot forget; others can"
        )
    if not posterior.variance_model.known_before:
        raise InputError(
            f"posterior.{chosen[0]} needs weights that do not depend on later data: posterior.variance=revealed"
        )
    if posterior.random_walk is not None and model.gaussian is None:
        raise InputError(
            "posterior.random_walk needs a linear reward with a Gaussian prior; posterior.discount and "
            "posterior.window forget with any reward"
        )


def with_window(history: History, window: int, *, linear: bool) -> History:
    """An empty history that only keeps the last rounds.

    Args:
        history: An empty history, for the number of features.
        window: Number of rounds.
        linear: Whether sufficient statistics are enough.
    """
    data = history.data
    dim = data.moment.size if isinstance(data, SufficientStatistics) else data.features.shape[1]
    rows = ReplayBuffer(jnp.zeros((window, dim)), jnp.zeros(window), jnp.zeros(window))
    return history._replace(data=LinearWindow(*rows) if linear else rows, window_variances=jnp.zeros(window))


def forget(posterior: Posterior, model: FlatModel, history: History) -> History:
    """What is left of the history after one more round, before that round's datum is added."""
    if posterior.discount is not None:
        return _discounted(history, jnp.asarray(posterior.discount))
    if posterior.window:
        return _without_oldest(history)
    if posterior.random_walk is not None:
        assert model.gaussian is not None
        assert isinstance(history.data, SufficientStatistics)
        data = after_random_walk(model.gaussian, history.data, jnp.asarray(posterior.random_walk))
        return history._replace(data=data)
    return history


def predicted(posterior: Posterior, model: FlatModel, history: History) -> History:
    """What the history says of the current round's truth, which a random walk has moved since the last datum."""
    return history if posterior.random_walk is None else forget(posterior, model, history)


def add_datum(
    posterior: Posterior,
    history: History,
    actions: Float[Array, "arms dim"],
    action: Int[Array, ""],
    reward: Float[Array, ""],
    weight: Float[Array, ""],
    variance: Float[Array, ""],
    age: Int[Array, ""] | int,
) -> tuple[History, Float[Array, ""]]:
    """Adds the datum of a round to a history that has forgotten up to the current one.

    Args:
        posterior: The posterior.
        history: After `forget`.
        actions: Features of all arms.
        action: The arm that was pulled.
        reward: Its reward.
        weight: eta_s of the datum.
        variance: What the round adds to Lambda_t.
        age: Rounds since the datum's own; 0 if it is observed at the end of its round.

    Returns:
        The history, and the weight with which the datum was added.
    """
    if posterior.random_walk is not None and not isinstance(age, int):
        raise InputError(
            "posterior.random_walk needs feedback=immediate: a late reward would be one of a truth that has moved "
            "on; posterior.discount and posterior.window take late rewards"
        )
    if posterior.discount is not None:
        factor = jnp.asarray(posterior.discount) ** age
        weight, variance = factor * weight, factor * variance
    if history.window_variances is None:
        return history.added(actions, action, reward, weight, variance), weight
    size = history.window_variances.size
    weight, variance = (jnp.where(age < size, value, 0.0) for value in (weight, variance))
    index = jnp.where(age < size, (history.rounds - 1 - age) % size, size)  # out of bounds: dropped
    variances = history.window_variances.at[index].set(variance, mode="drop")
    data = history.data.added(actions[action], reward, weight, index)
    history = history._replace(data=data, window_variances=variances, total_variance=jnp.sum(variances))
    return history, weight


def after_random_walk(
    prior: GaussianPrior, data: SufficientStatistics, step: Float[Array, ""]
) -> SufficientStatistics:
    """The sums that give theta_t + N(0, step^2 I) where the given ones give theta_t, with the same prior.

    With P = P_0 + 2 gram and b = P_0 m_0 + 2 moment, the covariance becomes P^-1 + q I: P' = (I + q P)^-1 P and
    b' = (I + q P)^-1 b. The new sums are not those of any data, but the posterior depends on P' and b' only.
    """
    mean, prior_precision = map(jnp.asarray, prior)
    precision = prior_precision + 2 * data.gram
    shift = prior_precision @ mean + 2 * data.moment
    both = jnp.concatenate([precision, shift[:, None]], axis=1)
    solved = jnp.linalg.solve(jnp.eye(len(shift)) + step**2 * precision, both)
    wider = (solved[:, :-1] + solved[:, :-1].T) / 2
    return SufficientStatistics(
        (wider - prior_precision) / 2, (solved[:, -1] - prior_precision @ mean) / 2, data.square
    )


def _discounted(history: History, factor: Float[Array, ""]) -> History:
    """With every weight multiplied, and everything that is a sum over weights."""
    history = history._replace(
        data=history.data.scaled(factor), total_variance=factor * history.total_variance
    )
    gradients, curvature = history.gradient_cache, history.curvature_cache
    if gradients is not None:
        anchor = gradients.anchor._replace(gradient=factor * gradients.anchor.gradient)
        history = history._replace(gradient_cache=gradients._replace(anchor=anchor))
    if curvature is not None:
        scaled = curvature._replace(curvature=factor * curvature.curvature)
        history = history._replace(curvature_cache=scaled)
    return history


def _without_oldest(history: History) -> History:
    """With the slot of the new round empty, in which the oldest round of the window was."""
    assert history.window_variances is not None
    slot = history.rounds % history.window_variances.size
    variances = history.window_variances.at[slot].set(0.0)
    assert not isinstance(history.data, SufficientStatistics)
    data = history.data._replace(weights=history.data.weights.at[slot].set(0.0))
    return history._replace(
        data=data, window_variances=variances, total_variance=jnp.sum(variances), rounds=history.rounds + 1
    )
