"""Preconditioners: linear coordinates in which a target is sampled, and the unit of step sizes in them.

A kernel measures its step in units of 1/sqrt(curvature) of the preconditioned target. Step size rules, adaptation and
decay are therefore changes of that curvature, and a learnt metric is one more linear change of coordinates: kernels
need not know any of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from samplers._argmax import argmax
from samplers.adaptation.curvature import POWER_ITERATION_GRADIENTS, largest_eigenvalue, power_iteration
from samplers.errors import InputError
from samplers.gaussian import TiltedMoments
from samplers.settings import settings
from samplers.target import Target, with_gradient

STEP_SIZE_RULES = ("curvature", "power", "constant")


class Preconditioned(NamedTuple):
    """A target in linear coordinates z with x = to_target(z).

    Attributes:
        logdensity: The target's log-density as a function of z.
        curvature: The unit of step sizes: the largest eigenvalue of the precision in these coordinates, or 1.
        dim: Length of z.
        to_target: z -> x.
        from_target: x -> z.
        target: The target itself.
        num_gradients: Number of gradients that finding the curvature took.
        tilted: A tilted Gaussian whose metric a kernel applies itself, in the target's own coordinates; else None.
    """

    logdensity: Callable[[Array], Array]
    curvature: Float[Array, ""] | float
    dim: int
    to_target: Callable[[Array], Array]
    from_target: Callable[[Array], Array]
    target: Target
    num_gradients: int = 0
    tilted: TiltedMoments | None = None

    def with_step_scale(self, scale: Float[Array, ""] | float) -> "Preconditioned":
        """Returns the same coordinates with every step `scale` times as long.

        Barriers here and in `root_curvature`: compiled for several devices, c / sqrt(1 / scale^2) stayed as it is, and
        for one it became c sqrt(scale^2), so that a run's last bits depended on the number of devices.
        """
        return self._replace(curvature=jax.lax.optimization_barrier(self.curvature / scale**2))

    @property
    def root_curvature(self) -> Float[Array, ""]:
        """The square root of the curvature."""
        root = jnp.sqrt(self.curvature)
        if isinstance(self.curvature, float):
            return root
        kept: Array = jax.lax.optimization_barrier(root)
        return kept

    def with_metric(self, factor: Float[Array, "size size"]) -> "Preconditioned":
        """Returns coordinates y with z = factor @ y, factor lower triangular; the unit of step sizes stays."""
        return self._replace(
            logdensity=lambda y: self.logdensity(factor @ y),
            from_target=lambda x: jax.scipy.linalg.solve_triangular(factor, self.from_target(x), lower=True),
            to_target=lambda y: self.to_target(factor @ y),
        )

    def gradient(self, batch_size: int = 0) -> Callable[[Array, Array | None], Array]:
        """Returns the gradient as a function of position and key.

        Args:
            batch_size: Number of data that the gradient is estimated from, picked with the key; 0 for the exact one.
        """
        if not batch_size:
            exact = jax.grad(self.logdensity)
            return lambda z, key: exact(z)
        estimate = self.target.minibatch_gradient
        if estimate is None:
            raise InputError(
                f"batch_size={batch_size}: this target has no data to subsample (linear rewards are kept as sums, "
                "whose full gradient is as cheap); set batch_size=0"
            )

        def gradient(z: Array, key: Array | None) -> Array:
            assert key is not None
            position, pull = jax.vjp(self.to_target, z)
            return pull(estimate(key, position, batch_size))[0]

        return gradient


def whitened_tilt(target: Target, whiten_arms: bool = False) -> Preconditioned:
    """Returns a tilted Gaussian in whitened coordinates, where its Gaussian factor has the identity as precision.

    log p(z) = -|z - mu|^2 / 2 + scale max_a <a, W z> with mu = W'b, where b is the shift. A gradient takes two products
    with W and one with the arms.

    Args:
        target: The target.
        whiten_arms: Whether to compute W'a for all arms, so that a gradient takes one product with these.
    """
    assert target.gaussian is not None
    assert target.moments is not None
    assert target.tilt is not None
    precision, shift = target.gaussian
    root, (actions, scale) = target.moments().root, target.tilt
    centre = root.T @ shift
    whitened = actions @ root if whiten_arms else None

    def values(z: Array) -> Array:
        return actions @ (root @ z) if whitened is None else whitened @ z

    def whitened_arm(arm: Array) -> Array:
        return root.T @ actions[arm] if whitened is None else whitened[arm]

    def logdensity(z: Array) -> Array:
        return scale * jnp.max(values(z)) - jnp.sum((z - centre) ** 2) / 2

    def gradient(z: Array) -> Array:
        return centre - z + scale * whitened_arm(argmax(values(z)))

    return Preconditioned(
        logdensity=with_gradient(logdensity, gradient),
        curvature=1.0,
        dim=shift.shape[-1],
        to_target=lambda z: root @ z,
        from_target=lambda x: root.T @ (precision @ x),
        target=target,
    )


@settings
class Preconditioner(ABC):
    """A choice of linear coordinates for a target."""

    uses_moments: ClassVar[bool] = False  # see Sampler.uses_moments

    @abstractmethod
    def apply(
        self, target: Target, position: Float[Array, " size"], step_size_rule: str = "curvature"
    ) -> Preconditioned:
        """Returns the target in these coordinates.

        Args:
            target: The target.
            position: Where its precision is evaluated, if the target has no metric.
            step_size_rule: The unit of step sizes: `curvature`, the largest curvature, from the precision where it is
                known, else by power iterations; `power`, always by power iterations; `constant`, none.
        """


@settings
class Dense(Preconditioner):
    """Whitened coordinates z = W^-1 x, where the inverse precision is W W'."""

    uses_moments: ClassVar[bool] = True

    @override
    def apply(
        self, target: Target, position: Float[Array, " size"], step_size_rule: str = "curvature"
    ) -> Preconditioned:
        if target.tilt is not None:
            whitened = whitened_tilt(target)
            return _with_power_iteration(whitened, position) if step_size_rule == "power" else whitened
        dim = position.shape[-1]
        precision = _precision(target, position, "dense")
        if precision.ndim == 1:  # too many parameters for a matrix
            scaled = _scaled(target, jnp.sqrt(precision))
            return _with_power_iteration(scaled, position) if step_size_rule == "power" else scaled
        factor = jnp.linalg.cholesky(precision)
        unwhiten = jax.scipy.linalg.solve_triangular(factor, jnp.eye(dim), lower=True).T
        whitened = Preconditioned(
            logdensity=lambda z: target.logdensity(unwhiten @ z),
            curvature=1.0,
            dim=dim,
            to_target=lambda z: unwhiten @ z,
            from_target=lambda x: factor.T @ x,
            target=target,
        )
        return _with_power_iteration(whitened, position) if step_size_rule == "power" else whitened


