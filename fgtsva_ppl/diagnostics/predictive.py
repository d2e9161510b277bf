"""Predictive quality: log-loss of rewards at several arms together, against that of the true reward function.

Osband et al. (2022): the mixture over draws of f predicts rewards y_1..y_tau at tau inputs *jointly*; tau = 1 is the
usual marginal prediction. Inputs are arms of the round. They are drawn from two arms only (dyadic sampling), since the
inputs of a random tuple are nearly independent where there are many arms.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

NUM_TUPLES = 256  # of inputs and rewards, the same for all samplers
JOINT = 10  # tau of the joint metric


class LogLoss(NamedTuple):
    """A log-loss beyond that of the truth, in nats, with its Monte Carlo standard error."""

    value: Float[np.ndarray, "*runs"]
    error: Float[np.ndarray, "*runs"]


def joint_log_loss(
    predictions: Float[np.ndarray, "*runs draws arms"],
    means: Float[np.ndarray, "*runs arms"],
    sigma: Float[np.ndarray, "*runs"],
    tau: int,
    num_tuples: int = NUM_TUPLES,
) -> LogLoss:
    """Estimates E[log p*(y) - log mean_f p_f(y)], the divergence of the predictive distribution at tau inputs.

    Args:
        predictions: Mean rewards of all arms under each draw of f.
        means: True mean rewards.
        sigma: Standard deviation of the noise; NaN is returned where it is 0.
        tau: Number of inputs.
        num_tuples: Number of tuples of inputs and rewards.

    Returns:
        The divergence. Its error is that of the tuples and, by the delta method, that of the draws. The logarithm of a
        mean over n draws is also biased upwards, by half the relative variance of that mean.
    """
    rng = np.random.default_rng(0)
    arms = means.shape[-1]
    pair = np.stack([rng.choice(arms, size=min(2, arms), replace=False) for _ in range(num_tuples)])
    inputs = np.take_along_axis(pair, rng.integers(pair.shape[1], size=(num_tuples, tau)), axis=1)
    noise = rng.normal(size=(num_tuples, tau))
    # log-likelihood of a tuple under f less that under the truth: sum_k (noise_k^2 - (noise_k + gap_k/sigma)^2) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = (means[..., None, :] - predictions) / np.asarray(sigma)[..., None, None]
    gaps = np.where(np.isfinite(gaps), gaps, np.nan)
    ratios = np.stack(
        [
            (noise[i] ** 2 - (noise[i] + gaps[..., inputs[i]]) ** 2).sum(axis=-1) / 2
            for i in range(num_tuples)
        ],
        axis=-1,
    )  # (*runs, draws, tuples)
    draws = ratios.shape[-2]
    log_mean = logsumexp(ratios, axis=-2) - np.log(draws)
    weights = np.exp(ratios - log_mean[..., None, :])  # mean 1 over draws
    by_draw = weights.mean(axis=-1)  # a draw is in all tuples, whose errors are so correlated
    tuple_variance = log_mean.var(axis=-1, ddof=1) / num_tuples
    draw_variance = by_draw.var(axis=-1, ddof=1) / draws
    return LogLoss(-log_mean.mean(axis=-1), np.sqrt(tuple_variance + draw_variance))
