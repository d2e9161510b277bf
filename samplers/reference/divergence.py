"""Distributions at a given alpha-divergence from a Gaussian: how far to shift, scale, truncate or mix it.

D_alpha(P, Q) = (1 - int p^alpha q^(1 - alpha)) / (alpha (1 - alpha)), which is KL(P || Q) at alpha = 1 and KL(Q || P)
at alpha = 0 (Phan, Abbasi-Yadkori & Domke 2019). P is the exact Gaussian, Q what is drawn from instead.
All functions take D and alpha, and do not depend on mean and covariance of P.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from samplers.errors import InputError

type Number = Float[Array, ""] | float

NEAR = 1e-6  # an alpha closer to 0 or 1 than this counts as 0 or 1
MAX_LOG_SCALE = 6.0  # of a scaling: exp(6) standard deviations
NUM_BISECTIONS = 60


def exponent(divergence: Number, alpha: Number) -> Float[Array, ""]:
    """-log(int p^alpha q^(1 - alpha)) / (alpha (1 - alpha)), which is the divergence itself at alpha 0 and 1."""
    product = jnp.asarray(alpha) * (1 - jnp.asarray(alpha))
    small = jnp.abs(product) < NEAR
    safe = jnp.where(small, 1.0, product)
    return jnp.where(small, divergence, -jnp.log1p(-safe * divergence) / safe)


def shift(divergence: Number, alpha: Number) -> Float[Array, ""]:
    """By how many standard deviations, in any direction, the mean is shifted."""
    return jnp.sqrt(2 * exponent(divergence, alpha))


def kept_mass(divergence: Number, alpha: Number) -> Float[Array, ""]:
    """The mass that a truncation keeps: Q is P given an event of this probability; alpha below 1."""
    return jnp.exp(-(1 - jnp.asarray(alpha)) * exponent(divergence, alpha))


def mixture_weight(divergence: Number, alpha: Number) -> Float[Array, ""]:
    """The weight e of the other component of Q = (1 - e) P + e R; alpha above 0.

    The divergence is at most the given one, for any R, and approaches it as P concentrates where R has little mass.
    """
    return -jnp.expm1(-jnp.asarray(alpha) * exponent(divergence, alpha))


def scaling_exponent(log_scale: Number, alpha: Number, dim: int) -> Float[Array, ""]:
    """`exponent` of a Gaussian with standard deviations multiplied by exp(log_scale); infinite if the integral is."""
    log_scale, alpha = jnp.asarray(log_scale), jnp.asarray(alpha)
    at_zero = dim / 2 * (jnp.expm1(2 * log_scale) - 2 * log_scale)
    at_one = dim / 2 * (jnp.expm1(-2 * log_scale) + 2 * log_scale)
    product = alpha * (1 - alpha)
    small = jnp.abs(product) < NEAR
    precision = alpha + (1 - alpha) * jnp.exp(-2 * log_scale)
    log_integral = -(1 - alpha) * dim * log_scale - dim / 2 * jnp.log(jnp.maximum(precision, 1e-300))
    general = jnp.where(precision > 0, -log_integral / jnp.where(small, 1.0, product), jnp.inf)
    return jnp.where(small, jnp.where(alpha < 0.5, at_zero, at_one), general)


def scale(divergence: Number, alpha: Number, dim: int, *, wide: bool) -> Float[Array, ""]:
    """The factor on all standard deviations, above 1 if `wide`, else below 1; found by bisection.

    Args:
        divergence: D.
        alpha: Any.
        dim: Dimension of the Gaussian.
        wide: Which of the two scalings at this divergence.
    """
    wanted, sign = exponent(divergence, alpha), 1.0 if wide else -1.0

    def halve(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        below = scaling_exponent(sign * middle, alpha, dim) < wanted
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    start = (jnp.zeros_like(wanted), jnp.full_like(wanted, MAX_LOG_SCALE))
    return jnp.exp(sign * jax.lax.fori_loop(0, NUM_BISECTIONS, halve, start)[0])


def check(perturbation: str, divergence: float, alpha: float) -> None:
    """Raises InputError where no such distribution has this divergence."""
    if perturbation == "truncate" and alpha >= 1 and divergence > 0:
        raise InputError(
            f"perturbation=truncate has an infinite divergence at alpha={alpha:g}; set alpha below 1"
        )
    if perturbation == "prior" and alpha <= 0 and divergence > 0:
        raise InputError(
            f"perturbation=prior has no bounded divergence at alpha={alpha:g}; set alpha above 0, up to 1"
        )
    if alpha * (1 - alpha) * divergence >= 1:
        raise InputError(
            f"divergence={divergence:g} must be below {1 / (alpha * (1 - alpha)):g}, the largest at alpha={alpha:g}"
        )
