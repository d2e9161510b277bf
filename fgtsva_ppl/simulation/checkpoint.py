"""Intermediate states of a simulation: snapshots for diagnostics, and checkpoints to resume from."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Shaped

from fgtsva_ppl.simulation.batching import gather
from fgtsva_ppl.timing import Seconds, Stopwatch


class Snapshot(NamedTuple):
    """The agents' states before a round, from which the round can be probed after the simulation."""

    round: int  # counted from 1
    states: Any  # pytree with a leading axis of runs


class CheckpointState(NamedTuple):
    """A simulation after some of its rounds, in plain arrays: everything that the remaining rounds depend on."""

    rounds: int
    carry: list[Shaped[np.ndarray, "padded_runs ..."]]  # leaves of the runs' states
    record: list[Shaped[np.ndarray, "padded_runs rounds"]]  # leaves of what was recorded
    snapshots: tuple[Snapshot, ...]
    seconds: Seconds


@runtime_checkable
class Checkpoint(Protocol):
    """Storage for an interruptible simulation."""

    def load(self) -> CheckpointState | None:
        """Returns what an interrupted simulation with the same arguments saved, or None."""
        ...

    def save(self, state: Callable[[], CheckpointState]) -> None:
        """Called after every chunk of rounds. May skip it: the state is only computed if it is called."""
        ...


class Unsaved(NamedTuple):
    """The state of a running simulation, converted to plain arrays on demand."""

    rounds: int
    carry: Any
    chunks: list[list[Shaped[np.ndarray, "padded_runs _"]]]
    snapshots: list[Snapshot]
    clock: Stopwatch

    def to_checkpoint(self) -> CheckpointState:
        """Gathers everything from the devices."""
        carry = list(map(gather, jax.tree.leaves(self.carry)))
        record, seconds = join_chunks(self.chunks), self.clock.times()
        return CheckpointState(self.rounds, carry, record, tuple(self.snapshots), seconds)


def join_chunks(
    chunks: list[list[Shaped[np.ndarray, "padded_runs _"]]],
) -> list[Shaped[np.ndarray, "padded_runs rounds"]]:
    """Concatenates the leaves of consecutive records along their rounds."""
    return [np.concatenate(leaves, axis=1) for leaves in zip(*chunks, strict=True)]
