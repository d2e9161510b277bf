"""Forced exploration: with probability e_t the loop plays an arm uniformly at random instead of the agent's."""

from abc import ABC, abstractmethod
from typing import override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from samplers.registry import Registry
from samplers.settings import settings, traced_float


class Exploration(ABC):
    """A schedule e_t. It goes with any agent, which observes the reward of the arm that was played."""

    @abstractmethod
    def probability(self, t: Int[Array, ""]) -> Float[Array, ""]:
        """e_t in [0, 1], for a round counted from 1."""

    def play(
        self, key: Key[Array, ""], t: Int[Array, ""], action: Int[Array, ""], arms: int
    ) -> Int[Array, ""]:
        """The arm that is played.

        Args:
            key: Of a stream of its own, so that the agent's draws are those of the same agent without exploration.
            t: Number of the round, counted from 0.
            action: The agent's arm.
            arms: Number of arms.
        """
        choice_key, arm_key = jax.random.split(key)
        explore = jax.random.uniform(choice_key) < self.probability(t + 1)
        return jnp.where(explore, jax.random.randint(arm_key, (), 0, arms, action.dtype), action)


@settings
class NoExploration(Exploration):
    """The agent's arm in every round."""

    @override
    def probability(self, t: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.zeros(())


@settings
class ConstantExploration(Exploration):
    """A uniform arm with the same probability in every round."""

    rate: float = traced_float(default=0.05, ge=0, le=1, doc="probability of a uniform arm")

    @override
    def probability(self, t: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.asarray(self.rate)


@settings
class DecayingExploration(Exploration):
    """A uniform arm with probability min(1, rate / t^power)."""

    rate: float = traced_float(default=1.0, ge=0, doc="numerator of the probability")
    power: float = traced_float(default=1.0, ge=0, doc="exponent of t")

    @override
    def probability(self, t: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.minimum(1.0, self.rate * jnp.asarray(t, float) ** -self.power)


EXPLORATIONS: Registry[Exploration] = Registry("exploration", "fgtsva.explorations")
EXPLORATIONS.register("none", NoExploration)
EXPLORATIONS.register("constant", ConstantExploration)
EXPLORATIONS.register("decaying", DecayingExploration)
