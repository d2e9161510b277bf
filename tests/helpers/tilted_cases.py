"""Gaussians tilted by lam max_a <a, theta>: cases, exact draws and references for them."""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from helpers.montecarlo import SEED, assert_mean, moments
from scipy.special import logsumexp

from fgtsva_ppl.environments.linear import hypercube
from samplers import Gaussian
from samplers.reference import tilted_gaussian

DIM = 5
DRAWS = 8000
PULLS = (0.0, 0.06, 0.6, 2.4, 10.0)  # lam * s, with s the largest standard deviation of an arm's reward


class TiltedCase(NamedTuple):
    """N(mean, inverse precision) tilted by lam * max <a, theta>."""

    precision: np.ndarray
    mean: np.ndarray
    actions: np.ndarray
    lam: float

    @property
    def tilted(self):
        gaussian = Gaussian(jnp.asarray(self.precision), jnp.asarray(self.precision @ self.mean))
        return tilted_gaussian.tilt(gaussian, jnp.asarray(self.actions), jnp.asarray(self.lam))

    def stretched(self, pull):
        """The same with lam such that lam * s is the given pull."""
        spread = np.linalg.inv(self.precision)
        return self._replace(lam=pull / np.sqrt(np.max(np.sum(self.actions @ spread * self.actions, axis=1))))


PRECISION = np.array([1.0, 2.0, 5.0, 10.0, 300.0])
# a diagonal precision and hypercube arms: max <a, theta> = |theta|_1 / sqrt(d), and coordinates are independent
FACTORED = TiltedCase(np.diag(PRECISION), np.array([0.3, -0.2, 0.1, 0.0, 0.05]), hypercube(DIM), 0.0)


def correlated(arms):
    rng = np.random.default_rng(8)
    factor = rng.normal(size=(DIM, DIM)) * np.array([1, 1, 2, 3, 6])
    precision = DIM * np.eye(DIM) + factor.T @ factor
    actions = hypercube(DIM) if arms == "hypercube" else rng.normal(size=(7, DIM))
    return TiltedCase(precision, rng.normal(0, 0.2, DIM), actions, 0.0)


@jax.jit
def draw_each(case, keys):
    return jax.lax.map(lambda key: tilted_gaussian.propose_until_accepted(key, case), keys, batch_size=250)


draw_together = jax.jit(tilted_gaussian.exact_draws, static_argnums=2)


def draws(case):
    """Positions and the number of proposals that each took."""
    keys = jax.random.split(jax.random.key(SEED), DRAWS)
    return tuple(map(np.asarray, draw_each(case.tilted, keys)))


@lru_cache
def cached_draws(kind, pull):
    case = (FACTORED if kind == "factored" else correlated(kind)).stretched(pull)
    return case, *draws(case)


def arm_counts(positions, actions):
    return np.bincount(np.argmax(positions @ actions.T, axis=1), minlength=len(actions))


def importance(case, count=100_000):
    """Self-normalised importance sampling: draws, weights. Proposals come from the Gaussian and from shifted ones."""
    rng = np.random.default_rng(SEED + 100)
    spread = np.linalg.inv(case.precision)
    centres = np.concatenate([case.mean[None], case.mean + case.lam * case.actions @ spread])
    heights = np.einsum("kd,dc,kc->k", case.actions, spread, case.actions) * case.lam**2 / 2
    shares = np.concatenate([[0.5], 0.5 * np.exp(normalised(case.lam * case.actions @ case.mean + heights))])
    which = rng.choice(len(centres), count, p=shares / shares.sum())
    draws = centres[which] + rng.multivariate_normal(np.zeros(DIM), spread, count)
    squares = np.einsum("kd,dc,kc->k", centres, case.precision, centres)
    log_proposals = draws @ case.precision @ centres.T - squares / 2  # up to -x'Px/2, which cancels
    log_proposal = logsumexp(log_proposals, b=shares, axis=1)
    log_weight = log_proposals[:, 0] + case.lam * np.max(draws @ case.actions.T, axis=1) - log_proposal
    return draws, np.exp(normalised(log_weight))


def normalised(logs):
    return logs - logsumexp(logs)


def weighted(values, weights):
    """Mean and its standard error, by the delta method."""
    mean = weights @ values
    return mean, np.sqrt(weights**2 @ (values - mean) ** 2)


def assert_importance(case, positions, reference, weights):
    """Moments and frequencies of the arms agree with an importance sample."""
    assert 1 / np.sum(weights**2) > 20_000  # effective sample size: the reference is a good one
    centre, scale = positions.mean(0), positions.std(0)  # any fixed coordinates will do
    mean, error = weighted(moments((reference - centre) / scale), weights)
    assert_mean(moments((positions - centre) / scale), mean, error)
    theirs, ours = (np.argmax(x @ case.actions.T, axis=1) for x in (reference, positions))
    mean, error = weighted(np.eye(len(case.actions))[theirs], weights)
    often = mean * DRAWS > 50  # where the normal approximation holds
    assert_mean(np.eye(len(case.actions))[ours][:, often], mean[often], error[often])
