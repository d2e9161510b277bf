"""Rewards that are delayed one by one, or delivered in batches."""

from typing import override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, Key

from fgtsva_ppl.types import Feedback
from samplers.errors import InputError
from samplers.settings import choice, settings, static_int, traced_float, traced_int

DISTRIBUTIONS = ("constant", "geometric", "heavy_tailed")


@settings
class Delayed(Feedback):
    """Every reward has a delay of its own; it enters the posterior late, with the sigma of its own round.

    A reward that is `memory` rounds late or more is never observed, so that memory for pending rewards is fixed.
    """

    distribution: str = choice(
        default="constant",
        options=DISTRIBUTIONS,
        doc="of the delay: always the same, geometric on 0, 1, 2, ..., or with a tail of power `tail`",
    )
    delay: int = traced_int(
        default=10, ge=0, doc="the constant delay; the mean of a geometric, the median of a heavy-tailed one"
    )
    tail: float = traced_float(default=1.0, gt=0, doc="P(delay > x) falls as x^-tail if heavy-tailed")
    lost: float = traced_float(default=0.0, ge=0, le=1, doc="probability that a reward is never observed")
    memory: int = static_int(
        default=100, ge=1, doc="rounds whose rewards may be pending; one that is later is never observed"
    )

    @property
    @override
    def slots(self) -> int:
        return self.memory

    @property
    @override
    def one_at_a_time(self) -> bool:
        return self.distribution == "constant"

    @override
    def draw(self, key: Key[Array, ""], t: Int[Array, ""]) -> Int[Array, ""]:
        if self.distribution == "constant":
            delay = jnp.asarray(self.delay, int)
            lost = jax.random.uniform(key) < self.lost
            return jnp.where(lost, self.memory, delay)
        late, u = jax.random.uniform(key, (2,))
        u = 1 - u  # in (0, 1]
        scale = jnp.asarray(self.delay, float)
        if self.distribution == "geometric":  # P(delay >= x) = (m / (1 + m))^x
            value = jnp.log(u) / jnp.log(scale / (1 + scale))
        else:  # P(delay >= x) = (1 + x / s)^-tail, with s such that the median is `delay`
            value = scale / (2 ** (1 / self.tail) - 1) * (u ** (-1 / self.tail) - 1)
        value = jnp.where(scale > 0, value, 0.0)
        capped = jnp.minimum(jnp.floor(value), self.memory)
        return jnp.where(late < self.lost, self.memory, capped.astype(int))

    @override
    def validate(self, rounds: int) -> None:
        delay = int(self.delay)
        if delay >= rounds:
            raise InputError(
                f"feedback.delay={delay} must be less than rounds={rounds}: no reward would be observed in time"
            )
        if self.distribution == "constant" and delay >= self.memory:
            raise InputError(
                f"feedback.delay={delay} must be less than feedback.memory={self.memory}, "
                "the rounds whose rewards may be pending"
            )


@settings
class Batched(Feedback):
    """The rewards of `size` rounds are observed together, at the end of the last of them."""

    size: int = static_int(default=10, ge=1, doc="rounds of a batch")

    @property
    @override
    def slots(self) -> int:
        return self.size

    @override
    def draw(self, key: Key[Array, ""], t: Int[Array, ""]) -> Int[Array, ""]:
        return self.size - 1 - t % self.size

    @override
    def validate(self, rounds: int) -> None:
        if self.size > rounds:
            raise InputError(
                f"feedback.size={self.size} must be at most rounds={rounds}: no batch would be complete"
            )
