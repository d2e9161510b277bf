"""The paths: a random walk, jumps, a rotation with a period, and swaps of best and worst."""

from typing import Any, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Int, Key

from fgtsva_ppl.drift.base import Drift
from fgtsva_ppl.types import Environment
from samplers.errors import InputError
from samplers.settings import settings, traced_float, traced_int


def _where(condition: Bool[Array, ""], new: Any, old: Any) -> Any:
    """One of two instances."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), new, old)


@settings
class Walk(Drift):
    """A random walk: every round the truth turns by an angle of `rate` towards a new draw."""

    rate: float = traced_float(default=0.01, ge=0, doc="angle of a round's step, in radians")

    @override
    def evolve(
        self, key: Key[Array, ""], environment: Environment, instance: Any, path: Any, t: Int[Array, ""]
    ) -> Any:
        return environment.moved(instance, environment.start(key), jnp.asarray(self.rate, float))


@settings
class Jumps(Drift):
    """The truth is drawn again: in random rounds with probability `rate`, or once in round `at`."""

    rate: float = traced_float(default=0.002, ge=0, le=1, doc="probability of a jump before a round")
    at: int = traced_int(
        default=0, ge=0, doc="the only round with a new truth, counted from 1; 0: random rounds"
    )

    @override
    def evolve(
        self, key: Key[Array, ""], environment: Environment, instance: Any, path: Any, t: Int[Array, ""]
    ) -> Any:
        jump_key, truth_key = jax.random.split(key)
        random = jax.random.uniform(jump_key) < self.rate
        due = jnp.where(jnp.asarray(self.at) > 0, t + 2 == self.at, random)  # round t + 1 counted from 0
        quarter = jnp.asarray(jnp.pi / 2, float)  # which is the other draw
        return _where(due, environment.moved(instance, environment.start(truth_key), quarter), instance)

    @override
    def validate(self, rounds: int) -> None:
        at = int(self.at)
        if at == 1 or at > rounds:
            raise InputError(
                f"drift.at={at} must be from 2 to rounds={rounds}, or 0 for jumps in random rounds: the truth has to "
                "change between two rounds"
            )


@settings
class Periodic(Drift):
    """The truth turns in the plane of two draws and is back where it began after each period."""

    period: float = traced_float(default=500.0, gt=0, doc="rounds of a whole turn")

    @override
    def start(self, key: Key[Array, ""], environment: Environment, instance: Any) -> tuple[Any, Any]:
        return instance, environment.start(key)

    @override
    def evolve(
        self, key: Key[Array, ""], environment: Environment, instance: Any, path: Any, t: Int[Array, ""]
    ) -> Any:
        turn = jnp.asarray(2 * jnp.pi, float) * ((t + 1) % self.period) / self.period
        first, other = path
        return environment.moved(first, other, turn)


@settings
class AdversarialSwap(Drift):
    """The truth is reversed every `period` rounds, so that the best and the worst arm of an action set are swapped.

    An oblivious adversary: the rounds of the swaps do not depend on what was played, and are the same for all agents.
    """

    period: int = traced_int(default=500, ge=1, doc="rounds between two swaps")

    @override
    def evolve(
        self, key: Key[Array, ""], environment: Environment, instance: Any, path: Any, t: Int[Array, ""]
    ) -> Any:
        half = jnp.asarray(jnp.pi, float)  # the opposite truth, whatever the other draw is
        return _where((t + 1) % self.period == 0, environment.moved(instance, instance, half), instance)
