"""Tuning that is carried from target to target: dual averaging of the step, and a full warm-up on chosen targets.

What is tuned is a length, in units of the frame: a kernel's default step times `length`. Within a target the length
is fixed, so the kernel leaves that target invariant; between targets it follows the acceptance.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from blackjax.adaptation.mass_matrix import welford_algorithm
from blackjax.optimizers.dual_averaging import dual_averaging
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned
from samplers.settings import flag, static_int, traced_float

MEMORY = 100  # targets after which the averaging forgets, so that a target that keeps changing is followed
SHRINKAGE = 5  # Stan's: a learnt covariance counts as that many draws less

_start, _update, _final = dual_averaging(t0=10, gamma=0.1, kappa=0.75)
_moments, _moments_add, _moments_end = welford_algorithm(is_diagonal_matrix=False)


def adapting() -> bool:
    """The settings field of every Metropolis-adjusted sampler that can follow its acceptance."""
    made: bool = flag(default=False, doc="tune the step to target_acceptance, from round to round")
    return made


def acceptance(default: float) -> float:
    """The settings field that says which acceptance is aimed at."""
    made: float = traced_float(
        default=default, gt=0, le=0.999, doc="acceptance that adapt and warmup tune the step to"
    )
    return made


def warming() -> int:
    """The settings field for the length of a full warm-up."""
    made: int = static_int(
        default=0,
        doc="transitions of a full warm-up on chosen rounds, half of them for the step, half for the metric; 0: never",
    )
    return made


def warming_every() -> int:
    """The settings field for the rounds that get a full warm-up."""
    made: int = static_int(default=0, doc="rounds from one warm-up to the next; 0: rounds 1, 2, 4, 8, ...")
    return made


class Tuning(NamedTuple):
    """What a tuned sampler has learnt."""

    targets: Array  # so many were seen
    averaging: Any  # BlackJAX's DualAveragingState of the log-length
    factor: Array  # lower triangular: the coordinates that the last warm-up chose within its frame

    def applied(self, where: Preconditioned) -> Preconditioned:
        """The frame as tuned."""
        return where.through(self.factor).stretched(jnp.exp(self.averaging.log_x))


def untuned(dim: int) -> Tuning:
    """Nothing learnt yet: the default step, the frame's own coordinates."""
    return Tuning(jnp.zeros((), int), _averaging(0.0), jnp.eye(dim))


def _averaging(log_length: Array | float) -> Any:
    fresh = jax.tree.map(lambda x: jnp.asarray(x, float), _start(1.0))
    at = jnp.asarray(log_length, float)
    # BlackJAX pulls towards ten times the first value; the default step is good already, so we pull towards it.
    return fresh._replace(log_x=at, log_x_avg=at, mu=at)


def _followed(averaging: Any, accepted: Array, aim: Array | float) -> Any:
    error = aim - jnp.nan_to_num(accepted, nan=0.0)
    moved = _update(averaging, error)
    return moved._replace(step=jnp.minimum(moved.step, MEMORY))


def followed(tuning: Tuning, accepted: Array, aim: Array | float) -> Tuning:
    """After a target on which the mean acceptance was `accepted`."""
    return tuning._replace(averaging=_followed(tuning.averaging, accepted, aim))


def due(targets: Array, every: int) -> Array:
    """Whether the next target gets a warm-up: each `every` targets, or the first, second, fourth, eighth, ..."""
    return targets % every == 0 if every else (targets & (targets + 1)) == 0


def warmed(
    key: Array,
    kernel: Callable[[Preconditioned], Any],
    where: Preconditioned,
    position: Array,
    tuning: Tuning,
    length: Array,
    aim: Array | float,
) -> tuple[Array, Tuning, Array]:
    """Learns step and metric by `length` transitions (none if zero): where it ended, what it learnt, gradients.

    The loops have a traced length rather than a `cond` around them: under vmap a `cond` runs both branches.
    """
    half = (length + 1) // 2

    def learn(
        key: Array, frame: Preconditioned, start: Array, averaging: Any
    ) -> tuple[Array, Any, Any, Array]:
        initial, further = jax.random.split(key)

        def transition(index: Array, carry: Any) -> Any:
            state, averaging, moments, spent = carry
            bound = kernel(frame.stretched(jnp.exp(averaging.log_x)))
            state, info = bound.step(jax.random.fold_in(further, index), state)
            averaging = _followed(averaging, jnp.asarray(info.acceptance_rate), aim)
            moments = jax.tree.map(
                lambda new, old: jnp.where(2 * index >= half, new, old),  # the first half is on its way
                _moments_add(moments, bound.position(state)),
                moments,
            )
            return state, averaging, moments, spent + jnp.asarray(info.num_gradients)

        bound = kernel(frame)
        moments = jax.tree.map(jnp.asarray, _moments(frame.dim))
        begin = bound.init(initial, start), averaging, moments, jnp.zeros((), int)
        state, averaging, moments, spent = jax.lax.fori_loop(0, half, transition, begin)
        return bound.position(state), averaging, moments, spent + bound.init_gradients * (half > 0)

    active = half > 0
    first, second = jax.random.split(key)
    plain = tuning.applied(where)
    end, averaging, moments, spent = learn(first, plain, plain.from_target(position), _averaging(0.0))
    covariance, count, _ = _moments_end(moments)
    share = count / (count + SHRINKAGE)
    covariance = share * jnp.where(count > 1, covariance, 0.0) + (1 - share) * jnp.eye(where.dim)
    metric = jnp.where(active, jnp.linalg.cholesky(covariance), jnp.eye(where.dim))
    learnt = plain.through(metric)
    middle = plain.to_target(end)
    # In coordinates of unit variance a step of about 1 is right, whatever the curvature was before.
    unit = jnp.log(learnt.curvature) / 2
    end, averaging, _, more = learn(second, learnt, learnt.from_target(middle), _averaging(unit))
    total = tuning.averaging.log_x + averaging.log_x_avg
    fresh = tuning._replace(averaging=_averaging(total), factor=tuning.factor @ metric)
    kept = jax.tree.map(lambda new, old: jnp.where(active, new, old), fresh, tuning)
    # Without a warm-up the position must come back as it went in, not through two changes of coordinates.
    return jnp.where(active, learnt.to_target(end), position), kept, spent + more
