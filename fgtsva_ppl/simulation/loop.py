"""The loop: rounds in a scan, runs side by side in blocks of fixed width, blocks spread over the devices.

A run's result depends on its seed and number alone: the width of a block never changes, and a run has the same place in
its block always (compiled code may round the last place otherwise than the first), so that the same instructions
compute a run whether it is alone, among a hundred, or on another device.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import multihost_utils
from jax.sharding import Mesh, PartitionSpec

from fgtsva_ppl.posteriors.history import SMALLEST_CAPACITY
from fgtsva_ppl.timing import Seconds, Stopwatch
from fgtsva_ppl.types import (
    ActionInfo,
    Agent,
    Answerable,
    Environment,
    Knowing,
    Outcome,
    Particular,
    Round,
    Timed,
)
from samplers.errors import InputError

LANES = 25  # runs that are computed side by side
CHUNKS = 16  # pieces into which the rounds are cut at least, for progress and growth of histories
LONGEST = 2000  # rounds of a piece: what an interruption may cost of a long run

ENVIRONMENT, NOISE, AGENT = range(3)  # streams of a run's randomness


class Record(NamedTuple):
    """What is kept of a round."""

    regret: Array
    action: Array
    effort: ActionInfo


class Carry(NamedTuple):
    """What goes from round to round."""

    instance: Any
    agent: Any


class Snapshot(NamedTuple):
    """The agents' states before a round, so that the round can be looked into afterwards."""

    round: int  # counted from 1
    states: Any  # leading axis: run


class CheckpointState(NamedTuple):
    """A simulation after some of its rounds, in plain arrays: all that the rest depends on."""

    rounds: int
    carry: list[np.ndarray]  # the leaves of the runs' states
    record: list[np.ndarray]  # the leaves of what was recorded
    snapshots: tuple[Snapshot, ...]
    seconds: Seconds


class Checkpoint(Protocol):
    """Where a simulation that may be interrupted leaves what it has."""

    def load(self) -> CheckpointState | None:
        """What an earlier one left, if anything."""
        ...

    def save(self, reached: Callable[[], CheckpointState]) -> None:
        """Is told after every piece that there is something to keep, and need not keep it."""
        ...


@dataclass(frozen=True)
class Simulation:
    """The rounds of several runs; every array is (runs, rounds) unless it says otherwise.

    Where `every` so many rounds are told together, it is (runs, rounds / every): sums over them, the mean acceptance,
    the last action.
    """

    regret: np.ndarray  # of each round, not summed over those before
    action: np.ndarray
    acceptance_rate: np.ndarray
    num_divergent: np.ndarray
    num_gradients: np.ndarray
    num_resets: np.ndarray
    outside_support: np.ndarray  # (runs,), whether an agent ended where its posterior has no density
    seconds: Seconds
    snapshots: tuple[Snapshot, ...] = ()

    @property
    def cumulative_regret(self) -> np.ndarray:
        """The regret up to and with each round."""
        return np.cumsum(self.regret, axis=1)


