"""Thompson sampling of Bernoulli arms with the conjugate beta posterior: exact draws."""

from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents.base import decide
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers.errors import InputError
from samplers.settings import settings, traced_float


class BetaState(NamedTuple):
    """The parameters of each arm's beta distribution."""

    successes: Float[Array, " arms"]
    failures: Float[Array, " arms"]


@settings
class BetaTS(Agent):
    """Thompson sampling with a beta posterior per arm, the conjugate one of Bernoulli rewards."""

    label: ClassVar[str] = "beta_ts"

    prior_successes: float = traced_float(
        default=1.0, gt=0, doc="first parameter of the beta prior; 1 and 1: uniform"
    )
    prior_failures: float = traced_float(default=1.0, gt=0, doc="second parameter of the beta prior")

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> BetaState:
        if not shape.fixed_actions:
            raise InputError("agent beta_ts has a posterior per arm: use environment=arms")
        ones = jnp.ones(shape.arms)
        return BetaState(self.prior_successes * ones, self.prior_failures * ones)

    @override
    def act(
        self, key: Key[Array, ""], state: BetaState, round: Round
    ) -> tuple[BetaState, Int[Array, ""], ActionInfo]:
        """Draws every arm's mean."""
        return state, *decide(jax.random.beta(key, state.successes, state.failures))

    @override
    def update(
        self, state: BetaState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> BetaState:
        """Counts the reward; one outside of [0, 1], which has no such likelihood, makes the arm's draws NaN."""
        reward = jnp.where((reward >= 0) & (reward <= 1), reward, jnp.nan)
        return BetaState(state.successes.at[action].add(reward), state.failures.at[action].add(1 - reward))
