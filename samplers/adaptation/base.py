"""The interface of adaptations, which tune a kernel from target to target."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import Kernel
from samplers.settings import settings
from samplers.target import Target

type MakeKernel = Callable[[Preconditioned], Kernel]


class WarmUp(NamedTuple):
    """The end of a warm-up: position, adaptation state and number of gradients."""

    position: Float[Array, " size"]
    state: Any
    num_gradients: Int[Array, ""] | int


@settings
class Adaptation:
    """Tunes step size and metric. Within a target both are fixed, so the kernel leaves that target invariant.

    The defaults are those of an adaptation that does nothing.
    """

    @property
    def adapts_between_rounds(self) -> bool:
        """Whether every target changes the step size for the next one."""
        return False

    def with_target(self, acceptance_rate: float) -> "Adaptation":
        """Returns the adaptation aiming at a kernel's optimal acceptance rate, unless it has its own target rate."""
        return self

    def for_target(self, target: Target) -> "Adaptation":
        """Returns the adaptation to use on a target, with the same state."""
        return self

    def init(self, dim: int) -> Any:
        """Returns the state before the first target."""
        return ()

    def warm_up(
        self,
        key: Key[Array, ""],
        make_kernel: MakeKernel,
        preconditioned: Preconditioned,
        position: Float[Array, " size"],
        state: Any,
    ) -> tuple[Key[Array, ""], WarmUp]:
        """Learns from transitions on a target before it is sampled.

        Args:
            key: A random key.
            make_kernel: The kernel for given coordinates.
            preconditioned: The target, before `apply`.
            position: Where the chain is, in the target's coordinates.
            state: The adaptation's state.

        Returns:
            A key for what follows, and the end of the warm-up.
        """
        return key, WarmUp(position, state, 0)

    def apply(self, preconditioned: Preconditioned, state: Any) -> Preconditioned:
        """Returns the target with the learnt step size and metric."""
        return preconditioned

    def update(self, state: Any, acceptance_rate: Float[Array, ""]) -> Any:
        """Returns the state after a target on which this was the mean acceptance rate."""
        return state


@settings
class NoAdaptation(Adaptation):
    """The step size and the metric stay as they are."""


class AdaptationState(NamedTuple):
    """What dual averaging and window adaptation carry.

    Attributes:
        num_targets: Number of targets so far.
        dual_averaging: BlackJAX's DualAveragingState of the log of the step's scale.
        metric_factor: Lower triangular; the coordinates that the last warm-up chose within the preconditioned ones.
    """

    num_targets: Int[Array, ""]
    dual_averaging: Any
    metric_factor: Float[Array, "size size"]

    def apply(self, preconditioned: Preconditioned) -> Preconditioned:
        """Returns the target with this step size and metric."""
        return preconditioned.with_metric(self.metric_factor).with_step_scale(
            jnp.exp(self.dual_averaging.log_x)
        )
