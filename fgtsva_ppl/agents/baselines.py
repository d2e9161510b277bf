"""Reference points that run in any environment: greedy, epsilon-greedy, uniform, and the clairvoyant."""

from typing import Any, ClassVar, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents.base import LinearAgent, RidgeState, decide, known_propensity, lam_field
from fgtsva_ppl.agents.ridge import ridge
from fgtsva_ppl.rewards import AnyReward, Linear, as_reward, flat_model
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers.errors import InputError
from samplers.settings import settings, static, traced_float


@settings
class Greedy(LinearAgent):
    """Plays argmax_a <phi(x_t, a), theta_t>, theta_t from an unweighted ridge regression on the reward's features."""

    reward: AnyReward = static(default=Linear(), doc="whose features the regression uses")
    lam: float = lam_field()

    label: ClassVar[str] = "greedy"

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> RidgeState:
        model = flat_model(self.reward, shape.dim, shape.arms)
        if not model.linear or model.learner is not None:
            raise InputError(
                f"agent {self.label} fits by ridge regression and needs a reward that is linear in its features, such "
                f"as linear or gp; reward {as_reward(self.reward).name.lower()} is not: run it separately with one of "
                "those"
            )
        return RidgeState(ridge(model.features, self.lam), jnp.zeros(()), jnp.zeros((), int))

    @override
    def embed(self, round: Round) -> Round:
        """Computes the reward's features."""
        arms, dim = round.actions.shape
        return round._replace(actions=flat_model(self.reward, dim, arms).embed(round.actions))

    @override
    def act(
        self, key: Key[Array, ""], state: RidgeState, round: Round
    ) -> tuple[RidgeState, Int[Array, ""], ActionInfo]:
        """Plays, and records the probability of the arm, which is known."""
        state, arm, info = super().act(key, state, round)
        return state, arm, known_propensity(info, self.propensity(state, round, arm))

    def propensity(self, state: RidgeState, round: Round, arm: Int[Array, ""]) -> Float[Array, ""] | float:
        """Probability with which the arm is played."""
        return 1.0

    @override
    def scores(self, key: Key[Array, ""], state: RidgeState, round: Round) -> Float[Array, " arms"]:
        """<a, theta_t>."""
        return round.actions @ state.ridge.estimate


@settings
class EpsilonGreedy(Greedy):
    """Greedy, but uniform with probability epsilon t^-decay in round t; decay 1/3 gives regret of order T^(2/3)."""

    epsilon: float = traced_float(
        default=1.0, ge=0, le=1, doc="probability of exploration in the first round"
    )
    decay: float = traced_float(default=1 / 3, ge=0, doc="power of t with which it decreases; 0: constant")

    label: ClassVar[str] = "epsilon_greedy"

    @override
    def scores(self, key: Key[Array, ""], state: RidgeState, round: Round) -> Float[Array, " arms"]:
        """<a, theta_t>, or uniform numbers if the round explores."""
        explore_key, arm_key = jax.random.split(key)
        probability = self.exploration(state)
        greedy = super().scores(key, state, round)
        explores = jax.random.uniform(explore_key) < probability
        return jnp.where(explores, jax.random.uniform(arm_key, greedy.shape), greedy)

    def exploration(self, state: RidgeState) -> Float[Array, ""]:
        """Probability with which the round explores."""
        return self.epsilon * (state.rounds + 1.0) ** -self.decay

    @override
    def propensity(self, state: RidgeState, round: Round, arm: Int[Array, ""]) -> Float[Array, ""] | float:
        greedy, _ = decide(round.actions @ state.ridge.estimate)
        explores = self.exploration(state)
        return explores / round.actions.shape[0] + (1 - explores) * (arm == greedy)


class Memoryless(Agent):
    """An agent that learns nothing."""

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> tuple[()]:
        return ()

    @override
    def update(self, state: Any, round: Round, action: Int[Array, ""], reward: Float[Array, ""]) -> Any:
        return state


@settings
class Uniform(Memoryless):
    """Plays every arm with the same probability."""

    label: ClassVar[str] = "uniform"

    @override
    def act(self, key: Key[Array, ""], state: Any, round: Round) -> tuple[Any, Int[Array, ""], ActionInfo]:
        arms = round.actions.shape[0]
        arm, info = decide(jax.random.uniform(key, (arms,)))
        return state, arm, known_propensity(info, 1 / arms)


@settings
class Clairvoyant(Memoryless):
    """Plays the arm with the highest mean reward, which it can see: its regret is zero."""

    label: ClassVar[str] = "clairvoyant"

    @override
    def act(self, key: Key[Array, ""], state: Any, round: Round) -> tuple[Any, Int[Array, ""], ActionInfo]:
        """Plays the first arm, since nothing is known without the means."""
        return state, *decide(jnp.zeros(round.actions.shape[0]))

    @override
    def act_with_means(
        self, key: Key[Array, ""], state: Any, round: Round, means: Float[Array, " arms"]
    ) -> tuple[Any, Int[Array, ""], ActionInfo]:
        arm, info = decide(means)
        return state, arm, known_propensity(info, 1.0)
