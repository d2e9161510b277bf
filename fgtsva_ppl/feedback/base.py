"""An environment with feedback, and the feedback that changes nothing."""

from typing import override

import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, Key

from fgtsva_ppl.environments.wrapper import Wrapper
from fgtsva_ppl.types import Environment, Feedback
from samplers.settings import nested, settings


@settings
class Immediate(Feedback):
    """Every reward is observed at the end of its round."""

    @property
    @override
    def slots(self) -> int:
        return 1

    @override
    def draw(self, key: Key[Array, ""], t: Int[Array, ""]) -> Int[Array, ""]:
        return jnp.zeros((), int)


@settings
class WithFeedback(Wrapper):
    """An environment whose rewards are observed late. Rounds, rewards and regret are those of the inner environment."""

    environment: Environment = nested()
    schedule: Feedback = nested()

    @property
    @override
    def feedback(self) -> Feedback:
        return self.schedule

    @override
    def validate(self, rounds: int) -> None:
        super().validate(rounds)
        self.schedule.validate(rounds)
