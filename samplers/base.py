"""The vocabulary of this package: samplers, their states and their draws.

A sampler is called once per target. Its state carries a position (and whatever it learns), never a cached
log-density: the next target is another function.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import Array

from samplers.target import Target
from samplers.whitening import Frame, frame


class Draw(NamedTuple):
    """A draw, or with a leading axis several, and what it cost. NaN where a notion has no meaning."""

    position: Array
    acceptance: Array  # mean Metropolis acceptance probability on the way to this draw
    diverged: Array  # number of divergent transitions on the way
    gradients: Array  # gradient evaluations on the way


class SamplerState(NamedTuple):
    """What a sampler takes from one target to the next."""

    position: Array
    tuning: Any = ()


@runtime_checkable
class Sampler(Protocol):
    """How to draw. Implementations are settings objects: hashable structure, traced floats."""

    @property
    def scalar(self) -> bool:
        """Has loops of data-dependent length: chains run faster one after the other than side by side."""
        ...

    def init(self, key: Array, start: Callable[[Array], Array]) -> SamplerState:
        """The state before the first target; `start` draws a starting position from a key."""
        ...

    def sample(self, key: Array, target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        """One draw from the target, started from the state."""
        ...

    def trace(self, key: Array, target: Target, state: SamplerState, draws: int) -> Draw:
        """The chain as a chain: `draws` successive positions along a leading axis."""
        ...


class Step(NamedTuple):
    """What one transition reports."""

    acceptance: Array | float
    diverged: Array | bool
    gradients: Array | int


class Kernel(NamedTuple):
    """A Markov kernel for one target in one frame: BlackJAX's differences end where one of these begins."""

    init: Callable[[Array, Array], Any]  # key, position
    step: Callable[[Array, Any], tuple[Any, Step]]  # key, state
    position: Callable[[Any], Array]
    init_gradients: int = 1


class MarkovSampler:
    """A sampler that takes `steps` transitions of a kernel from where the last target left it."""

    scalar: ClassVar[bool] = False
    steps: int
    whiten: str

    def kernel(self, frame: Frame) -> Kernel:
        """The transition for one target, in the coordinates of the frame."""
        raise NotImplementedError

    def init(self, key: Array, start: Callable[[Array], Array]) -> SamplerState:
        """Starts at a position."""
        return SamplerState(start(key))

    def sample(self, key: Array, target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        """The position after `steps` transitions."""
        where, kernel = self._prepared(target, state)
        first, steps = self._keys(key, self.steps)
        start = kernel.init(first, where.inward(state.position))
        end, infos = jax.lax.scan(lambda carry, k: kernel.step(k, carry), start, steps)
        position = where.outward(kernel.position(end))
        gradients = jnp.sum(jnp.asarray(infos.gradients)) + kernel.init_gradients
        draw = Draw(position, jnp.mean(infos.acceptance), jnp.sum(infos.diverged), gradients)
        return SamplerState(position), draw

    def trace(self, key: Array, target: Target, state: SamplerState, draws: int) -> Draw:
        """Every position of a chain of `draws` transitions."""
        where, kernel = self._prepared(target, state)
        first, steps = self._keys(key, draws)

        def transition(carry: Any, k: Array) -> tuple[Any, Draw]:
            carry, info = kernel.step(k, carry)
            return carry, Draw(where.outward(kernel.position(carry)), *map(jnp.asarray, info))

        return jax.lax.scan(transition, kernel.init(first, where.inward(state.position)), steps)[1]

    def _prepared(self, target: Target, state: SamplerState) -> tuple[Frame, Kernel]:
        where = frame(target, state.position, self.whiten)
        return where, self.kernel(where)

    def _keys(self, key: Array, steps: int) -> tuple[Array, Array]:
        keys = jax.random.split(key, steps + 1)
        return keys[0], keys[1:]
