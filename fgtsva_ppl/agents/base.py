"""What the baselines share: how scores become actions, and agents with a weighted ridge regression."""

from abc import abstractmethod
from typing import Any, NamedTuple, override

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from fgtsva_ppl.agents.ridge import Ridge, ridge
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers.errors import InputError
from samplers.settings import traced_float

TIE_TOLERANCE = 1e-9  # relative; genuine differences between scores are hardly ever that small


def decide(
    scores: Float[Array, " arms"], allowed: Bool[Array, " arms"] | None = None
) -> tuple[Int[Array, ""], ActionInfo]:
    """Chooses the allowed arm with the highest score; ties go to the lowest index.

    Arms of a hypercube mirror each other, so their scores are equal up to rounding, which depends on the machine:
    scores that differ by no more than that count as ties.

    Args:
        scores: One for each arm.
        allowed: Arms that may be chosen; None for all.

    Returns:
        The arm, and an ActionInfo that counts a score that is not finite as a reset.
    """
    if allowed is None:
        allowed = jnp.ones(scores.shape, bool)
    broken = jnp.any(allowed & ~jnp.isfinite(scores))
    zero = jnp.asarray(0)
    info = ActionInfo(jnp.asarray(jnp.nan), zero, zero, jnp.asarray(broken, int), zero)
    scores = jnp.where(allowed & ~jnp.isnan(scores), scores, -jnp.inf)
    size = jnp.max(jnp.where(jnp.isfinite(scores), jnp.abs(scores), 0.0))
    return jnp.argmax(scores >= jnp.max(scores) - TIE_TOLERANCE * size), info


def known_propensity(info: ActionInfo, probability: Float[Array, ""] | float) -> ActionInfo:
    """With the probability of the chosen arm, which the policy knows."""
    return info._replace(propensity=jnp.asarray(probability, float), propensity_error=jnp.zeros(()))


def require_linear(label: str, shape: Shape) -> None:
    """Raises InputError if mean rewards are not linear in the features."""
    if not shape.linear:
        raise InputError(
            f"agent {label} is defined for mean rewards that are linear in the features; this environment's are "
            "not (agents thompson, greedy, epsilon_greedy, uniform, clairvoyant and the neural ones run anywhere)"
        )


def lam_field() -> Any:
    """A setting for the ridge penalty lambda."""
    return traced_float(default=1.0, gt=0, doc="ridge lambda of the regression")


def radius_field() -> Any:
    """A setting for the multiplier of the confidence radius, which distinguishes textbook from tuned."""
    return traced_float(default=1.0, ge=0, doc="multiplier of the confidence radius; 1 is the textbook")


def delta_field() -> Any:
    """A setting for the failure probability delta."""
    return traced_float(
        default=None, gt=0, le=1, doc="failure probability; null: 1/T, so that a failure costs at most O(1)"
    )


def norm_field() -> Any:
    """A setting for the bound on ||theta*||."""
    return traced_float(default=1.0, gt=0, doc="bound on ||theta*||")


class RidgeState(NamedTuple):
    """What an agent with a ridge regression carries from round to round."""

    ridge: Ridge
    max_sigma: Float[Array, ""]  # the largest sigma_s so far
    rounds: Int[Array, ""]  # t - 1


class LinearAgent(Agent):
    """Plays the arm with the highest score, computed from a weighted ridge regression."""

    lam: float

    @abstractmethod
    def scores(self, key: Key[Array, ""], state: RidgeState, round: Round) -> Float[Array, " arms"]:
        """One number for each arm."""

    def weight(self, state: RidgeState, round: Round, action: Int[Array, ""]) -> Float[Array, ""]:
        """The weight of the round's datum."""
        return jnp.ones(())

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> RidgeState:
        require_linear(self.label, shape)
        return RidgeState(ridge(shape.dim, self.lam), jnp.zeros(()), jnp.zeros((), int))

    @override
    def act(
        self, key: Key[Array, ""], state: RidgeState, round: Round
    ) -> tuple[RidgeState, Int[Array, ""], ActionInfo]:
        return state, *decide(self.scores(key, state, round))

    @override
    def update(
        self, state: RidgeState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> RidgeState:
        weight = self.weight(state, round, action)
        regression = state.ridge.added(round.actions[action], reward, weight)
        return RidgeState(regression, jnp.maximum(state.max_sigma, round.sigma), state.rounds + 1)
