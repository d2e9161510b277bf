"""Estimates of a policy's value from logged rounds (x_i, a_i, r_i) with propensities p_i = p(a_i | x_i).

With weights w_i = pi(a_i | x_i) / p_i and a model q of the mean rewards:

- IPS: mean of w_i r_i (Horvitz & Thompson 1952). Unbiased if the propensities are right.
- SNIPS: sum w_i r_i / sum w_i (Swaminathan & Joachims 2015). A little biased, with less variance.
- Doubly robust: mean of sum_a pi(a | x_i) q(x_i, a) + w_i (r_i - q(x_i, a_i)) (Dudik, Langford & Li 2011). Unbiased if
  the propensities or the model are right.

Intervals are those of the central limit theorem: over runs, if the log has several, as the rounds of an agent that
learns depend on each other; else over rounds.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from samplers.errors import InputError

LEVEL = 0.95


class Estimate(NamedTuple):
    """An estimated value."""

    value: float
    standard_error: float

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The interval of the normal approximation."""
        reach = float(stats.norm.ppf((1 + level) / 2)) * self.standard_error
        return self.value - reach, self.value + reach


def importance_weights(
    target: Float[np.ndarray, " rounds"], propensity: Float[np.ndarray, " rounds"]
) -> Float[np.ndarray, " rounds"]:
    """pi(a_i | x_i) / p_i.

    Raises:
        InputError: If a propensity is missing, zero, or no probability.
    """
    missing = int(np.sum(~np.isfinite(propensity)))
    if missing:
        raise InputError(
            f"{missing} of {propensity.size} rounds have no propensity: a value can only be estimated from rounds "
            "whose probability of the played action is known"
        )
    zero = int(np.sum(propensity <= 0))
    if zero or np.any(propensity > 1):
        count = zero or int(np.sum(propensity > 1))
        raise InputError(
            f"{count} of {propensity.size} propensities are {'zero or negative' if zero else 'above 1'}: the "
            "probability of an action that was played is above 0 and at most 1"
        )
    weights: np.ndarray = target / propensity
    return weights


def ips(
    rewards: Float[np.ndarray, " rounds"],
    weights: Float[np.ndarray, " rounds"],
    runs: Int[np.ndarray, " rounds"] | None = None,
) -> Estimate:
    """Inverse propensity scoring."""
    return _mean(weights * rewards, runs)


def snips(
    rewards: Float[np.ndarray, " rounds"],
    weights: Float[np.ndarray, " rounds"],
    runs: Int[np.ndarray, " rounds"] | None = None,
) -> Estimate:
    """Self-normalised inverse propensity scoring; its error by the delta method."""
    total = float(np.sum(weights))
    if total == 0:
        return Estimate(np.nan, np.nan)  # the policy never plays what was logged
    value = float(np.sum(weights * rewards)) / total
    scaled = weights * (rewards - value) * (len(weights) / total)
    return Estimate(value, _mean(scaled, runs).standard_error)


def direct_method(
    model: Float[np.ndarray, "rounds arms"],
    policy: Float[np.ndarray, "rounds arms"],
    runs: Int[np.ndarray, " rounds"] | None = None,
) -> Estimate:
    """The value under a model of the mean rewards; its error is that of the contexts only, not of the model."""
    return _mean(np.sum(policy * model, axis=1), runs)


def doubly_robust(
    rewards: Float[np.ndarray, " rounds"],
    weights: Float[np.ndarray, " rounds"],
    actions: Int[np.ndarray, " rounds"],
    model: Float[np.ndarray, "rounds arms"],
    policy: Float[np.ndarray, "rounds arms"],
    runs: Int[np.ndarray, " rounds"] | None = None,
) -> Estimate:
    """The direct method, corrected by the weighted residuals of the model."""
    residuals = rewards - model[np.arange(len(actions)), actions]
    return _mean(np.sum(policy * model, axis=1) + weights * residuals, runs)


def evaluate(
    actions: Int[np.ndarray, " rounds"],
    rewards: Float[np.ndarray, " rounds"],
    propensity: Float[np.ndarray, " rounds"],
    policy: Float[np.ndarray, "rounds arms"],
    model: Float[np.ndarray, "rounds arms"],
    runs: Int[np.ndarray, " rounds"] | None = None,
) -> dict[str, Estimate]:
    """All estimates, by name.

    Args:
        actions: The logged arms.
        rewards: Their rewards.
        propensity: Probability with which each was played.
        policy: The evaluated policy's probability of every arm in every round.
        model: Mean rewards of every arm under a model that was not fitted on the same round; see `fit_rewards`.
        runs: The run of each round, if there are several.
    """
    weights = importance_weights(policy[np.arange(len(actions)), actions], propensity)
    return {
        "ips": ips(rewards, weights, runs),
        "snips": snips(rewards, weights, runs),
        "doubly_robust": doubly_robust(rewards, weights, actions, model, policy, runs),
    }


def _mean(values: Float[np.ndarray, " rounds"], runs: Int[np.ndarray, " rounds"] | None) -> Estimate:
    """The mean with its standard error, over the means of runs if there are several."""
    if runs is not None and len(names := np.unique(runs)) > 1:
        values = np.array([np.mean(values[runs == name]) for name in names])
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return Estimate(float(np.mean(values)), float(error))