def simulate(
    environment: Environment,
    agent: Agent,
    *,
    rounds: int = 1000,
    runs: int = 100,
    seed: int = 0,
    first_run: int = 0,
    every: int = 1,
    probes: Sequence[int] = (),
    devices: list[jax.Device] | None = None,
    progress: Callable[[int], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Simulation:
    """Plays `runs` runs of `rounds` rounds.

    `every` so many rounds are told together, so that a long run takes no more memory than a short one. `probes` are
    rounds, counted from 1, before which the agents' states are kept. `progress` is told the number of rounds done after
    each piece. A `checkpoint` is asked for what an interrupted simulation with the same arguments left, and this one
    goes on from there, to the same bits.
    """
    if rounds < 1 or runs < 1:
        raise InputError(f"rounds={rounds} and runs={runs} must be at least 1")
    if every < 1 or rounds % every:
        raise InputError(f"every={every} must be at least 1, and rounds={rounds} a multiple of it")
    agent = agent.for_horizon(rounds)
    mesh = Mesh(np.array(devices or jax.devices()), ("runs",))
    lanes = 1 if agent.sequential else LANES
    lead = first_run % lanes  # runs that fill the tuned_algorithms before the first one's
    asked = slice(lead, lead + runs)
    keys = run_keys(seed, first_run - lead + np.arange(_padded(lead + runs, lanes * mesh.size)))
    length = _piece(rounds, every)
    wanted = [
        [probe for probe in sorted(set(probes)) if begin < probe <= min(begin + length, rounds)]
        for begin in range(0, rounds, length)
    ]
    room = max(map(len, wanted))
    halfway = checkpoint.load() if checkpoint is not None else None
    if halfway is not None and halfway.record[0].shape[0] != keys.size:
        halfway = None  # left by a machine with another number of devices
    done, pieces, snapshots = 0, [], []
    clock = Stopwatch(halfway.seconds if halfway else Seconds(0.0, 0.0))
    begin_runs, grow, play = clock.watch(_begin), clock.watch(_grow), clock.watch(_play)
    if halfway is None:
        carry = begin_runs(environment, agent, keys, lanes=lanes, mesh=mesh)
    else:
        start = jax.eval_shape(partial(_start, environment, agent), keys[0])
        carry = jax.tree.unflatten(jax.tree.structure(start), list(map(jnp.asarray, halfway.carry)))
        done, pieces, snapshots = halfway.rounds, [halfway.record], list(halfway.snapshots)
    for begin in range(done, rounds, length):
        carry = grow(agent, carry, capacity=_capacity(begin + length), lanes=lanes, mesh=mesh)
        inside = wanted[begin // length]
        slots = jnp.asarray([probe - 1 for probe in inside] + [-1] * (room - len(inside)), int)
        carry, record, kept, outside_support = play(
            environment,
            agent,
            keys,
            jnp.asarray(begin),
            carry,
            slots,
            length=length,
            every=every,
            lanes=lanes,
            mesh=mesh,
        )
        pieces.append(list(map(_gathered, jax.tree.leaves(record))))
        kind = jax.tree.structure(record)
        if inside:
            kept = jax.tree.map(_gathered, kept)
        snapshots += [Snapshot(probe, _slot(kept, i, asked)) for i, probe in enumerate(inside)]
        if progress is not None:
            progress(min(begin + length, rounds))
        if checkpoint is not None and begin + length < rounds:
            reached = _Reached(begin + length, carry, pieces, snapshots, clock)
            checkpoint.save(reached.halfway)
    whole: Any = jax.tree.unflatten(kind, [x[asked, : rounds // every] for x in _joined(pieces)])
    effort = whole.effort
    return Simulation(
        whole.regret,
        whole.action,
        effort.acceptance_rate,
        effort.num_divergent,
        effort.num_gradients,
        effort.num_resets,
        _gathered(outside_support)[asked],
        clock.times(),
        tuple(snapshots),
    )


class _Reached(NamedTuple):
    """Where a simulation stands; in plain arrays only for those who ask."""

    rounds: int
    carry: Carry
    pieces: list[list[np.ndarray]]
    snapshots: list[Snapshot]
    clock: Stopwatch

    def halfway(self) -> CheckpointState:
        carry = list(map(_gathered, jax.tree.leaves(self.carry)))
        return CheckpointState(
            self.rounds, carry, _joined(self.pieces), tuple(self.snapshots), self.clock.times()
        )


def _gathered(array: Array) -> np.ndarray:
    """The whole of an array, parts that other hosts hold included."""
    if array.is_fully_addressable:
        return np.asarray(array)
    return np.asarray(multihost_utils.process_allgather(array, tiled=True))


def _joined(pieces: list[list[np.ndarray]]) -> list[np.ndarray]:
    return [np.concatenate(parts, axis=1) for parts in zip(*pieces, strict=True)]


def run_keys(seed: int, runs: np.ndarray) -> Array:
    """One key per run, the same whoever runs beside it."""
    return jax.vmap(partial(jax.random.fold_in, jax.random.key(seed)))(jnp.asarray(runs))


def _piece(rounds: int, every: int) -> int:
    """How many rounds are played at a time."""
    told = rounds // every
    return every * math.ceil(told / min(told, max(CHUNKS, math.ceil(rounds / LONGEST))))


def _padded(runs: int, multiple: int) -> int:
    return math.ceil(runs / multiple) * multiple


def _capacity(rounds: int) -> int:
    return max(SMALLEST_CAPACITY, 1 << (rounds - 1).bit_length())


@partial(jax.jit, static_argnames=("lanes", "mesh"))
def _begin(environment: Environment, agent: Agent, keys: Array, *, lanes: int, mesh: Mesh) -> Carry:
    """The runs before their first round."""
    return for_each_run(partial(_start, environment, agent), keys, lanes=lanes, mesh=mesh)


@partial(jax.jit, static_argnames=("capacity", "lanes", "mesh"))
def _grow(agent: Agent, carry: Carry, *, capacity: int, lanes: int, mesh: Mesh) -> Carry:
    """The runs with room for `capacity` rounds in their histories."""

    def one(carry: Carry) -> Carry:
        return carry._replace(agent=agent.grow(carry.agent, capacity))

    if not jax.tree.leaves(carry):  # nothing is fixed for a run, and the agent remembers nothing
        return carry
    return for_each_run(one, carry, lanes=lanes, mesh=mesh)


@partial(jax.jit, static_argnames=("length", "every", "lanes", "mesh"))
def _play(
    environment: Environment,
    agent: Agent,
    keys: Array,
    begin: Array,
    carry: Carry,
    probes: Array,
    *,
    length: int,
    every: int,
    lanes: int,
    mesh: Mesh,
) -> tuple[Carry, Record, Any, Array]:
    """Plays `length` rounds from round `begin` on; keeps the agents' states before the rounds in `probes`."""

    def keep(kept: Any, agent: Any, t: Array) -> Any:
        return jax.tree.map(lambda room, x: room.at[jnp.argmax(probes == t)].set(x), kept, agent)

    def one(key: Array, carry: Carry) -> tuple[Carry, Record, Any, Array]:
        def step(state: tuple[Carry, Any], t: Array) -> tuple[tuple[Carry, Any], Record]:
            carry, kept = state
            if probes.size:
                kept = jax.lax.cond(jnp.any(probes == t), keep, lambda kept, *_: kept, kept, carry.agent, t)
            carry, record = _round(environment, agent, key, carry, t)
            return (carry, kept), record

        room = jax.tree.map(lambda x: jnp.zeros((probes.size, *x.shape), x.dtype), carry.agent)
        steps = step if every == 1 else _aggregate_rounds(step, every)
        (carry, kept), record = jax.lax.scan(steps, (carry, room), begin + jnp.arange(0, length, every))
        return carry, record, kept, _impossible(environment, agent, key, carry, begin + length - 1)

    return for_each_run(one, keys, carry, lanes=lanes, mesh=mesh)


def _aggregate_rounds(step: Callable[..., Any], every: int) -> Callable[..., Any]:
    """The same, so many rounds at a time."""

    def several(state: Any, t: Array) -> tuple[Any, Record]:
        state, (regret, action, effort) = jax.lax.scan(step, state, t + jnp.arange(every))
        total = ActionInfo(effort.acceptance_rate.mean(), *(jnp.sum(count) for count in effort[1:]))
        return state, Record(jnp.sum(regret), action[-1], total)

    return several


def for_each_run(one: Callable[..., Any], *arrays: Any, lanes: int, mesh: Mesh) -> Any:
    """Applies a function of one run to all runs: blocks of `lanes` side by side, one block after the other."""

    def blocks(*local: Any) -> Any:
        folded = jax.tree.map(lambda x: x.reshape(-1, lanes, *x.shape[1:]), local)
        done = jax.lax.map(lambda block: jax.vmap(one)(*block), folded)
        return jax.tree.map(lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), done)

    split = PartitionSpec("runs")
    spread = jax.shard_map(blocks, mesh=mesh, in_specs=split, out_specs=split, check_vma=False)
    return spread(*arrays)


def _start(environment: Environment, agent: Agent, key: Array) -> Carry:
    instance = environment.start(jax.random.fold_in(key, ENVIRONMENT))
    # Not with the stream's own key: what a start splits off that would be the keys of the first rounds.
    state = agent.start(_stream(key, AGENT, -1), environment.shape)
    return Carry(instance, state)


def _round(
    environment: Environment, agent: Agent, key: Array, carry: Carry, t: Array
) -> tuple[Carry, Record]:
    """environment -> round -> posterior -> draw -> action -> history."""
    seen, outcome = reveal(environment, key, carry.instance, t)
    if isinstance(agent, Knowing):
        state, action, effort = agent.act_knowing(carry.agent, outcome.means)
    else:
        state, action, effort = agent.act(_stream(key, AGENT, t), carry.agent, seen)
    state = agent.update(state, seen, action, outcome.means[action] + outcome.noise)
    regret = jnp.max(outcome.means) - outcome.means[action]
    return Carry(carry.instance, state), Record(regret, action, effort)


def _impossible(environment: Environment, agent: Agent, key: Array, carry: Carry, t: Array) -> Array:
    """Whether the agent stands where its posterior has no density; asked after a piece, not in every round."""
    if not isinstance(agent, Answerable):
        return jnp.asarray(False)
    seen, _ = reveal(environment, key, carry.instance, t)
    return agent.outside_support(carry.agent, seen)


def state_structure(environment: Environment, agent: Agent) -> Any:
    """The tree of an agent's state, for putting stored leaves back into it."""
    start = jax.eval_shape(partial(_start, environment, agent), jax.random.key(0))
    return jax.tree.structure(start.agent)


def reveal(environment: Environment, key: Array, instance: Any, t: Array) -> tuple[Round, Outcome]:
    """What a run meets in round t, counted from 0."""
    own = _stream(key, NOISE, t)
    if isinstance(environment, Timed):
        return environment.round_at(own, instance, t)
    return environment.round(own, instance)


def _stream(key: Array, stream: int, t: Array | int) -> Array:
    return jax.random.fold_in(jax.random.fold_in(key, stream), t + 1)


def _slot(kept: Any, index: int, runs: slice) -> Any:
    return jax.tree.map(lambda x: x[runs, index], kept)


def check(environment: Environment, agent: Agent, rounds: int) -> None:
    """Goes through one round abstractly, so that what does not fit is said before the loop compiles."""
    agent = agent.for_horizon(rounds)

    def first(environment: Environment, agent: Agent, key: Array) -> Any:
        return _round(environment, agent, key, _start(environment, agent, key), jnp.asarray(0))

    jax.eval_shape(first, environment, agent, jax.random.key(0))
    if isinstance(agent, Particular):
        agent.check(environment.shape, lambda: _first_round(environment, jax.random.key(0)))


@jax.jit
def _first_round(environment: Environment, key: Array) -> Round:
    return reveal(environment, key, environment.start(key), jnp.asarray(0))[0]
