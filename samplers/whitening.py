"""Coordinates for a target: as they are, scaled axis by axis, or whitened by its precision."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from samplers.settings import InputError, choice
from samplers.target import Target

WHITENINGS = ("dense", "diagonal", "none")


def whitening(default: str = "dense") -> str:
    """The settings field that every whitenable sampler has."""
    made: str = choice(
        default=default,
        options=WHITENINGS,
        aliases={True: "dense", False: "none"},
        doc="coordinates: whitened by the precision (dense, true), scaled axis by axis, or plain (none, false)",
    )
    return made


class Frame(NamedTuple):
    """A target seen in other coordinates: `outward` maps them to the target's own, `inward` back."""

    logdensity: Callable[[Array], Array]
    curvature: Array | float  # largest eigenvalue of the precision in these coordinates
    dim: int
    inward: Callable[[Array], Array]
    outward: Callable[[Array], Array]


def frame(target: Target, position: Array, kind: str) -> Frame:
    """The frame of the given kind, with the precision taken at a position."""
    dim = position.shape[-1]
    if target.precision is None:
        raise InputError("this sampler needs the precision of the target, and the target does not know it")
    precision = target.precision(position)
    if kind == "none":
        return Frame(target.logdensity, _largest(precision), dim, lambda x: x, lambda z: z)
    if kind == "diagonal":
        root = jnp.sqrt(jnp.diagonal(precision))
        return Frame(
            lambda z: target.logdensity(z / root),
            _largest(precision / jnp.outer(root, root)),
            dim,
            lambda x: x * root,
            lambda z: z / root,
        )
    factor = jnp.linalg.cholesky(precision)
    unwhiten = jax.scipy.linalg.solve_triangular(factor, jnp.eye(dim), lower=True).T
    return Frame(
        lambda z: target.logdensity(unwhiten @ z), 1.0, dim, lambda x: factor.T @ x, lambda z: unwhiten @ z
    )


def _largest(matrix: Array) -> Array:
    return jnp.linalg.eigvalsh(matrix)[-1]
