"""Window adaptation: a full warm-up of step size and metric on chosen targets."""

from typing import Any, override

import jax
import jax.numpy as jnp
from blackjax.adaptation.mass_matrix import welford_algorithm
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from samplers.adaptation.base import AdaptationState, MakeKernel, WarmUp
from samplers.adaptation.preconditioning import Preconditioned
from samplers.adaptation.step_size import StepSizeAdaptation, initial_averaging, update_averaging
from samplers.settings import flag, settings, static_int

SHRINKAGE = 5  # Stan's: a learnt covariance counts as that many draws less

_moments_init, _moments_update, _moments_final = welford_algorithm(is_diagonal_matrix=False)


def warm_up_due(num_targets: Int[Array, ""], every: int) -> Bool[Array, ""]:
    """Returns whether the next target gets a warm-up: every `every` targets, or the 1st, 2nd, 4th, 8th, ..."""
    return num_targets % every == 0 if every else (num_targets & (num_targets + 1)) == 0


@settings
class WindowAdaptation(StepSizeAdaptation):
    """A warm-up on chosen rounds: half of its transitions tune the step size and learn a metric, half the step size."""

    num_steps: int = static_int(default=100, ge=1, doc="transitions of a warm-up")
    every: int = static_int(default=0, doc="rounds from one warm-up to the next; 0: rounds 1, 2, 4, 8, ...")
    dual_averaging: bool = flag(
        default=False, doc="tune the step size between warm-ups too, from round to round"
    )

    @property
    @override
    def adapts_between_rounds(self) -> bool:
        return self.dual_averaging

    @override
    def warm_up(
        self,
        key: Key[Array, ""],
        make_kernel: MakeKernel,
        preconditioned: Preconditioned,
        position: Float[Array, " size"],
        state: AdaptationState,
    ) -> tuple[Key[Array, ""], WarmUp]:
        # The loops have a traced length rather than a `cond` around them: under vmap a `cond` runs both branches.
        num_steps = jnp.where(warm_up_due(state.num_targets, self.every), self.num_steps, 0)
        key, rest = jax.random.split(key)
        return rest, self._learn(key, make_kernel, preconditioned, position, state, num_steps)

    def _learn(
        self,
        key: Array,
        make_kernel: MakeKernel,
        preconditioned: Preconditioned,
        position: Array,
        state: AdaptationState,
        num_steps: Array,
    ) -> WarmUp:
        """A warm-up of `num_steps` transitions, possibly none."""
        half = (num_steps + 1) // 2
        active = half > 0
        metric_key, step_size_key = jax.random.split(key)
        before = state.apply(preconditioned)
        end, averaging, moments, num_gradients = self._run(
            metric_key, make_kernel, before, before.from_target(position), initial_averaging(0.0), half
        )
        covariance, count, _ = _moments_final(moments)
        weight = count / (count + SHRINKAGE)
        covariance = weight * jnp.where(count > 1, covariance, 0.0) + (1 - weight) * jnp.eye(before.dim)
        metric = jnp.where(active, jnp.linalg.cholesky(covariance), jnp.eye(before.dim))
        after = before.with_metric(metric)
        middle = before.to_target(end)
        # In coordinates of unit variance a step of about 1 is right for any previous curvature.
        unit = jnp.log(after.curvature) / 2
        end, averaging, _, more_gradients = self._run(
            step_size_key, make_kernel, after, after.from_target(middle), initial_averaging(unit), half
        )
        log_scale = state.dual_averaging.log_x + averaging.log_x_avg
        learnt = state._replace(
            dual_averaging=initial_averaging(log_scale), metric_factor=state.metric_factor @ metric
        )
        state = jax.tree.map(lambda new, old: jnp.where(active, new, old), learnt, state)
        # Without a warm-up the position must stay as it is, not go through two changes of coordinates.
        position = jnp.where(active, after.to_target(end), position)
        return WarmUp(position, state, num_gradients + more_gradients)

    def _run(
        self,
        key: Array,
        make_kernel: MakeKernel,
        preconditioned: Preconditioned,
        start: Array,
        averaging: Any,
        num_steps: Array,
    ) -> tuple[Array, Any, Any, Array]:
        """A chain with dual averaging: its end, the averaging, moments of its second half, number of gradients."""
        init_key, step_key = jax.random.split(key)

        def transition(index: Array, carry: Any) -> Any:
            state, averaging, moments, num_gradients = carry
            kernel = make_kernel(preconditioned.with_step_scale(jnp.exp(averaging.log_x)))
            state, info = kernel.step(jax.random.fold_in(step_key, index), state)
            averaging = update_averaging(averaging, jnp.asarray(info.acceptance_rate), self.aim)
            moments = jax.tree.map(
                lambda new, old: jnp.where(2 * index >= num_steps, new, old),  # the first half is burn-in
                _moments_update(moments, kernel.position(state)),
                moments,
            )
            return state, averaging, moments, num_gradients + jnp.asarray(info.num_gradients)

        kernel = make_kernel(preconditioned)
        moments = jax.tree.map(jnp.asarray, _moments_init(preconditioned.dim))
        first = kernel.init(init_key, start), averaging, moments, jnp.zeros((), int)
        state, averaging, moments, num_gradients = jax.lax.fori_loop(0, num_steps, transition, first)
        num_gradients = num_gradients + kernel.init_gradients * (num_steps > 0)
        return kernel.position(state), averaging, moments, num_gradients
