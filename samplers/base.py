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
    acceptance: Array  # mean Metropolis acceptance probability on the way to this draw
    diverged: Array  # number of divergent transitions on the way
    gradients: Array  # gradient evaluations on the way
    energy: Array | float = math.nan  # of the last transition, where momentum is drawn anew for each


class SamplerState(NamedTuple):
    """What a sampler takes from one target to the next."""

    position: Array
    tuning: Any = ()


class Card(NamedTuple):
    """What a reader wants to know of a sampler before choosing it."""

    family: str
    exactness: str  # exact, asymptotically exact, or biased (by what)
    gradients: str  # per draw, in terms of its settings
    needs: str  # of the target, beyond a log-density with a gradient


EXACT, ASYMPTOTIC, BIASED = "exact", "asymptotically exact", "biased"


def card(cls: type) -> Card:
    """What a sampler class says of itself."""
    said: Card = getattr(cls, "card", Card("own", "unknown", "unknown", "unknown"))
    return said


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
    energy: Array | float = math.nan


class Spent(NamedTuple):
    """What several transitions report together."""

    acceptance: Array
    diverged: Array
    gradients: Array

    @classmethod
    def nothing(cls) -> "Spent":
        """Before the first."""
        return cls(jnp.zeros(()), jnp.zeros((), int), jnp.zeros((), int))

    def plus(self, step: Step) -> "Spent":
        """With one more."""
        gradients = jnp.asarray(step.gradients, int)
        return Spent(
            self.acceptance + step.acceptance, self.diverged + step.diverged, self.gradients + gradients
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
