"""Refresh schedules: the rounds in which the Thompson agent samples its posterior anew; in others it keeps its draw."""

from abc import ABC, abstractmethod
from typing import NamedTuple, override

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Int

from samplers.registry import Registry
from samplers.settings import settings, traced_int


class Counts(NamedTuple):
    """What a schedule goes by.

    Attributes:
        plays: How often a reward of each arm was observed.
        at_refresh: The same when the posterior was last sampled.
        since: Rounds since then; -1 before the first.
    """

    plays: Int[Array, " arms"]
    at_refresh: Int[Array, " arms"]
    since: Int[Array, ""]

    @classmethod
    def start(cls, arms: int) -> "Counts":
        """Before the first round."""
        zeros = jnp.zeros(arms, int)
        return cls(zeros, zeros, jnp.asarray(-1))

    def refreshed(self, due: Bool[Array, ""]) -> "Counts":
        """After a decision, for which the posterior was sampled or not."""
        return self._replace(
            at_refresh=jnp.where(due, self.plays, self.at_refresh), since=jnp.where(due, 0, self.since)
        )

    def played(self, action: Int[Array, ""]) -> "Counts":
        """After the reward of an arm was observed."""
        return self._replace(plays=self.plays.at[action].add(1))

    def round_ended(self) -> "Counts":
        """After a round, whether its reward was observed or not."""
        return self._replace(since=self.since + 1)


class Refresh(ABC):
    """A schedule."""

    @property
    def every_round(self) -> bool:
        """Whether the posterior is sampled in every round, so that nothing is counted."""
        return False

    @abstractmethod
    def due(self, counts: Counts) -> Bool[Array, ""]:
        """Whether the posterior is sampled anew in this round."""


@settings
class EveryRound(Refresh):
    """The posterior is sampled in every round."""

    @property
    @override
    def every_round(self) -> bool:
        return True

    @override
    def due(self, counts: Counts) -> Bool[Array, ""]:
        return jnp.asarray(True)


@settings
class Periodic(Refresh):
    """The posterior is sampled every `period` rounds."""

    period: int = traced_int(default=10, ge=1, doc="rounds from one draw to the next")

    @override
    def due(self, counts: Counts) -> Bool[Array, ""]:
        return (counts.since < 0) | (counts.since >= self.period)


@settings
class Doubling(Refresh):
    """The posterior is sampled when some arm has been played twice as often as at the last draw: O(K log T) draws."""

    @override
    def due(self, counts: Counts) -> Bool[Array, ""]:
        doubled = counts.plays >= jnp.maximum(2 * counts.at_refresh, 1)
        return (counts.since < 0) | jnp.any(doubled & (counts.plays > counts.at_refresh))


REFRESHES: Registry[Refresh] = Registry("refresh", "fgtsva.refreshes")
REFRESHES.register("every_round", EveryRound)
REFRESHES.register("periodic", Periodic)
REFRESHES.register("doubling", Doubling)
