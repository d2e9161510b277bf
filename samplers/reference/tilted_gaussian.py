"""Exact draws from a Gaussian tilted by lam * max_a <a, theta>: ground truth for every other sampler.

Rejection from one of two envelopes of the target. The mixture proposes an arm i with log-weight
lam <a_i, m> + lam^2 a_i' S a_i / 2, then theta ~ N(m + lam S a_i, S), and keeps it iff arm i is the best under theta.
The inflated Gaussian proposes z ~ N(0, (1+e) I) in whitened coordinates and keeps it with the probability that the
Lipschitz constant s = max_a ||a||_S of the maximum allows. Both accept with probability (target mass) / (envelope
mass), and the target mass is common: the better envelope is the one with the smaller mass, known beforehand.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from samplers._argmax import argmax
from samplers.target import Gaussian

BLOCK = 32  # proposals drawn at a time
MOST_BLOCKS = (
    100_000  # the mixture accepts at least once in K proposals on average; past this something is not finite
)


class Tilted(NamedTuple):
    """N(m, S) tilted by exp(lam max_a <a, theta>), in whitened coordinates z = L'(theta - m), S = (L L')^-1."""

    mean: Array  # m
    unwhiten: Array  # L'^-1, so that theta = m + unwhiten @ z
    arms: Array  # rows a' L'^-1: <a, theta> = offset + arms @ z
    offset: Array  # <a, m>
    lam: Array


def tilted(gaussian: Gaussian, actions: Array, lam: Array) -> Tilted:
    """Whitens the Gaussian part and the arms with it."""
    factor = jnp.linalg.cholesky(gaussian.precision)
    unwhiten = jax.scipy.linalg.solve_triangular(factor, jnp.eye(factor.shape[-1]), lower=True).T
    mean = unwhiten @ (unwhiten.T @ gaussian.shift)
    return Tilted(mean, unwhiten, actions @ unwhiten, actions @ mean, lam)


class Envelopes(NamedTuple):
    """Log-masses of the two envelopes relative to the Gaussian part, and the inflation of the second."""

    log_weights: Array  # (arms,), of the mixture's components
    mixture: Array
    inflated: Array
    inflation: Array


def envelopes(law: Tilted) -> Envelopes:
    """Both envelopes; e minimises (lam s)^2 (1+e)/(2e) + d/2 log(1+e), that is d e^2 = (lam s)^2 (1+e)."""
    squares = jnp.sum(law.arms**2, axis=-1)
    log_weights = law.lam * law.offset + law.lam**2 * squares / 2
    dim = law.mean.shape[-1]
    pull = jnp.maximum(law.lam**2 * jnp.max(squares), 1e-30)
    e = (pull + jnp.sqrt(pull**2 + 4 * dim * pull)) / (2 * dim)
    inflated = law.lam * jnp.max(law.offset) + pull * (1 + e) / (2 * e) + dim / 2 * jnp.log1p(e)
    return Envelopes(log_weights, jax.nn.logsumexp(log_weights), inflated, e)


def draw(key: Array, law: Tilted) -> Array:
    """One exact draw of theta. Non-finite input gives NaN, not an endless loop."""
    return propose_until_kept(key, law)[0]


def propose_until_kept(key: Array, law: Tilted) -> tuple[Array, Array]:
    """One exact draw, and the number of proposals looked at, the kept one included."""
    propose, sound = _proposer(law, BLOCK)

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return (~carry[2]) & (carry[1] < MOST_BLOCKS * BLOCK) & sound

    def attempt(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        _, seen, _ = carry
        z, keep = propose(jax.random.fold_in(key, seen))
        first = jnp.argmax(keep)
        return z[first], seen + jnp.where(jnp.any(keep), first + 1, BLOCK), jnp.any(keep)

    start = (jnp.full(law.mean.shape, jnp.nan), jnp.zeros((), int), jnp.zeros((), bool))
    z, seen, kept = jax.lax.while_loop(unfinished, attempt, start)
    return jnp.where(kept, law.mean + law.unwhiten @ z, jnp.nan), seen


def draws(key: Array, law: Tilted, number: int) -> Array:
    """Several exact draws: the first that are kept of one stream of proposals, none of which is thrown away."""
    block = max(BLOCK, number)
    propose, sound = _proposer(law, block)

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        _, filled, blocks = carry
        return (filled < number) & (blocks < MOST_BLOCKS) & sound

    def attempt(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        found, filled, blocks = carry
        z, keep = propose(jax.random.fold_in(key, blocks))
        slot = jnp.where(keep, filled + jnp.cumsum(keep) - 1, number)
        return found.at[slot].set(z, mode="drop"), filled + jnp.sum(keep), blocks + 1

    start = (jnp.full((number, law.mean.size), jnp.nan), jnp.zeros((), int), jnp.zeros((), int))
    z, *_ = jax.lax.while_loop(unfinished, attempt, start)
    return law.mean + z @ law.unwhiten.T


def _proposer(law: Tilted, block: int) -> tuple[Callable[[Array], tuple[Array, Array]], Array]:
    """Proposals from the better envelope, `block` at a time, which of them are kept; and whether the law is sound."""
    env = envelopes(law)
    use_mixture = env.mixture < env.inflated
    dim = law.mean.shape[-1]
    ceiling = env.inflated - dim / 2 * jnp.log1p(env.inflation)
    shares = jnp.cumsum(jax.nn.softmax(env.log_weights))

    def propose(key: Array) -> tuple[Array, Array]:
        normal_key, choice_key = jax.random.split(key)
        noise = jax.random.normal(normal_key, (block, dim))
        uniform = jax.random.uniform(choice_key, (block,))
        # Proposals are the last axis: they are what a CPU does side by side.
        below = shares[:, None] <= uniform * shares[-1]
        arm = jnp.minimum(jnp.sum(below, axis=0, dtype=jnp.int32), shares.size - 1)
        z = jnp.where(use_mixture, noise + law.lam * law.arms[arm], jnp.sqrt(1 + env.inflation) * noise)
        values = law.offset[:, None] + law.arms @ z.T
        squared = jnp.sum(z**2, axis=-1) / 2
        log_keep = law.lam * jnp.max(values, axis=0) - squared * env.inflation / (1 + env.inflation) - ceiling
        keep = jnp.where(use_mixture, argmax(values) == arm, jnp.log(uniform) < log_keep)
        return z, keep

    return propose, jnp.isfinite(env.mixture)
