"""Samplers that fit a law that is easy to draw from, and then draw from it independently."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, frame
from samplers.base import Draw, SamplerInfo, SamplerState
from samplers.target import Target


class Fit(NamedTuple):
    """A law fitted to a target: how to draw from it, what the next fit starts from, what it cost."""

    draw: Callable[[Array], Array]
    carried: Any
    num_gradients: Array | int


class Approximation:
    """A sampler whose draws within a target are independent, from a law that is near the target."""

    sequential: ClassVar[bool] = False
    info: ClassVar[SamplerInfo]

    def fit(self, key: Array, target: Target, state: SamplerState) -> Fit:
        """Fits the law, from where the last fit ended."""
        raise NotImplementedError

    def carried(self, position: Array) -> Any:
        """What the first fit starts from."""
        return position

    def init(self, key: Array, start: Callable[[Array], Array]) -> SamplerState:
        """Starts at a position."""
        position = start(key)
        return SamplerState(position, self.carried(position))

    def sample(self, key: Array, target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        """Fits and draws."""
        fitting, drawing = jax.random.split(key)
        law = self.fit(fitting, target, state)
        draw = _draw(law.draw(drawing), law.num_gradients)
        return SamplerState(draw.position, law.carried), draw

    def trace(self, key: Array, target: Target, state: SamplerState, draws: int) -> Draw:
        """Fits once and draws independently; the first draw bears the cost."""
        fitting, drawing = jax.random.split(key)
        law = self.fit(fitting, target, state)
        costs = jnp.zeros(draws, int).at[0].set(law.num_gradients)
        keys = jax.random.split(drawing, draws)
        return jax.vmap(lambda k, cost: _draw(law.draw(k), cost))(keys, costs)


def _draw(position: Array, gradients: Array | int) -> Draw:
    diverged = jnp.asarray(~jnp.all(jnp.isfinite(position)), int)
    return Draw(position, jnp.asarray(jnp.nan), diverged, jnp.asarray(gradients))


def climb(where: Preconditioned, start: Array, iterations: int) -> Array:
    """Uphill along the gradient in whitened coordinates, that is by (Gauss-)Newton steps; never downhill.

    A step that fails is tried again at half its length. Takes iterations + 1 gradients.
    """
    ascend = jax.value_and_grad(where.logdensity)

    def attempt(carry: tuple[Array, Array, Array, Array], _: None) -> tuple[Any, None]:
        position, value, slope, length = carry
        moved = position + length * slope
        there, steepness = ascend(moved)
        better = there > value
        position, value, slope = jax.tree.map(
            lambda new, old: jnp.where(better, new, old), (moved, there, steepness), (position, value, slope)
        )
        return (position, value, slope, jnp.where(better, jnp.minimum(2 * length, 1.0), length / 2)), None

    first = (start, *ascend(start), jnp.ones((), start.dtype))
    return jax.lax.scan(attempt, first, length=iterations)[0][0]


def mode(target: Target, start: Array, iterations: int) -> Array:
    """A mode of the target near a position, where its precision is known; else the position."""
    if target.precision is None:
        return start
    where = frame(target, start, "dense")
    return where.to_target(climb(where, where.from_target(start), iterations))
