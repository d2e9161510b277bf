"""The vocabulary of this package: samplers, their states and their draws.

A sampler is called once per target. Its state carries a position (and whatever it learns), never a cached
log-density: the next target is another function.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import Array

from samplers.target import Target


class Draw(NamedTuple):
    """A draw, or with a leading axis several, and what it cost. NaN where a notion has no meaning."""

    position: Array
    acceptance_rate: Array  # mean Metropolis acceptance probability on the way to this draw
    num_divergent: Array  # number of divergent transitions on the way
    num_gradients: Array  # gradient evaluations on the way
    energy: Array | float = math.nan  # of the last transition, where momentum is drawn anew for each


class SamplerState(NamedTuple):
    """What a sampler takes from one target to the next."""

    position: Array
    carry: Any = ()


class SamplerInfo(NamedTuple):
    """What a reader wants to know of a sampler before choosing it."""

    family: str
    exactness: str  # exact, asymptotically exact, or biased (by what)
    gradients_per_draw: str  # per draw, in terms of its settings
    needs: str  # of the target, beyond a log-density with a gradient


EXACT, ASYMPTOTIC, BIASED = "exact", "asymptotically exact", "biased"


def sampler_info(cls: type) -> SamplerInfo:
    """What a sampler class says of itself."""
    said: SamplerInfo = getattr(cls, "info", SamplerInfo("own", "unknown", "unknown", "unknown"))
    return said


@runtime_checkable
class Sampler(Protocol):
    """How to draw. Implementations are settings objects: hashable structure, traced floats."""

    @property
    def sequential(self) -> bool:
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

    acceptance_rate: Array | float
    num_divergent: Array | bool
    num_gradients: Array | int
    energy: Array | float = math.nan


class Cost(NamedTuple):
    """What several transitions report together."""

    acceptance_rate: Array
    num_divergent: Array
    num_gradients: Array

    @classmethod
    def nothing(cls) -> "Cost":
        """Before the first."""
        return cls(jnp.zeros(()), jnp.zeros((), int), jnp.zeros((), int))

    def plus(self, step: Step) -> "Cost":
        """With one more."""
        gradients = jnp.asarray(step.num_gradients, int)
        return Cost(
            self.acceptance_rate + step.acceptance_rate,
            self.num_divergent + step.num_divergent,
            self.num_gradients + gradients,
        )


def keys(key: Array, indices: Array) -> Array:
    """What most steps draw from: a key for each of them."""
    return jax.vmap(partial(jax.random.fold_in, key))(indices)


class Kernel(NamedTuple):
    """A Markov kernel for one target in one frame: BlackJAX's differences end where one of these begins.

    Randomness that is no keys makes a kernel unfit for warm-ups and for the moves of SMC, which step by keys.
    """

    init: Callable[[Array, Array], Any]  # key, position
    step: Callable[[Any, Any], tuple[Any, Step]]  # a row of its randomness (by default a key), state
    position: Callable[[Any], Array]
    init_gradients: int = 1
    randomness: Callable[[Array, Array], Any] = keys  # key, numbers of steps: a row for each of them
