"""BlackJAX's kernels, and any other init/step pair, as ours: what they differ in ends here."""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting
from samplers.base import Kernel, SamplerInfo, Step
from samplers.markov import MarkovSampler
from samplers.settings import settings, traced_float, traced_int


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
    """An algorithm as a kernel. `num_gradients` of a transition; None where the algorithm counts its leapfrog steps.

    `fresh_momentum` says that a Gaussian momentum is drawn for every transition, which gives energies a meaning.
    """
    wants_key = len(inspect.signature(algorithm.init).parameters) > 1

    def init(key: Array, position: Array) -> Any:
        return algorithm.init(position, key) if wants_key else algorithm.init(position)

    def step(key: Array, state: Any) -> tuple[Any, Step]:
        state, info = algorithm.step(key, state)
        spent = info.num_integration_steps if num_gradients is None else num_gradients
        energy = info.energy if fresh_momentum else jnp.nan
        return state, Step(getattr(info, "acceptance_rate", jnp.nan), _diverged(state, info), spent, energy)

    return Kernel(init, step, _position, init_gradients)


def _position(state: Any) -> Array:
    position: Array = getattr(state, "position", state)
    return position


def _diverged(state: Any, info: Any) -> Array:
    """The algorithm's own word, or else whether the chain has left the finite numbers."""
    if hasattr(info, "is_divergent"):
        flag: Array = info.is_divergent
        return flag
    if hasattr(info, "nonans"):  # MCLMC goes back to where it was, and the state looks well
        return ~info.nonans
    return ~jnp.all(jnp.isfinite(getattr(state, "logdensity", _position(state))))


def from_blackjax(
    build: Callable[[Preconditioned, Array], Algorithm],
    *,
    steps: int = 20,
    step: float = 1.0,
    num_gradients: int = 1,
    info: SamplerInfo | None = None,
    whiten: str = "dense",
    one_at_a_time: bool = False,
) -> type[MarkovSampler]:
    """A sampler class from `build(frame, length)`, which returns a BlackJAX-style init/step pair.

    `length` is the setting `step` in units of the frame (1 is a standard deviation along its stiffest axis).
    `one_at_a_time` is for loops of data-dependent length, which are slow side by side.
    """
    default_steps, default_step, default_info, default_whiten = steps, step, info, whiten

    @settings
    class FromBlackJAX(MarkovSampler):
        """A kernel from outside this package."""

        sequential: ClassVar[bool] = one_at_a_time
        info: ClassVar[SamplerInfo] = default_info or SamplerInfo(
            "own", "as its author says", f"{num_gradients} x steps", ""
        )

        steps: int = traced_int(default=default_steps, ge=1, doc="transitions a round")
        step: float = traced_float(default=default_step, gt=0, doc="step length, in units of the frame")
        whiten: str = whitening(default_whiten)
        rule: str = step_rule()
        adapt: bool = adapting()
        target_acceptance: float = acceptance(0.65)

        def kernel(self, frame: Preconditioned) -> Kernel:
            """The pair, as_kernel."""
            return as_kernel(build(frame, self.step / jnp.sqrt(frame.curvature)), num_gradients)

    FromBlackJAX.__module__ = build.__module__  # where a reader, or a digest, finds what is its own
    return FromBlackJAX
