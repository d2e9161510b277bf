"""Reward functions whose mean is a link of another function, as in generalized linear models."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from fgtsva_ppl.rewards.base import AnyReward, Embedded, Reward, RewardFunction, as_reward
from samplers.errors import InputError

INVERSE_LINKS: dict[str, Callable[[Array], Array]] = {"logit": jax.nn.sigmoid, "log": jnp.exp}


@dataclass(frozen=True)
class LinkedFunction:
    """features -> inverse link of a predictor. Likelihoods with this link are computed from the predictor itself.

    Attributes:
        predictor: features -> logit or logarithm of the mean reward.
        link: "logit" or "log".
    """

    predictor: RewardFunction
    link: str

    def __call__(self, features: Float[Array, "rows size"]) -> Float[Array, " rows"]:
        """Mean rewards of the rows of `features`."""
        return INVERSE_LINKS[self.link](self.predictor(features))


@dataclass(frozen=True)
class LinkedReward(Reward):
    """A reward whose program's output is taken as the logit, or the logarithm, of the mean reward."""

    reward: AnyReward
    link: str

    @property
    @override
    def name(self) -> str:
        return as_reward(self.reward).name

    @override
    def embedded(self, arms: int, dim: int) -> Embedded:
        inner = as_reward(self.reward).embedded(arms, dim)

        def program() -> RewardFunction:
            function = inner.program()
            if isinstance(function, LinkedFunction):
                raise InputError(
                    f"reward {self.name} returns mean rewards with a link of its own: leave likelihood.output=mean"
                )
            return LinkedFunction(function, self.link)

        return inner._replace(program=program)

    @property
    @override
    def depends_on_arms(self) -> bool:
        return as_reward(self.reward).depends_on_arms
