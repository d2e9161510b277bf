"""The vocabulary of this package: samplers, their states, their draws and their kernels.

A sampler is called once per target. Its state carries a position and what was learnt, never a cached log-density: the
next target is another function.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from samplers._threefry import fold_in
from samplers.target import Target

EXACT, ASYMPTOTIC, BIASED = "exact", "asymptotically exact", "biased"

type Start = Callable[[Key[Array, ""]], Float[Array, " size"]]  # draws a starting position


class Draw(NamedTuple):
    """A draw and what it cost, or several draws along a leading axis; NaN where a quantity has no meaning.

    Attributes:
        position: The draw.
        acceptance_rate: Mean Metropolis acceptance probability over the transitions to this draw.
        num_divergent: Number of divergent transitions to this draw.
        num_gradients: Number of gradient evaluations for this draw.
        energy: Energy of the last transition, where each transition draws a new momentum.
    """

    position: Float[Array, "*draws size"]
    acceptance_rate: Float[Array, "*draws"]
    num_divergent: Int[Array, "*draws"] | Bool[Array, "*draws"]
    num_gradients: Int[Array, "*draws"]
    energy: Float[Array, "*draws"] | float = math.nan

    @classmethod
    def without_acceptance(
        cls, position: Float[Array, " size"], num_gradients: Int[Array, ""] | int = 0
    ) -> "Draw":
        """Returns a draw of a sampler without an accept step; one that is not finite counts as divergent."""
        diverged = jnp.asarray(~jnp.all(jnp.isfinite(position)), int)
        return cls(position, jnp.asarray(jnp.nan), diverged, jnp.asarray(num_gradients))


class SamplerState(NamedTuple):
    """The state that a sampler carries from one target to the next.

    Attributes:
        position: The last draw.
        carry: Anything else: adaptation of a chain, particles of a population, parameters of a fit.
    """

    position: Float[Array, "*batch size"]
    carry: Any = ()


class SamplerInfo(NamedTuple):
    """Facts about a sampler, for tables.

    Attributes:
        family: For example `Metropolis-adjusted`.
        exactness: Exact, asymptotically exact, or biased (and how).
        gradients_per_draw: A formula in terms of the settings.
        needs: What the target must offer beyond a log-density with a gradient.
    """

    family: str
    exactness: str
    gradients_per_draw: str
    needs: str


class Sampler(ABC):
    """A way to draw from targets, as a settings object. A subclass has to define `sample` only."""

    # Whether chains are preconditioned by `Target.metric`, which costs something to keep.
    uses_metric: ClassVar[bool] = True
    # Loops of data-dependent length: several chains run faster one after the other than vectorised.
    sequential: ClassVar[bool] = False
    info: ClassVar[SamplerInfo] = SamplerInfo("own", "unknown", "unknown", "unknown")

    def init(self, key: Key[Array, ""], start: Start) -> SamplerState:
        """Returns the state before the first target.

        Args:
            key: A random key.
            start: Draws a starting position from a key.
        """
        return SamplerState(start(key))

    @abstractmethod
    def sample(self, key: Key[Array, ""], target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        """Draws once from a target.

        Args:
            key: A random key.
            target: The density of this call.
            state: The state after the last call, or from `init`.

        Returns:
            The state for the next call, and the draw.
        """

    def trace(self, key: Key[Array, ""], target: Target, state: SamplerState, num_draws: int) -> Draw:
        """Returns `num_draws` successive positions of one chain on one target, for diagnostics of mixing.

        Args:
            key: A random key.
            target: The density, the same for all draws.
            state: Where the chain starts.
            num_draws: Length of the leading axis of the result.
        """

        def step(state: SamplerState, key: Array) -> tuple[SamplerState, Draw]:
            return self.sample(key, target, state)

        return jax.lax.scan(step, state, jax.random.split(key, num_draws))[1]

    def restart(self, key: Key[Array, ""], state: SamplerState, start: Start) -> SamplerState:
        """Returns a state at new starting positions; a Markov chain keeps what it has learnt."""
        return self.init(key, start)

    @property
    def batch_size(self) -> int:
        """Number of data that a gradient is estimated from; 0 means all of them."""
        return 0

    @property
    def uses_moments(self) -> bool:
        """Whether `Target.moments` is used, so that it pays to keep them from target to target."""
        return False

    @property
    def stiffness_coordinates(self) -> Any:
        """The preconditioner in whose coordinates `Target.stiffness` is needed; None if it is not."""
        return None

    @property
    def adapts_between_rounds(self) -> bool:
        """Whether the sampler learns from target to target, so that restarting it loses something."""
        return False

    @property
    def num_transitions(self) -> int:
        """Number of transitions of a draw, of which a share may diverge."""
        return 1

    @property
    def expected_gradients(self) -> int:
        """Number of gradients per draw that the settings imply (values, if it uses no gradients), to estimate times."""
        return 0


class Step(NamedTuple):
    """What one transition reports."""

    acceptance_rate: Float[Array, ""] | float
    num_divergent: Bool[Array, ""] | Int[Array, ""] | bool
    num_gradients: Int[Array, ""] | int
    energy: Float[Array, ""] | float = math.nan


class Cost(NamedTuple):
    """Totals over several transitions."""

    acceptance_rate: Float[Array, ""]
    num_divergent: Int[Array, ""]
    num_gradients: Int[Array, ""]

    @classmethod
    def zero(cls) -> "Cost":
        """Returns the totals of no transition."""
        return cls(jnp.zeros(()), jnp.zeros((), int), jnp.zeros((), int))

    def add(self, step: Step) -> "Cost":
        """Returns the totals with one more transition."""
        gradients = jnp.asarray(step.num_gradients, int)
        return Cost(
            self.acceptance_rate + step.acceptance_rate,
            self.num_divergent + step.num_divergent,
            self.num_gradients + gradients,
        )


def fold_in_each(key: Key[Array, ""], indices: Int[Array, " steps"]) -> Key[Array, " steps"]:
    """Returns a key for each step: the randomness of most kernels."""
    return fold_in(key, indices)


class Kernel(NamedTuple):
    """A Markov kernel for one preconditioned target: a uniform interface over BlackJAX kernels.

    Window adaptation and SMC step by keys, so they need a kernel whose randomness is a key per step.

    Attributes:
        init: (key, position) -> the kernel's state.
        step: (a row of randomness, state) -> (state, Step).
        position: The position in a state.
        init_gradients: Number of gradients that `init` evaluates.
        randomness: (key, indices of steps) -> a row of randomness per step; by default a key per step.
    """

    init: Callable[[Array, Array], Any]
    step: Callable[[Any, Any], tuple[Any, Step]]
    position: Callable[[Any], Array]
    init_gradients: int = 1
    randomness: Callable[[Array, Array], Any] = fold_in_each
