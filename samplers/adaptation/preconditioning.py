"""Coordinates for a target: as they are, scaled axis by axis, or whitened by its precision.

Every kernel takes its step in units of its frame: a length of 1 is 1/sqrt(curvature). Step rules, adaptation and
decay are therefore changes of a frame's curvature, and a learnt metric is one more linear change of coordinates:
kernels know nothing of any of them.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from samplers.errors import InputError
from samplers.settings import choice
from samplers.target import Target

WHITENINGS = ("dense", "diagonal", "none")
RULES = ("curvature", "power", "constant")
POWER_ITERATIONS = 8
SQUARINGS = 20
SMALL = 6  # up to this dimension squaring is faster than LAPACK
POWER_GRADIENTS = 2 * POWER_ITERATIONS  # a Hessian-vector product costs about two gradients


def whitening(default: str = "dense") -> str:
    """The settings field that every whitenable sampler has."""
    made: str = choice(
        default=default,
        options=WHITENINGS,
        aliases={True: "dense", False: "none"},
        doc="coordinates: whitened by the precision (dense, true), scaled axis by axis, or plain (none, false)",
    )
    return made


def step_rule(default: str = "curvature") -> str:
    """The settings field that says what a step of 1 means."""
    made: str = choice(
        default=default,
        options=RULES,
        doc="unit of the step: the largest curvature, from the precision where it is known, else by power "
        "iterations (curvature); always by power iterations (power); none (constant)",
    )
    return made


class Preconditioned(NamedTuple):
    """A target seen in other coordinates: `to_target` maps them linearly to the target's own, `from_target` back."""

    logdensity: Callable[[Array], Array]
    curvature: (
        Array | float
    )  # what a step of 1 is measured by; the largest eigenvalue of the precision in here
    dim: int
    from_target: Callable[[Array], Array]
    to_target: Callable[[Array], Array]
    target: Target
    spent: int = 0  # gradients that finding the curvature took

    def stretched(self, length: Array | float) -> "Preconditioned":
        """The same coordinates with every step `length` times as long."""
        return self._replace(curvature=self.curvature / length**2)

    def through(self, factor: Array) -> "Preconditioned":
        """Coordinates y with z = factor @ y, factor lower triangular; the unit of the step stays."""
        return self._replace(
            logdensity=lambda y: self.logdensity(factor @ y),
            from_target=lambda x: jax.scipy.linalg.solve_triangular(factor, self.from_target(x), lower=True),
            to_target=lambda y: self.to_target(factor @ y),
        )

    def gradient(self, minibatch: int = 0) -> Callable[[Array, Array | None], Array]:
        """The gradient as a function of position and key: exact, or from `minibatch` data picked with the key."""
        if not minibatch:
            exact = jax.grad(self.logdensity)
            return lambda z, key: exact(z)
        estimate = self.target.minibatch_gradient
        if estimate is None:
            raise InputError(
                f"minibatch={minibatch}: this target has no data to subsample (linear rewards are kept as sums, "
                "whose full gradient is as cheap); set minibatch=0"
            )

        def gradient(z: Array, key: Array | None) -> Array:
            assert key is not None
            position, pull = jax.vjp(self.to_target, z)
            return pull(estimate(key, position, minibatch))[0]

        return gradient


def frame(target: Target, position: Array, kind: str, rule: str = "curvature") -> Preconditioned:
    """The frame of the given kind, with the precision taken at a position."""
    dim = position.shape[-1]
    if kind == "none":
        bare = Preconditioned(target.logdensity, 1.0, dim, lambda x: x, lambda z: z, target)
        if rule == "constant":
            return bare
        if target.precision is None or rule == "power":
            return _powered(bare, position)
        return bare._replace(curvature=_largest(target.precision(position)))
    if target.precision is None:
        raise InputError(
            f"whiten={kind} needs the precision of the target, which this target does not know; set whiten=none, "
            "where power iterations find the largest curvature"
        )
    precision = target.precision(position)
    if kind == "diagonal":
        root = jnp.sqrt(jnp.diagonal(precision))
        scaled = Preconditioned(
            lambda z: target.logdensity(z / root), 1.0, dim, lambda x: x * root, lambda z: z / root, target
        )
        if rule == "curvature":
            return scaled._replace(curvature=_largest(precision / jnp.outer(root, root)))
    else:
        factor = jnp.linalg.cholesky(precision)
        unwhiten = jax.scipy.linalg.solve_triangular(factor, jnp.eye(dim), lower=True).T
        scaled = Preconditioned(
            lambda z: target.logdensity(unwhiten @ z),
            1.0,
            dim,
            lambda x: factor.T @ x,
            lambda z: unwhiten @ z,
            target,
        )
    return _powered(scaled, scaled.from_target(position)) if rule == "power" else scaled


def _powered(bare: Preconditioned, position: Array) -> Preconditioned:
    """The frame with its curvature found by power iterations on Hessian-vector products.

    The start is one fixed random direction: any special one could be orthogonal to the top of a symmetric target.
    """
    gradient = jax.grad(bare.logdensity)

    def multiply(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        direction = carry[0]
        product = jax.jvp(gradient, (position,), (direction,))[1]
        size = jnp.linalg.norm(product)
        return (product / jnp.maximum(size, 1e-30), size), None

    start = jax.random.normal(jax.random.key(0), (bare.dim,), dtype=position.dtype)
    first = (start / jnp.linalg.norm(start), jnp.ones((), position.dtype))
    (_, size), _ = jax.lax.scan(multiply, first, length=POWER_ITERATIONS)
    # A target that is flat here has no curvature to measure a step by.
    return bare._replace(curvature=jnp.where(size > 0, size, 1.0), spent=POWER_GRADIENTS)


def _largest(matrix: Array) -> Array:
    """The largest eigenvalue of a positive definite matrix."""
    return largest_by_squaring(matrix) if matrix.shape[-1] <= SMALL else jnp.linalg.eigvalsh(matrix)[-1]


def largest_by_squaring(matrix: Array) -> Array:
    """The same by squaring: with n = 2^SQUARINGS it is tr(A^(n+1)) / tr(A^n).

    That is a mean of the eigenvalues with their n-th powers for weights: never above the largest, and below it by at
    most a share (dim - 1) / (e n), 1.4e-6 for dim 5, which nearly equal eigenvalues come to and no others.
    """

    def square(_: Array, power: Array) -> Array:
        product = jnp.sum(
            power[:, :, None] * power[None], axis=1
        )  # a product of matrices this small is a slow loop
        return product / jnp.trace(product)

    power = jax.lax.fori_loop(0, SQUARINGS, square, matrix / jnp.trace(matrix))
    return jnp.sum(matrix * power)
