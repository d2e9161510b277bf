"""The paper's SGLD cell as a NumPy loop: one run after the other, one step after the other."""

import numpy as np
from jaxtyping import Float


def gradient(
    actions: Float[np.ndarray, "arms dim"],
    precision: Float[np.ndarray, "dim dim"],
    shift: Float[np.ndarray, " dim"],
    lam: float,
    theta: Float[np.ndarray, " dim"],
) -> Float[np.ndarray, " dim"]:
    """grad log p(theta) = shift - P theta + lam a_best."""
    return shift - precision @ theta + lam * actions[np.argmax(actions @ theta)]


def langevin(
    actions: Float[np.ndarray, "arms dim"],
    *,
    runs: int,
    rounds: int,
    steps: int,
    size: float,
    c: float,
    p: float,
    seed: int,
) -> Float[np.ndarray, " runs"]:
    """Final regrets of all runs."""
    return np.array(
        [_run(actions, rounds, steps, size, c, p, np.random.default_rng([seed, run])) for run in range(runs)]
    )


def _run(
    actions: np.ndarray,
    rounds: int,
    steps: int,
    size: float,
    c: float,
    p: float,
    rng: np.random.Generator,
) -> float:
    dim, alpha = actions.shape[1], rounds**-0.5
    truth = rng.normal(size=dim)
    truth /= np.linalg.norm(truth)
    means = actions @ truth
    theta = rng.normal(size=dim) / dim**0.5
    precision, shift, variance, regret = dim * np.eye(dim), np.zeros(dim), 0.0, 0.0
    for _ in range(rounds):
        sigma = float(rng.random() < p)
        bar = max(sigma, alpha)
        variance += bar**2
        lam = c * variance**0.5 / bar**2
        h = size / np.linalg.eigvalsh(precision)[-1]
        for _ in range(steps):
            slope = gradient(actions, precision, shift, lam, theta)
            theta = theta + h * slope + (2 * h) ** 0.5 * rng.normal(size=dim)
        arm = np.argmax(actions @ theta)
        reward = means[arm] + sigma * rng.normal()
        regret += means.max() - means[arm]
        precision = precision + 2 / bar**2 * np.outer(actions[arm], actions[arm])
        shift = shift + 2 / bar**2 * reward * actions[arm]
    return regret
