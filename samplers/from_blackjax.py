"""Kernels and samplers from BlackJAX algorithms, or from any other pair of `init` and `step`."""

import inspect
import math
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, override, runtime_checkable

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from samplers._threefry import unrolled
from samplers.adaptation.base import Adaptation, NoAdaptation
from samplers.adaptation.preconditioning import Preconditioned, Preconditioner
from samplers.adaptation.step_size import Automatic
from samplers.base import Kernel, SamplerInfo, Step
from samplers.markov import AdjustedSampler
from samplers.registry import PRECONDITIONERS
from samplers.settings import settings, traced_float


@runtime_checkable
class Algorithm(Protocol):
    """BlackJAX's protocol: `init(position)` or `init(position, key)`, `step(key, state) -> (state, info)`."""

    init: Callable[..., Any]
    step: Callable[..., Any]


def as_kernel(
    algorithm: Algorithm,
    num_gradients: int | None = None,
    init_gradients: int = 1,
    fresh_momentum: bool = False,
) -> Kernel:
    """Returns an algorithm as a kernel.

    Args:
        algorithm: A pair of `init` and `step`.
        num_gradients: Number of gradients of a transition; None where the algorithm counts its integration steps.
        init_gradients: Number of gradients of `init`.
        fresh_momentum: Whether each transition draws a Gaussian momentum, which gives energies a meaning.
    """
    needs_key = len(inspect.signature(algorithm.init).parameters) > 1

    def init(key: Array, position: Array) -> Any:
        return algorithm.init(position, key) if needs_key else algorithm.init(position)

    def step(key: Array, state: Any) -> tuple[Any, Step]:
        state, info = algorithm.step(unrolled(key), state)
        spent = info.num_integration_steps if num_gradients is None else num_gradients
        energy = info.energy if fresh_momentum else jnp.nan
        return state, Step(getattr(info, "acceptance_rate", jnp.nan), _diverged(state, info), spent, energy)

    return Kernel(init, step, _position, init_gradients)


def _position(state: Any) -> Float[Array, " size"]:
    position: Array = getattr(state, "position", state)
    return position


def _diverged(state: Any, info: Any) -> Bool[Array, ""]:
    """The algorithm's own report, or else whether the chain is no longer finite."""
    if hasattr(info, "is_divergent"):
        flag: Array = info.is_divergent
        return flag
    if hasattr(info, "nonans"):  # MCLMC goes back to where it was, so its state is finite
        return ~info.nonans
    return ~jnp.all(jnp.isfinite(getattr(state, "logdensity", _position(state))))


def from_blackjax(
    build: Callable[[Preconditioned, Array], Algorithm],
    *,
    num_steps: int = 20,
    step_size: float = 1.0,
    num_gradients: int = 1,
    optimal_acceptance_rate: float | None = 0.65,
    info: SamplerInfo | None = None,
    preconditioner: Preconditioner | str = "dense",
    sequential: bool = False,
) -> type[AdjustedSampler]:
    """Returns a sampler class, with preconditioner, step size rule and adaptation as settings.

    Args:
        build: (preconditioned target, step size) -> a BlackJAX-style pair of `init` and `step`. The step size is the
            setting times 1/sqrt(curvature), a standard deviation along the stiffest axis.
        num_steps: Default number of transitions per draw.
        step_size: Default step size.
        num_gradients: Number of gradients of a transition.
        optimal_acceptance_rate: What adaptations aim at; None for an algorithm without an accept step, whose step size
            is then not adapted.
        info: Facts for `fgtsva list samplers`.
        preconditioner: The default preconditioner, or its name.
        sequential: Whether loops have a data-dependent length, so that chains run faster one after the other.
    """
    if isinstance(preconditioner, str):
        preconditioner = PRECONDITIONERS.build(preconditioner)
    info = info or SamplerInfo("own", "unknown", f"{num_gradients} x num_steps", "")
    # In the class body its own names shadow these.
    own_sequential, own_info = sequential, info
    own_rate = math.nan if optimal_acceptance_rate is None else optimal_acceptance_rate
    own_adaptation: Adaptation = NoAdaptation() if optimal_acceptance_rate is None else Automatic()
    own_num_steps, own_step_size, own_preconditioner = num_steps, step_size, preconditioner

    @settings
    class FromBlackJAX(AdjustedSampler):
        """A kernel from outside this package."""

        sequential: ClassVar[bool] = own_sequential
        optimal_acceptance_rate: ClassVar[float] = own_rate
        info: ClassVar[SamplerInfo] = own_info

        num_steps: int = own_num_steps
        step_size: float = traced_float(
            default=own_step_size, gt=0, doc="step size in units of 1 / sqrt(largest curvature)"
        )
        preconditioner: Preconditioner = own_preconditioner
        adaptation: Adaptation = own_adaptation

        @override
        def kernel(self, preconditioned: Preconditioned) -> Kernel:
            size = self.step_size / preconditioned.root_curvature
            return as_kernel(build(preconditioned, size), num_gradients, min(num_gradients, 1))

        @property
        @override
        def expected_gradients(self) -> int:
            return self.num_steps * num_gradients

    FromBlackJAX.__module__ = build.__module__  # the file that provenance reads
    return FromBlackJAX