@settings
class Diagonal(Preconditioner):
    """Coordinates scaled axis by axis by the square roots of the precision's diagonal."""

    @override
    def apply(
        self, target: Target, position: Float[Array, " size"], step_size_rule: str = "curvature"
    ) -> Preconditioned:
        precision = _precision(target, position, "diagonal")
        is_matrix = precision.ndim == 2
        root = jnp.sqrt(jnp.diagonal(precision) if is_matrix else precision)
        scaled = _scaled(target, root)
        if step_size_rule == "curvature" and is_matrix:
            return scaled._replace(curvature=largest_eigenvalue(precision / jnp.outer(root, root)))
        return _with_power_iteration(scaled, position) if step_size_rule == "power" else scaled


@settings
class Identity(Preconditioner):
    """The target's own coordinates."""

    @override
    def apply(
        self, target: Target, position: Float[Array, " size"], step_size_rule: str = "curvature"
    ) -> Preconditioned:
        plain = Preconditioned(
            logdensity=target.logdensity,
            curvature=1.0,
            dim=position.shape[-1],
            to_target=lambda z: z,
            from_target=lambda x: x,
            target=target,
        )
        if step_size_rule == "constant":
            return plain
        if target.precision is None or step_size_rule == "power":
            return _with_power_iteration(plain, position)
        precision = _precision(target, position, "none")
        largest = largest_eigenvalue(precision) if precision.ndim == 2 else jnp.max(precision)
        return plain._replace(curvature=largest)


def _scaled(target: Target, root: Array) -> Preconditioned:
    return Preconditioned(
        logdensity=lambda z: target.logdensity(z / root),
        curvature=1.0,
        dim=root.shape[-1],
        to_target=lambda z: z / root,
        from_target=lambda x: x * root,
        target=target,
    )


def _precision(target: Target, position: Array, name: str) -> Array:
    if target.metric is not None:
        return target.metric()
    if target.precision is None:
        raise InputError(
            f"preconditioner={name} needs the precision of the target, which this target does not know; "
            "set preconditioner=none, where power iterations find the largest curvature"
        )
    return target.precision(position)


def _with_power_iteration(preconditioned: Preconditioned, position: Array) -> Preconditioned:
    curvature = power_iteration(preconditioned.logdensity, preconditioned.from_target(position))
    return preconditioned._replace(curvature=curvature, num_gradients=POWER_ITERATION_GRADIENTS)
