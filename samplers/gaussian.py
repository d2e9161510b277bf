"""Gaussian distributions: by precision, by moments, and tilted by a maximum of linear functions."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


class Gaussian(NamedTuple):
    """A normal distribution in information form: log-density -x'Px/2 + b'x up to a constant.

    Attributes:
        precision: P.
        shift: b = P times the mean.
    """

    precision: Float[Array, "*batch size size"]
    shift: Float[Array, "*batch size"]

    def moments(self) -> "Moments":
        """Mean and covariance, by a Cholesky factorisation: O(size^3)."""
        factor = jnp.linalg.cholesky(self.precision)
        root = jax.scipy.linalg.solve_triangular(factor, jnp.eye(factor.shape[-1]), lower=True).T
        return Moments(root @ (root.T @ self.shift), root @ root.T, root)


class Moments(NamedTuple):
    """A normal distribution by its mean, its covariance S, and a square root of S.

    Attributes:
        mean: m.
        covariance: S.
        root: W with W W' = S; not triangular in general.
    """

    mean: Float[Array, "*batch size"]
    covariance: Float[Array, "*batch size size"]
    root: Float[Array, "*batch size size"]

    def conditioned(
        self, features: Float[Array, " size"], response: Float[Array, ""], weight: Float[Array, ""]
    ) -> "Moments":
        """The distribution after one linear observation, in O(size^2).

        The precision grows by weight a a' for features a, and the mean moves by the Kalman gain towards <a, x> =
        response. The root follows by Potter's square-root update (Bierman 1977, Section II.3), W - beta (W u) u' with
        u = W'a, which keeps W W' positive definite whatever the rounding errors.

        Args:
            features: a.
            response: The observed value.
            weight: Precision of the observation.
        """
        u = self.root.T @ features
        gain = self.root @ u
        growth = 1 + weight * (u @ u)
        error = response - features @ self.mean
        return Moments(
            self.mean + (weight * error / growth) * gain,
            self.covariance - (weight / growth) * jnp.outer(gain, gain),
            self.root - (weight / (growth + jnp.sqrt(growth))) * jnp.outer(gain, u),
        )


class Tilt(NamedTuple):
    """The factor exp(scale * max_a <a, x>) of a density.

    Attributes:
        actions: The vectors a.
        scale: Strength of the tilt, at least 0.
    """

    actions: Float[Array, "arms size"]
    scale: Float[Array, ""] | float


class TiltedMoments(NamedTuple):
    """A tilted Gaussian by moments.

    Attributes:
        moments: Of the Gaussian.
        tilt: The other factor.
        mean_values: <a, m> for every arm.
    """

    moments: Moments
    tilt: Tilt
    mean_values: Float[Array, " arms"]
