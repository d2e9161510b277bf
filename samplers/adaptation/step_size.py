"""Dual averaging of the step size, carried from target to target.

What is tuned is the log of a scale: the kernel's own step size times that scale is used.
"""

import dataclasses
from typing import Any, override

import jax
import jax.numpy as jnp
from blackjax.optimizers.dual_averaging import dual_averaging
from jax import Array
from jaxtyping import Float

from samplers.adaptation.base import Adaptation, AdaptationState, NoAdaptation
from samplers.adaptation.preconditioning import Preconditioned
from samplers.settings import settings, traced_float
from samplers.target import Target

MAX_AVERAGED = 100  # targets; a bounded memory follows a target that keeps changing

_init, _update, _ = dual_averaging(t0=10, gamma=0.1, kappa=0.75)


def initial_averaging(log_scale: Float[Array, ""] | float) -> Any:
    """Returns BlackJAX's state of dual averaging, starting at a log-scale."""
    fresh = jax.tree.map(lambda x: jnp.asarray(x, float), _init(1.0))
    start = jnp.asarray(log_scale, float)
    # BlackJAX shrinks towards ten times the first value; the default step size is good already, so we shrink to it.
    return fresh._replace(log_x=start, log_x_avg=start, mu=start)


def update_averaging(
    averaging: Any, acceptance_rate: Float[Array, ""], target: Float[Array, ""] | float
) -> Any:
    """Returns the state after one more acceptance rate; NaN counts as a rate of 0."""
    error = target - jnp.nan_to_num(acceptance_rate, nan=0.0)
    updated = _update(averaging, error)
    return updated._replace(step=jnp.minimum(updated.step, MAX_AVERAGED))


def initial_state(dim: int) -> AdaptationState:
    """Returns the state of an adaptation that has learnt nothing: the kernel's step size, the plain metric."""
    return AdaptationState(jnp.zeros((), int), initial_averaging(0.0), jnp.eye(dim))


@settings
class StepSizeAdaptation(Adaptation):
    """What dual averaging and window adaptation share: an acceptance rate that they aim at."""

    target_acceptance_rate: float | None = traced_float(
        default=None,
        gt=0,
        le=0.999,
        doc="acceptance rate that the step size is tuned to; null: the kernel's optimum",
    )

    @override
    def with_target(self, acceptance_rate: float) -> "StepSizeAdaptation":
        if self.target_acceptance_rate is not None:
            return self
        return dataclasses.replace(self, target_acceptance_rate=acceptance_rate)

    @property
    def aim(self) -> Float[Array, ""] | float:
        """The acceptance rate, once `with_target` has filled it in."""
        assert self.target_acceptance_rate is not None
        return self.target_acceptance_rate

    @override
    def init(self, dim: int) -> AdaptationState:
        return initial_state(dim)

    @override
    def apply(self, preconditioned: Preconditioned, state: AdaptationState) -> Preconditioned:
        return state.apply(preconditioned)

    @override
    def update(self, state: AdaptationState, acceptance_rate: Float[Array, ""]) -> AdaptationState:
        state = state._replace(num_targets=state.num_targets + 1)
        if not self.adapts_between_rounds:
            return state
        averaging = update_averaging(state.dual_averaging, acceptance_rate, self.aim)
        return state._replace(dual_averaging=averaging)


@settings
class Automatic(StepSizeAdaptation):
    """Dual averaging on targets that are preconditioned by a metric, nothing on targets whose precision is exact.

    With an exact precision the default step sizes are right. A metric is an average over the target, which says less
    of the largest curvature. Steps are never longer than the default, so that trajectories of fixed length do not
    return to where they began. Only the step size is carried, not a learnt metric.
    """

    @override
    def for_target(self, target: Target) -> Adaptation:
        return NoAdaptation() if target.metric is None else self

    @override
    def init(self, dim: int) -> Any:
        return initial_averaging(0.0)

    @override
    def apply(self, preconditioned: Preconditioned, state: Any) -> Preconditioned:
        return preconditioned.with_step_scale(jnp.exp(state.log_x))

    @override
    def update(self, state: Any, acceptance_rate: Float[Array, ""]) -> Any:
        updated = update_averaging(state, acceptance_rate, self.aim)
        return updated._replace(
            log_x=jnp.minimum(updated.log_x, 0.0), avg_error=jnp.maximum(updated.avg_error, 0.0)
        )


@settings
class DualAveraging(StepSizeAdaptation):
    """Follows the acceptance rate from round to round (Nesterov's dual averaging, Hoffman & Gelman 2014)."""

    @property
    @override
    def adapts_between_rounds(self) -> bool:
        return True
