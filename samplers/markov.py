"""Markov samplers: transitions of a kernel, starting at the last draw from the previous target.

Kernel x preconditioner x adaptation: a sampler's file has its kernel and its own settings, the rest is defined here.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from samplers._threefry import split
from samplers.adaptation.base import Adaptation, NoAdaptation
from samplers.adaptation.preconditioning import STEP_SIZE_RULES, Dense, Preconditioned, Preconditioner
from samplers.adaptation.step_size import Automatic
from samplers.base import Cost, Draw, Kernel, Sampler, SamplerState, Start, Step
from samplers.registry import ADAPTATIONS, PRECONDITIONERS
from samplers.settings import choice, component, settings, traced_int
from samplers.start import ascend_from_far, move_to_typical_set
from samplers.target import Target

# Steps whose randomness is drawn at once: the number of steps is traced, that of an array's rows is static.
STEPS_PER_BLOCK = 10


@settings
class MarkovSampler(Sampler):
    """Takes `num_steps` transitions of a kernel, starting at the last draw.

    Most samplers subclass PreconditionedSampler or AdjustedSampler, define `kernel` and add their settings.
    """

    # Whether a start far outside the typical set is moved there first, for kernels that are slow to reach it. On
    # targets with a metric every sampler does so.
    needs_typical_start: ClassVar[bool] = False

    num_steps: int = traced_int(default=20, ge=1, doc="transitions per draw")

    @abstractmethod
    def precondition(self, target: Target, position: Float[Array, " size"]) -> Preconditioned:
        """Returns the target in the coordinates in which it is sampled."""

    @abstractmethod
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        """Returns the transition kernel for one target in the given coordinates."""

    def kernel_at(self, preconditioned: Preconditioned, kernel: Kernel, index: Int[Array, ""]) -> Kernel:
        """Returns the kernel of the index-th transition of a draw, counted from 0."""
        return kernel

    @property
    def _adaptation(self) -> Adaptation:
        return NoAdaptation()

    @override
    def init(self, key: Key[Array, ""], start: Start) -> SamplerState:
        position = start(key)
        return SamplerState(position, self._adaptation.init(position.shape[-1]))

    @override
    def restart(self, key: Key[Array, ""], state: SamplerState, start: Start) -> SamplerState:
        return self.init(key, start)._replace(carry=state.carry)

    @property
    @override
    def num_transitions(self) -> int:
        return self.num_steps

    @property
    @override
    def expected_gradients(self) -> int:
        return self.num_steps

    @override
    def sample(self, key: Key[Array, ""], target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        adaptation = self._adaptation.for_target(target)
        init_key, step_key = split(key)
        preconditioned = self.precondition(target, state.position)
        num_gradients = jnp.asarray(preconditioned.num_gradients)
        init_key, warm_up = adaptation.warm_up(
            init_key, self.kernel, preconditioned, state.position, state.carry
        )
        preconditioned = adaptation.apply(preconditioned, warm_up.state)
        kernel = self.kernel(preconditioned)
        transition = self._transition(preconditioned, kernel)

        def block(number: Array, carry: tuple[Any, Cost]) -> tuple[Any, Cost]:
            indices = number * STEPS_PER_BLOCK + jnp.arange(STEPS_PER_BLOCK)
            rows = kernel.randomness(step_key, indices), indices

            def advance(index: Array, carry: tuple[Any, Cost]) -> tuple[Any, Cost]:
                state, info = transition(carry[0], jax.tree.map(lambda row: row[index], rows))
                return state, carry[1].add(info)

            return jax.lax.fori_loop(
                0, jnp.minimum(STEPS_PER_BLOCK, self.num_steps - indices[0]), advance, carry
            )

        start_position, start_gradients = self._start(preconditioned, warm_up.position)
        start = kernel.init(init_key, start_position)
        num_blocks = -(-self.num_steps // STEPS_PER_BLOCK)
        end, total = jax.lax.fori_loop(0, num_blocks, block, (start, Cost.zero()))
        position = preconditioned.to_target(kernel.position(end))
        acceptance_rate = total.acceptance_rate / self.num_steps
        carry = adaptation.update(warm_up.state, acceptance_rate)
        num_gradients = num_gradients + warm_up.num_gradients + total.num_gradients
        num_gradients = num_gradients + kernel.init_gradients + start_gradients
        draw = Draw(position, acceptance_rate, total.num_divergent, num_gradients)
        return SamplerState(position, carry), draw

    @override
    def trace(self, key: Key[Array, ""], target: Target, state: SamplerState, num_draws: int) -> Draw:
        """Returns every position of a chain of `num_draws` transitions, without further adaptation."""
        adaptation = self._adaptation.for_target(target)
        preconditioned = adaptation.apply(self.precondition(target, state.position), state.carry)
        kernel = self.kernel(preconditioned)
        init_key, step_key = split(key)
        transition = self._transition(preconditioned, kernel)

        def report(carry: Any, row: tuple[Any, Array]) -> tuple[Any, Draw]:
            carry, info = transition(carry, row)
            return carry, Draw(preconditioned.to_target(kernel.position(carry)), *map(jnp.asarray, info))

        start = kernel.init(init_key, self._start(preconditioned, state.position)[0])
        rows = kernel.randomness(step_key, jnp.arange(num_draws)), jnp.arange(num_draws) % self.num_steps
        return jax.lax.scan(report, start, rows)[1]

    def _start(self, preconditioned: Preconditioned, position: Array) -> tuple[Array, Array | int]:
        start = preconditioned.from_target(position)
        if preconditioned.target.metric is not None and not self.batch_size:
            return ascend_from_far(preconditioned, start)
        if self.needs_typical_start:
            return move_to_typical_set(preconditioned, start), 1
        return start, 0

    def _transition(
        self, preconditioned: Preconditioned, kernel: Kernel
    ) -> Callable[[Any, tuple[Any, Array]], tuple[Any, Step]]:
        def transition(carry: Any, row: tuple[Any, Array]) -> tuple[Any, Step]:
            randomness, index = row
            return self.kernel_at(preconditioned, kernel, index).step(randomness, carry)

        return transition


@settings
class PreconditionedSampler(MarkovSampler):
    """A Markov sampler whose coordinates and unit of the step size are settings."""

    _: KW_ONLY
    preconditioner: Preconditioner = component(
        PRECONDITIONERS, default=Dense(), doc="coordinates in which the target is sampled"
    )
    step_size_rule: str = choice(
        default="curvature",
        options=STEP_SIZE_RULES,
        doc="unit of the step size: the largest curvature, from the precision where it is known, else by power "
        "iterations (curvature); always by power iterations (power); none (constant)",
    )

    # Largest curvature, in units of the metric's largest, for which the default step size is short enough; None for
    # kernels that reject steps which are too long.
    stable_curvature: ClassVar[float | None] = None

    @property
    @override
    def stiffness_coordinates(self) -> Preconditioner | None:
        return None if self.stable_curvature is None else self.preconditioner

    @property
    @override
    def uses_moments(self) -> bool:
        return self.preconditioner.uses_moments

    @override
    def precondition(self, target: Target, position: Float[Array, " size"]) -> Preconditioned:
        preconditioned = self.preconditioner.apply(target, position, self.step_size_rule)
        if self.stable_curvature is None or target.metric is None or self.step_size_rule != "curvature":
            return preconditioned
        excess = jnp.maximum(target.stiffness / self.stable_curvature, 1.0)
        return preconditioned._replace(curvature=preconditioned.curvature * excess)


@settings
class AdjustedSampler(PreconditionedSampler):
    """A Markov sampler with an accept step, whose step size can be adapted to its acceptance rate."""

    optimal_acceptance_rate: ClassVar[float]

    _: KW_ONLY
    adaptation: Adaptation = component(
        ADAPTATIONS, default=Automatic(), doc="tuning of step size and metric from round to round"
    )

    @property
    @override
    def _adaptation(self) -> Adaptation:
        return self.adaptation.with_target(self.optimal_acceptance_rate)

    @property
    @override
    def adapts_between_rounds(self) -> bool:
        return self.adaptation.adapts_between_rounds
