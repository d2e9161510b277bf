"""Weighted ridge regression, one datum at a time: what the linear baselines know.

Kept as a root of the inverse (Sigma^-1 = root root'), renewed by one factorisation per datum: norms cannot become
negative, a Gaussian draw is one product, and rounding does not pile up as it does in rank-one updates of the inverse.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Ridge(NamedTuple):
    """Sigma = lam I + sum w a a' and b = sum w r a."""

    precision: Array  # Sigma
    moment: Array  # b
    root: Array  # Sigma = (root root')^-1

    @property
    def estimate(self) -> Array:
        """Sigma^-1 b."""
        return self.root @ (self.root.T @ self.moment)

    def norms(self, actions: Array) -> Array:
        """||a||_{Sigma^-1} of every row, or of one vector."""
        return jnp.sqrt(jnp.sum((actions @ self.root) ** 2, axis=-1))

    @property
    def log_det(self) -> Array:
        """log det Sigma."""
        return -2 * jnp.sum(jnp.log(jnp.diagonal(self.root)))

    def added(self, features: Array, reward: Array, weight: Array) -> "Ridge":
        """With one more datum."""
        precision = self.precision + weight * jnp.outer(features, features)
        return Ridge(precision, self.moment + weight * reward * features, inverse_root(precision))

    def draw(self, key: Array, scale: Array) -> Array:
        """theta ~ N(estimate, scale^2 Sigma^-1)."""
        return self.estimate + scale * (self.root @ jax.random.normal(key, self.moment.shape))


def ridge(dim: int, lam: Array | float) -> Ridge:
    """Nothing seen yet."""
    eye = jnp.eye(dim)
    return Ridge(lam * eye, jnp.zeros(dim), eye / jnp.sqrt(lam))


def inverse_root(precision: Array) -> Array:
    """An upper triangular R with R R' = precision^-1."""
    factor = jnp.linalg.cholesky(precision)
    return jax.scipy.linalg.solve_triangular(factor, jnp.eye(factor.shape[-1]), lower=True).T
