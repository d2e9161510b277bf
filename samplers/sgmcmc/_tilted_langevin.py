"""Preconditioned Langevin steps on a tilted Gaussian, with matrix products for many steps at once.

For log p(x) = -(x - m)'S^-1(x - m)/2 + scale max_a <a, x> and the metric S = W W', a step of size h is

    x + h (m - x + scale S a*) + sqrt(2h) W xi,   a* = argmax_a <a, x>.

Only a* is not linear in x. So the noise W xi of a block of steps is one product, and so are its values <a, W xi> for
all arms. The values <a, x> follow by the same recursion as x, and S a* is computed when another arm becomes the best:
a step then costs O(dim + arms), or O(dim^2 + arms dim) when the arm changes.

Small targets are vectorised over runs, where a branch computes both of its sides: every step would compute S a* and
<a, S a*> anyway. It computes S a* and <a, x> instead, and the product <a, W xi> is not needed.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from samplers._argmax import argmax
from samplers._fast_normal import normal_rows
from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import Kernel, Step
from samplers.gaussian import TiltedMoments
from samplers.target import Target

MAX_NUMBERS_WITHOUT_BRANCH = 4000  # dim^2 + arms dim


class Position(NamedTuple):
    """A position x with what is known of it.

    Attributes:
        x: The position.
        values: <a, x> for every arm.
        best: The arm with the largest value.
        pull: S a for the best arm.
        pull_values: <a', S a> for every arm a'.
    """

    x: Float[Array, " dim"]
    values: Float[Array, " arms"]
    best: Int[Array, ""]
    pull: Float[Array, " dim"]
    pull_values: Float[Array, " arms"]


def own_coordinates(target: Target) -> Preconditioned:
    """Returns the target in its own coordinates, with the moments that `tilted_langevin` uses as its metric."""
    assert target.tilt is not None
    assert target.moments is not None
    moments = target.moments()
    return Preconditioned(
        logdensity=target.logdensity,
        curvature=1.0,
        dim=moments.mean.shape[-1],
        to_target=lambda z: z,
        from_target=lambda x: x,
        target=target,
        tilted=TiltedMoments(moments, target.tilt, target.tilt.actions @ moments.mean),
    )


def tilted_langevin(preconditioned: Preconditioned, size: Float[Array, ""] | float) -> Kernel:
    """Returns the kernel with steps of this size."""
    assert preconditioned.tilted is not None
    moments, (actions, _), _ = preconditioned.tilted
    small = moments.covariance.size + actions.size <= MAX_NUMBERS_WITHOUT_BRANCH
    return (_without_branch if small else _with_branch)(preconditioned.tilted, size)


def _with_branch(tilted: TiltedMoments, size: Float[Array, ""] | float) -> Kernel:
    (mean, covariance, root), (actions, scale), mean_values = tilted

    def pull(arm: Array) -> tuple[Array, Array]:
        towards = covariance @ actions[arm]
        return towards, actions @ towards

    def init(key: Array, x: Array) -> Position:
        values = actions @ x
        best = argmax(values)
        return Position(x, values, best, *pull(best))

    def randomness(key: Array, indices: Array) -> tuple[Array, Array]:
        noise = normal_rows(key, indices, mean.shape[-1]) @ root.T
        return noise, noise @ actions.T

    def step(row: tuple[Array, Array], state: Position) -> tuple[Position, Step]:
        noise, noise_values = row
        spread = jnp.sqrt(2 * size)
        x = state.x + size * (mean - state.x + scale * state.pull) + spread * noise
        values = state.values + size * (mean_values - state.values + scale * state.pull_values)
        values = values + spread * noise_values
        best = argmax(values)
        unchanged = best == state.best
        pulls = jax.lax.cond(unchanged, lambda: (state.pull, state.pull_values), lambda: pull(best))
        return Position(x, values, best, *pulls), Step(jnp.nan, ~jnp.all(jnp.isfinite(x)), 1)

    return Kernel(init, step, lambda state: state.x, 0, randomness)


def _without_branch(tilted: TiltedMoments, size: Float[Array, ""] | float) -> Kernel:
    (mean, covariance, root), (actions, scale), _ = tilted

    def randomness(key: Array, indices: Array) -> Array:
        return normal_rows(key, indices, mean.shape[-1]) @ root.T

    def step(noise: Array, x: Array) -> tuple[Array, Step]:
        pull = covariance @ actions[argmax(actions @ x)]
        x = x + size * (mean - x + scale * pull) + jnp.sqrt(2 * size) * noise
        return x, Step(jnp.nan, ~jnp.all(jnp.isfinite(x)), 1)

    return Kernel(lambda key, x: x, step, lambda x: x, 0, randomness)
