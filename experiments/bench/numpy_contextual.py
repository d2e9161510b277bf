"""Contextual linear bandits as a NumPy loop: one run on one core, everything in BLAS that can be.

The same algorithms as ours: moments by rank-one updates, the noise of all Langevin steps by matrix products, exact
draws by rejection from the better of two envelopes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg.blas import dger


class Moments(NamedTuple):
    """Mean, covariance and a root of the covariance, updated in place."""

    mean: Float[np.ndarray, " dim"]
    covariance: Float[np.ndarray, "dim dim"]
    root: Float[np.ndarray, "dim dim"]

    def condition(self, features: Float[np.ndarray, " dim"], response: float, weight: float) -> None:
        """One linear observation."""
        u = self.root.T @ features
        gain = self.root @ u
        growth = 1 + weight * (u @ u)
        error = response - features @ self.mean
        np.add(self.mean, (weight * error / growth) * gain, out=self.mean)
        # Matrices in Fortran's order, which BLAS updates in place.
        dger(-weight / growth, gain, gain, a=self.covariance, overwrite_a=1)
        dger(-weight / (growth + np.sqrt(growth)), gain, u, a=self.root, overwrite_a=1)


type Draw = Callable[[np.random.Generator, Moments, np.ndarray, float, np.ndarray], np.ndarray]


def langevin(steps: int) -> Draw:
    """Preconditioned Langevin steps of size 1/k."""

    def draw(
        rng: np.random.Generator, moments: Moments, actions: np.ndarray, lam: float, x: np.ndarray
    ) -> np.ndarray:
        noise = rng.standard_normal((steps, x.size)) @ moments.root.T
        noise_values = noise @ actions.T
        mean_values, values = actions @ moments.mean, actions @ x
        best, pull, pull_values = -1, x, values
        for k in range(steps):
            arm = int(values.argmax())
            if arm != best:
                best, pull = arm, moments.covariance @ actions[arm]
                pull_values = actions @ pull
            size = 1 / (k + 1)
            spread = (2 * size) ** 0.5
            x = (1 - size) * x + size * (moments.mean + lam * pull) + spread * noise[k]
            values = (1 - size) * values + size * (mean_values + lam * pull_values) + spread * noise_values[k]
        return x

    return draw


def exact(
    rng: np.random.Generator,
    moments: Moments,
    actions: Float[np.ndarray, "arms dim"],
    lam: float,
    x: Float[np.ndarray, " dim"],
) -> Float[np.ndarray, " dim"]:
    """Rejection from the mixture or the inflated Gaussian, one proposal at a time."""
    mean, _, root = moments
    dim, offset = mean.size, actions @ mean
    arms = actions @ root
    squares = np.einsum("ad,ad->a", arms, arms)
    log_weights = lam * offset + lam**2 * squares / 2
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    mixture = top + np.log(weights.sum())
    pull = max(lam**2 * squares.max(), 1e-30)
    e = (pull + np.sqrt(pull**2 + 4 * dim * pull)) / (2 * dim)
    ceiling = lam * offset.max() + pull * (1 + e) / (2 * e)
    use_mixture = mixture < ceiling + dim / 2 * np.log1p(e)
    cumulative = np.cumsum(weights)
    while True:
        z = rng.standard_normal(dim)
        if use_mixture:
            arm = min(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], "right")), len(arms) - 1)
            z += lam * arms[arm]
            if (offset + arms @ z).argmax() == arm:
                break
        else:
            z *= np.sqrt(1 + e)
            log_accept = lam * (offset + arms @ z).max() - (z @ z) / 2 * e / (1 + e) - ceiling
            if np.log(rng.random()) < log_accept:
                break
    return mean + root @ z


def play(
    dim: int, arms: int, draw: Draw, *, rounds: int, seed: int, c: float = 0.003, p: float = 0.1
) -> float:
    """Final regret of a run of FGTS-VA with new unit-norm arms in every round and sparse noise."""
    rng, alpha = np.random.default_rng(seed), rounds**-0.5
    truth = rng.standard_normal(dim)
    truth /= np.linalg.norm(truth)
    x = rng.standard_normal(dim) / dim**0.5
    eye = np.eye(dim)
    moments = Moments(np.zeros(dim), np.asfortranarray(eye / dim), np.asfortranarray(eye / dim**0.5))
    variance = regret = 0.0
    for _ in range(rounds):
        actions = rng.standard_normal((arms, dim))
        actions /= np.sqrt(np.einsum("ad,ad->a", actions, actions))[:, None]
        means = actions @ truth
        sigma = float(rng.random() < p)
        bar = max(sigma, alpha)
        variance += bar**2
        x = draw(rng, moments, actions, c * variance**0.5 / bar**2, x)
        arm = int((actions @ x).argmax())
        regret += means.max() - means[arm]
        moments.condition(actions[arm], means[arm] + sigma * rng.standard_normal(), 2 / bar**2)
    return regret
