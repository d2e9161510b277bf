"""Reference points: greedy, epsilon-greedy, uniform, and the clairvoyant. They run in any environment."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.agents.base import Learned, LinearAgent, decide, lam_field
from fgtsva_ppl.agents.ridge import ridge
from fgtsva_ppl.rewards import AnyReward, Linear, flat_model
from fgtsva_ppl.types import ActionInfo, Round, Shape
from samplers.errors import InputError
from samplers.settings import settings, static, traced_float


@settings
class Greedy(LinearAgent):
    """Plays the best arm under an unweighted ridge regression on the reward's features, whatever the truth may be."""

    reward: AnyReward = static(default=Linear(), doc="whose features the regression is on")
    lam: float = lam_field()

    label: ClassVar[str] = "greedy"

    def for_horizon(self, rounds: int) -> "Greedy":
        """The same: it does not explore."""
        return self

    def start(self, key: Array, shape: Shape) -> Learned:
        """Nothing seen yet."""
        model = flat_model(self.reward, shape.dim, shape.arms)
        if not model.linear:
            raise InputError(
                f"agent {self.label} fits by ridge regression and needs a reward that is linear in its features, as "
                f"linear and gp are; reward {type(self.reward).__name__.lower()} is not: run it apart with one of those"
            )
        return Learned(ridge(model.features, self.lam), jnp.zeros(()), jnp.zeros((), int))

    def features(self, seen: Round) -> Array:
        """As the reward's program wants them."""
        arms, dim = seen.actions.shape
        return flat_model(self.reward, dim, arms).embed(seen.actions)

    def scores(self, key: Array, state: Learned, seen: Round) -> Array:
        """<a, th>."""
        return self.features(seen) @ state.ridge.estimate


@settings
class EpsilonGreedy(Greedy):
    """Greedy, but in round t with probability epsilon t^-decay uniform; decay 1/3 gives regret of order T^(2/3)."""

    epsilon: float = traced_float(default=1.0, ge=0, le=1, doc="probability to explore in the first round")
    decay: float = traced_float(default=1 / 3, ge=0, doc="power of t by which it falls; 0: constant")

    label: ClassVar[str] = "epsilon_greedy"

    def scores(self, key: Array, state: Learned, seen: Round) -> Array:
        """<a, th>, or noise."""
        coin, arm = jax.random.split(key)
        chance = self.epsilon * (state.rounds + 1.0) ** -self.decay
        greedy = super().scores(key, state, seen)
        return jnp.where(jax.random.uniform(coin) < chance, jax.random.uniform(arm, greedy.shape), greedy)


class Memoryless:
    """An agent that learns nothing."""

    label: ClassVar[str]
    sequential: ClassVar[bool] = False

    def for_horizon(self, rounds: int) -> Any:
        """The same."""
        return self

    def start(self, key: Array, shape: Shape) -> tuple[()]:
        """Nothing."""
        return ()

    def grow(self, state: Any, capacity: int) -> Any:
        """Nothing."""
        return state

    def update(self, state: Any, seen: Round, action: Array, reward: Array) -> Any:
        """Nothing."""
        return state


@settings
class Uniform(Memoryless):
    """Every arm with the same probability."""

    label: ClassVar[str] = "uniform"

    def act(self, key: Array, state: Any, seen: Round) -> tuple[Any, Array, ActionInfo]:
        """The highest of as many uniform numbers as there are arms."""
        return state, *decide(jax.random.uniform(key, seen.actions.shape[:1]))


@settings
class Clairvoyant(Memoryless):
    """Plays the best arm because it is shown the truth: the zero of every regret, and a test of the loop."""

    label: ClassVar[str] = "clairvoyant"

    def act(self, key: Array, state: Any, seen: Round) -> tuple[Any, Array, ActionInfo]:
        """What it would do unseeing: the first arm."""
        return state, *decide(jnp.zeros(seen.actions.shape[0]))

    def act_knowing(self, state: Any, means: Array) -> tuple[Any, Array, ActionInfo]:
        """The best arm."""
        return state, *decide(means)
