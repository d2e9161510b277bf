"""Weighted ridge regression, one datum at a time: the estimator of the linear baselines.

Stored as a root of the inverse (Sigma^-1 = root root'), which is recomputed by one factorisation per datum: norms
cannot become negative, a Gaussian draw is one product, and rounding errors do not accumulate as in rank-one updates of
the inverse.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key


class Ridge(NamedTuple):
    """The regression with Sigma = lam I + sum w a a' and b = sum w r a.

    Attributes:
        precision: Sigma.
        moment: b.
        root: Upper triangular, with root root' = Sigma^-1.
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
        return -2 * jnp.sum(jnp.log(jnp.diagonal(self.root)))

    def added(
        self, features: Float[Array, " dim"], reward: Float[Array, ""], weight: Float[Array, ""]
    ) -> "Ridge":
        """With one more datum."""
        precision = self.precision + weight * jnp.outer(features, features)
        return Ridge(precision, self.moment + weight * reward * features, inverse_root(precision))

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
