"""Classifier two-sample test: whether a classifier can tell draws from reference draws.

Blind spot: what its classifier does not see. Nearest neighbours need no training and see any difference of shape in few
dimensions; in many dimensions distances hardly differ, and a small shift of every coordinate escapes them.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats


class ClassifierTest(NamedTuple):
    """The outcome of a classifier two-sample test.

    Attributes:
        accuracy: Share of the held-out draws that are classified right; 1/2 if both samples have one distribution.
        p_value: Probability of such an accuracy or more for one distribution (binomial, by the normal approximation).
    """

    accuracy: float
    p_value: float


def classifier_test(
    draws: Float[np.ndarray, "draws size"],
    reference: Float[np.ndarray, "reference_draws size"],
    *,
    num_neighbours: int | None = None,
) -> ClassifierTest:
    """Classifier two-sample test with nearest neighbours (Lopez-Paz & Oquab 2017).

    Equally many draws of both samples are used. The even ones are classified by the majority of the nearest odd ones.

    Args:
        draws: Draws of a sampler.
        reference: Draws to compare with. Draws of chains should be thinned: the p-value is that of independent draws.
        num_neighbours: Odd number of neighbours; None for the root of the number of training draws.

    Returns:
        Accuracy and p-value; NaN if a draw is not finite.
    """
    if not (np.all(np.isfinite(draws)) and np.all(np.isfinite(reference))):
        return ClassifierTest(math.nan, math.nan)
    number = 2 * (min(len(draws), len(reference)) // 2)
    if number < 4:
        return ClassifierTest(math.nan, math.nan)
    train = np.concatenate([draws[1:number:2], reference[1:number:2]])
    test = np.concatenate([draws[0:number:2], reference[0:number:2]])
    labels = np.repeat([0, 1], number // 2)
    k = num_neighbours or round(math.sqrt(number)) // 2 * 2 + 1
    k = min(k, number - 1 - number % 2)
    squares = np.sum(test**2, 1)[:, None] + np.sum(train**2, 1) - 2 * test @ train.T
    nearest = np.argpartition(squares, k - 1, axis=1)[:, :k]
    votes = labels[nearest].mean(axis=1) > 0.5
    accuracy = float(np.mean(votes == labels))
    z = (accuracy - 0.5) / math.sqrt(0.25 / number)
    return ClassifierTest(accuracy, float(stats.norm.sf(z)))
