"""The simulation loop: rounds in a scan, runs in blocks, chunks of rounds between which progress is reported."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Shaped

from fgtsva_ppl.posteriors.history import SMALLEST_CAPACITY
from fgtsva_ppl.simulation.batching import batch_runs, gather, lanes_for
from fgtsva_ppl.simulation.checkpoint import Checkpoint, CheckpointState, Snapshot, Unsaved, join_chunks
from fgtsva_ppl.simulation.exploration import Exploration
from fgtsva_ppl.simulation.record import Record
from fgtsva_ppl.simulation.rounds import (
    check_rewards,
    grow_histories,
    grows,
    play_rounds,
    start_run,
    start_runs,
)
from fgtsva_ppl.simulation.validation import check_environment
from fgtsva_ppl.timing import Seconds, Stopwatch
from fgtsva_ppl.types import Agent, Environment
from samplers.errors import InputError

MIN_CHUNKS = 16  # for progress reports and for histories that grow
MAX_CHUNK_ROUNDS = 2000  # rounds that an interruption may cost


@dataclass(frozen=True)
class Simulation:
    """The rounds of several runs.

    Every quantity of the record is an attribute: `regret`, `action`, `acceptance_rate`, `num_divergent`,
    `num_gradients`, `num_resets`, each with shape (runs, rounds). Outputs are aggregated over blocks of `record_every`
    rounds, and then have shape (runs, rounds / record_every): sums, the mean acceptance rate, the last action.

    Attributes:
        record: All quantities.
        outside_support: Whether an agent ended where its posterior has no density.
        seconds: Computing and compiling time.
        snapshots: The agents' states before the probed rounds.
    """

    record: Record
    outside_support: Bool[np.ndarray, " runs"]
    seconds: Seconds
    snapshots: tuple[Snapshot, ...] = ()

    def __getattr__(self, name: str) -> Shaped[np.ndarray, "runs rounds"]:
        if name in Record.fields():
            return self.record.arrays()[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *Record.fields()})

    @property
    def cumulative_regret(self) -> Float[np.ndarray, "runs rounds"]:
        """The sum of regret up to and including each round."""
        return np.cumsum(self.regret, axis=1)


def simulate(
    environment: Environment,
    agent: Agent,
    *,
    exploration: Exploration | None = None,
    rounds: int = 1000,
    runs: int = 100,
    seed: int = 0,
    first_run: int = 0,
    record_every: int = 1,
    probes: Sequence[int] = (),
    devices: list[jax.Device] | None = None,
    progress: Callable[[int], None] | None = None,
    monitor: Callable[[int, Record], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Simulation:
    """Plays an agent in an environment.

    In round t an agent sees the features of all arms and sigma_t, pulls arm a_t and receives
    r_t with mean f*(x_t, a_t). The regret of the round is max_a f*(x_t, a) - f*(x_t, a_t).

    A run depends on the seed and its number only: not on the other runs, the devices, or interruptions. Runs of
    different agents with the same seed and number meet the same instance, rounds and noise (common random numbers).

    Args:
        environment: The environment.
        agent: The agent. Settings that depend on the horizon are filled in with `rounds`.
        exploration: With which probability a round plays a uniform arm instead; None for never.
        rounds: Rounds T of each run.
        runs: Number of independent runs.
        seed: Seed of all randomness.
        first_run: Number of the first run, to simulate a slice of a larger set of runs.
        record_every: Aggregates so many rounds into one record, so that memory does not grow with long runs.
        probes: Rounds, counted from 1, before which the agents' states are kept as snapshots.
        devices: Devices to compute on; None for all.
        progress: Called with the number of finished rounds after each chunk of rounds.
        monitor: Called with the number of finished rounds and the record of the chunk.
        checkpoint: Where to save intermediate states, and where to resume an interrupted simulation from. The result
            of a resumed simulation is equal to the last bit.

    Returns:
        The recorded quantities of all runs and rounds.

    Raises:
        InputError: If `rounds`, `runs` or `record_every` are not valid, or the environment's rounds do not have the
            shapes that it promises.
    """
    if rounds < 1 or runs < 1:
        raise InputError(f"rounds={rounds} and runs={runs} must be at least 1")
    if record_every < 1 or rounds % record_every:
        raise InputError(
            f"record_every={record_every} must be at least 1, and rounds={rounds} a multiple of it"
        )
    check_environment(environment, rounds)
    check_rewards(environment, agent)
    agent = agent.for_horizon(rounds)
    lanes = lanes_for(environment.shape, agent)
    batch = batch_runs(seed, first_run, runs, lanes=lanes, devices=devices)
    layout = {"lanes": batch.lanes, "mesh": batch.mesh}
    length = chunk_length(rounds, record_every)
    probes_of_chunk = [
        [probe for probe in sorted(set(probes)) if begin < probe <= min(begin + length, rounds)]
        for begin in range(0, rounds, length)
    ]
    num_slots = max(map(len, probes_of_chunk))  # the same in all chunks, which so share one program
    saved = _load(checkpoint, batch.keys.size)
    clock = Stopwatch(saved.seconds if saved else Seconds(0.0, 0.0))
    start, grow, play = clock.watch(start_runs), clock.watch(grow_histories), clock.watch(play_rounds)
    if saved is None:
        finished, chunks, snapshots = 0, [], []
        carry = start(environment, agent, batch.keys, **layout)
    else:
        finished, chunks, snapshots = saved.rounds, [saved.record], list(saved.snapshots)
        empty = jax.eval_shape(partial(start_run, environment, agent), batch.keys[0])
        carry = jax.tree.unflatten(jax.tree.structure(empty), list(map(jnp.asarray, saved.carry)))
    growing = grows(agent, carry, 2 * _capacity(rounds + length))
    for begin in range(finished, rounds, length):
        if growing:
            carry = grow(agent, carry, capacity=_capacity(begin + length), **layout)
        probed = probes_of_chunk[begin // length]
        slots = jnp.asarray([probe - 1 for probe in probed] + [-1] * (num_slots - len(probed)), int)
        carry, record, kept, outside_support = play(
            environment,
            agent,
            batch.keys,
            jnp.asarray(begin),
            carry,
            slots,
            exploration,
            length=length,
            record_every=record_every,
            **layout,
        )
        chunks.append(list(map(gather, jax.tree.leaves(record))))
        structure = jax.tree.structure(record)
        if probed:
            kept = jax.tree.map(gather, kept)
        snapshots += [Snapshot(probe, _slot(kept, i, batch.requested)) for i, probe in enumerate(probed)]
        if progress is not None:
            progress(min(begin + length, rounds))
        if monitor is not None:
            newest = [leaf[batch.requested, : (rounds - begin) // record_every] for leaf in chunks[-1]]
            monitor(min(begin + length, rounds), jax.tree.unflatten(structure, newest))
        if checkpoint is not None and begin + length < rounds:
            checkpoint.save(Unsaved(begin + length, carry, chunks, snapshots, clock).to_checkpoint)
    leaves = [leaf[batch.requested, : rounds // record_every] for leaf in join_chunks(chunks)]
    return Simulation(
        jax.tree.unflatten(structure, leaves),
        gather(outside_support)[batch.requested],
        clock.times(),
        tuple(snapshots),
    )


def _load(checkpoint: Checkpoint | None, padded_runs: int) -> CheckpointState | None:
    saved = checkpoint.load() if checkpoint is not None else None
    if saved is not None and saved.record[0].shape[0] != padded_runs:
        return None  # saved with another number of devices
    return saved


def chunk_length(rounds: int, record_every: int) -> int:
    """How many rounds are played at a time: a multiple of `record_every`."""
    records = rounds // record_every
    chunks = max(MIN_CHUNKS, math.ceil(rounds / MAX_CHUNK_ROUNDS))
    return record_every * math.ceil(records / min(records, chunks))


def _capacity(rounds: int) -> int:
    """Room in a history: a power of two, so that nothing compiles again until it doubles."""
    return max(SMALLEST_CAPACITY, 1 << (rounds - 1).bit_length())


def _slot(kept: Any, index: int, runs: slice) -> Any:
    """The states of the requested runs before one probed round."""
    return jax.tree.map(lambda x: x[runs, index], kept)
