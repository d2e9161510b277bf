"""Weighted ridge regression, one datum at a time: the estimator of the linear baselines.

Stored as a root of the inverse (Sigma^-1 = root root'), which is recomputed by one factorisation per datum: norms
cannot become negative, a Gaussian draw is one product, and rounding errors do not accumulate as in rank-one updates of
the inverse. In high dimensions, where a factorisation costs most of a round, the root itself gets a rank-one update.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from samplers.gaussian import Moments

MAX_FACTORED_DIM = 128  # up to this dimension, the root is computed by a factorisation


class Ridge(NamedTuple):
    """The regression with Sigma = lam I + sum w a a' and b = sum w r a.

    Attributes:
        precision: Sigma.
        moment: b.
        root: With root root' = Sigma^-1; upper triangular up to `MAX_FACTORED_DIM`.
    """

    precision: Float[Array, "*batch dim dim"]
    moment: Float[Array, "*batch dim"]
    root: Float[Array, "*batch dim dim"]

    @property
    def estimate(self) -> Float[Array, " dim"]:
        """Sigma^-1 b."""
        return self.root @ (self.root.T @ self.moment)

    def norms(self, actions: Float[Array, "*arms dim"]) -> Float[Array, "*arms"]:
        """||a||_{Sigma^-1} of every row, or of a single vector."""
        return jnp.sqrt(jnp.sum((actions @ self.root) ** 2, axis=-1))

    @property
    def log_det(self) -> Float[Array, ""]:
        """log det Sigma."""
        if self.moment.shape[-1] > MAX_FACTORED_DIM:
            return -2 * jnp.linalg.slogdet(self.root)[1]
        return -2 * jnp.sum(jnp.log(jnp.diagonal(self.root)))

    def added(
        self, features: Float[Array, " dim"], reward: Float[Array, ""], weight: Float[Array, ""]
    ) -> "Ridge":
        """With one more datum."""
        precision = self.precision + weight * jnp.outer(features, features)
        if self.moment.size > MAX_FACTORED_DIM:  # of the moments only the root is computed
            root = Moments(self.moment, self.precision, self.root).conditioned(features, reward, weight).root
        else:
            root = inverse_root(precision)
        return Ridge(precision, self.moment + weight * reward * features, root)

    def draw(self, key: Key[Array, ""], scale: Float[Array, ""]) -> Float[Array, " dim"]:
        """theta ~ N(estimate, scale^2 Sigma^-1)."""
        return self.estimate + scale * (self.root @ jax.random.normal(key, self.moment.shape))


def ridge(dim: int, lam: Float[Array, ""] | float) -> Ridge:
    """A regression without data."""
    eye = jnp.eye(dim)
    return Ridge(lam * eye, jnp.zeros(dim), eye / jnp.sqrt(lam))


def inverse_root(precision: Float[Array, "dim dim"]) -> Float[Array, "dim dim"]:
    """An upper triangular R with R R' = precision^-1."""
    factor = jnp.linalg.cholesky(precision)
    return jax.scipy.linalg.solve_triangular(factor, jnp.eye(factor.shape[-1]), lower=True).T
