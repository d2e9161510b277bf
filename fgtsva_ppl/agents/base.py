"""What the baselines share: the frame of an agent without a posterior, and of one with a weighted ridge regression."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.agents.ridge import Ridge, ridge
from fgtsva_ppl.types import ActionInfo, Round, Shape
from samplers.errors import InputError
from samplers.settings import traced_float

ROUNDING = 1e-9  # relative; differences that are not rounding are nearly never that small


def decide(scores: Array, allowed: Array | None = None) -> tuple[Array, ActionInfo]:
    """The allowed arm with the highest score, ties to the lowest index. A score that is not finite gets counted.

    Arms of a hypercube mirror each other, and their scores are equal up to rounding, which differs between machines:
    what differs by no more than that is a tie.
    """
    if allowed is None:
        allowed = jnp.ones(scores.shape, bool)
    broken = jnp.any(allowed & ~jnp.isfinite(scores))
    effort = ActionInfo(jnp.asarray(jnp.nan), jnp.asarray(0), jnp.asarray(0), broken)
    scores = jnp.where(allowed & ~jnp.isnan(scores), scores, -jnp.inf)
    size = jnp.max(jnp.where(jnp.isfinite(scores), jnp.abs(scores), 0.0))
    return jnp.argmax(scores >= jnp.max(scores) - ROUNDING * size), effort


def need_linear(label: str, shape: Shape) -> None:
    """Refuses an environment for which the algorithm is not defined."""
    if not shape.linear:
        raise InputError(
            f"agent {label} is defined for mean rewards that are linear in the features; this environment's are "
            "not (agents thompson, greedy, epsilon_greedy, uniform and clairvoyant run anywhere)"
        )


def lam_field() -> float:
    """The ridge."""
    made: float = traced_float(default=1.0, gt=0, doc="ridge lambda of the regression")
    return made


def radius_field() -> float:
    """The multiplier that tells textbook from tuned."""
    made: float = traced_float(
        default=1.0, ge=0, doc="multiplier of the confidence radius; 1 is the textbook"
    )
    return made


def delta_field() -> float | None:
    """Failure probability."""
    made: float | None = traced_float(
        default=None,
        gt=0,
        le=1,
        doc="failure probability; null: 1/T, so that a failure costs at most O(1)",
    )
    return made


def norm_field() -> float:
    """S or B."""
    made: float = traced_float(default=1.0, gt=0, doc="bound on ||theta*||")
    return made


class Learned(NamedTuple):
    """What a linear baseline takes from round to round."""

    ridge: Ridge
    largest: Array  # the largest sigma_s so far
    rounds: Array  # t - 1


class LinearAgent(ABC):
    """Plays the arm with the highest score, where the score comes from a weighted ridge regression."""

    label: ClassVar[str]
    sequential: ClassVar[bool] = False
    lam: float

    @abstractmethod
    def scores(self, key: Array, state: Learned, seen: Round) -> Array:
        """One number per arm."""

    def weight(self, state: Learned, seen: Round, action: Array) -> Array:
        """What the datum of this round weighs."""
        return jnp.ones(())

    def features(self, seen: Round) -> Array:
        """What the regression is on, a row for every arm."""
        return seen.actions

    def start(self, key: Array, shape: Shape) -> Learned:
        """Nothing seen yet."""
        need_linear(self.label, shape)
        return Learned(ridge(shape.dim, self.lam), jnp.zeros(()), jnp.zeros((), int))

    def grow(self, state: Any, capacity: int) -> Any:
        """Keeps no rounds."""
        return state

    def act(self, key: Array, state: Learned, seen: Round) -> tuple[Learned, Array, ActionInfo]:
        """The best score."""
        return state, *decide(self.scores(key, state, seen))

    def update(self, state: Learned, seen: Round, action: Array, reward: Array) -> Learned:
        """Adds the datum with its weight."""
        learned = state.ridge.added(self.features(seen)[action], reward, self.weight(state, seen, action))
        return Learned(learned, jnp.maximum(state.largest, seen.sigma), state.rounds + 1)
