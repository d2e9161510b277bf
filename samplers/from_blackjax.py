"""BlackJAX's kernels, and any other init/step pair, as ours: what they differ in ends here."""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Frame, step_rule, whitening
from samplers.adaptation.step_size import acceptance, adapting
from samplers.base import Card, Kernel, Step
from samplers.markov import MarkovSampler
from samplers.settings import count, number, settings


class Algorithm(Protocol):
    """BlackJAX's protocol: `init(position)` or `init(position, key)`, `step(key, state) -> (state, info)`."""

    init: Callable[..., Any]
    step: Callable[..., Any]


def adapted(
    algorithm: Algorithm, gradients: int | None = None, init_gradients: int = 1, fresh_momentum: bool = False
) -> Kernel:
    """An algorithm as a kernel. `gradients` of a transition; None where the algorithm counts its leapfrog steps.

    `fresh_momentum` says that a Gaussian momentum is drawn for every transition, which gives energies a meaning.
    """
    wants_key = len(inspect.signature(algorithm.init).parameters) > 1

    def init(key: Array, position: Array) -> Any:
        return algorithm.init(position, key) if wants_key else algorithm.init(position)

    def step(key: Array, state: Any) -> tuple[Any, Step]:
        state, info = algorithm.step(key, state)
        spent = info.num_integration_steps if gradients is None else gradients
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
    build: Callable[[Frame, Array], Algorithm],
    *,
    steps: int = 20,
    step: float = 1.0,
    gradients: int = 1,
    card: Card | None = None,
    whiten: str = "dense",
    one_at_a_time: bool = False,
) -> type[MarkovSampler]:
    """A sampler class from `build(frame, length)`, which returns a BlackJAX-style init/step pair.

    `length` is the setting `step` in units of the frame (1 is a standard deviation along its stiffest axis).
    `one_at_a_time` is for loops of data-dependent length, which are slow side by side.
    """
    default_steps, default_step, default_card, default_whiten = steps, step, card, whiten

    @settings
    class FromBlackJAX(MarkovSampler):
        """A kernel from outside this package."""

        scalar: ClassVar[bool] = one_at_a_time
        card: ClassVar[Card] = default_card or Card("own", "as its author says", f"{gradients} x steps", "")

        steps: int = count(default=default_steps, least=1, doc="transitions a round")
        step: float = number(default=default_step, above=0, doc="step length, in units of the frame")
        whiten: str = whitening(default_whiten)
        rule: str = step_rule()
        adapt: bool = adapting()
        target_acceptance: float = acceptance(0.65)

        def kernel(self, frame: Frame) -> Kernel:
            """The pair, adapted."""
            return adapted(build(frame, self.step / jnp.sqrt(frame.curvature)), gradients)

    FromBlackJAX.__module__ = build.__module__  # where a reader, or a digest, finds what is its own
    return FromBlackJAX
