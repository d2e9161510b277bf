"""One round, and chunks of rounds of all runs compiled as one program."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh
from jaxtyping import Bool, Int, Key

from fgtsva_ppl.simulation.batching import for_each_run
from fgtsva_ppl.simulation.record import Record
from fgtsva_ppl.types import Agent, Environment, Outcome, Round
from samplers._threefry import fold_in

ENVIRONMENT, NOISE, AGENT = range(3)  # streams of a run's randomness


class Carry(NamedTuple):
    """The state of a run between rounds."""

    instance: Any  # of the environment
    agent: Any  # the agent's state


def start_run(environment: Environment, agent: Agent, key: Key[Array, ""]) -> Carry:
    """A run before its first round."""
    instance = environment.start(jax.random.fold_in(key, ENVIRONMENT))
    # A key of its own, because keys split from the stream's key would equal those of the first rounds.
    state = agent.start(stream_key(key, AGENT, -1), environment.shape)
    return Carry(instance, state)


def play_round(
    environment: Environment, agent: Agent, key: Key[Array, ""], carry: Carry, t: Int[Array, ""]
) -> tuple[Carry, Record]:
    """Plays round t: environment -> round -> posterior -> draw -> action -> history."""
    revealed, outcome = reveal(environment, key, carry.instance, t)
    round = agent.embed(revealed)
    agent_key = stream_key(key, AGENT, t)
    state, action, info = agent.act_with_means(agent_key, carry.agent, round, outcome.means)
    state = agent.update(state, round, action, outcome.means[action] + outcome.noise)
    regret = jnp.max(outcome.means) - outcome.means[action]
    return Carry(carry.instance, state), Record(regret, action, info)


def reveal(
    environment: Environment, key: Key[Array, ""], instance: Any, t: Int[Array, ""]
) -> tuple[Round, Outcome]:
    """The round t (counted from 0) of the run with this key, and its outcome."""
    return environment.round(stream_key(key, NOISE, t), instance, t)


def stream_key(key: Key[Array, ""], stream: int, t: Int[Array, ""] | int) -> Key[Array, ""]:
    """The key of a stream in round t."""
    return fold_in(fold_in(key, stream), t + 1)


@partial(jax.jit, static_argnames=("lanes", "mesh"))
def start_runs(
    environment: Environment, agent: Agent, keys: Key[Array, " runs"], *, lanes: int, mesh: Mesh
) -> Carry:
    """All runs before their first round."""
    return for_each_run(partial(start_run, environment, agent), keys, lanes=lanes, mesh=mesh)


@partial(jax.jit, static_argnames=("capacity", "lanes", "mesh"))
def grow_histories(agent: Agent, carry: Carry, *, capacity: int, lanes: int, mesh: Mesh) -> Carry:
    """All runs with room for `capacity` rounds in their histories."""

    def grow(carry: Carry) -> Carry:
        return carry._replace(agent=agent.grow(carry.agent, capacity))

    if not jax.tree.leaves(carry):  # neither the environment nor the agent has a state
        return carry
    return for_each_run(grow, carry, lanes=lanes, mesh=mesh)


@partial(jax.jit, static_argnames=("length", "record_every", "lanes", "mesh"))
def play_rounds(
    environment: Environment,
    agent: Agent,
    keys: Key[Array, " runs"],
    begin: Int[Array, ""],
    carry: Carry,
    probes: Int[Array, " probes"],
    *,
    length: int,
    record_every: int,
    lanes: int,
    mesh: Mesh,
) -> tuple[Carry, Record, Any, Bool[Array, " runs"]]:
    """Plays a chunk of rounds of all runs.

    Args:
        environment: The environment.
        agent: The agent.
        keys: One per run.
        begin: First round of the chunk, counted from 0.
        carry: The runs before that round.
        probes: Rounds before which the agents' states are kept; -1 for an unused slot.
        length: Number of rounds, a multiple of `record_every`.
        record_every: Number of rounds that are aggregated into one record.
        lanes: See `for_each_run`.
        mesh: See `for_each_run`.

    Returns:
        The runs after the chunk, what was recorded, the kept states with axes (runs, probes), and whether each agent
        ended outside the support of its posterior.
    """

    def keep(kept: Any, agent_state: Any, t: Array) -> Any:
        slot = jnp.argmax(probes == t)
        return jax.tree.map(lambda slots, x: slots.at[slot].set(x), kept, agent_state)

    def play(key: Array, carry: Carry) -> tuple[Carry, Record, Any, Array]:
        def step(state: tuple[Carry, Any], t: Array) -> tuple[tuple[Carry, Any], Record]:
            carry, kept = state
            if probes.size:
                kept = jax.lax.cond(jnp.any(probes == t), keep, lambda kept, *_: kept, kept, carry.agent, t)
            carry, record = play_round(environment, agent, key, carry, t)
            return (carry, kept), record

        slots = jax.tree.map(lambda x: jnp.zeros((probes.size, *x.shape), x.dtype), carry.agent)
        steps = step if record_every == 1 else _aggregate_rounds(step, record_every)
        starts = begin + jnp.arange(0, length, record_every)
        (carry, kept), record = jax.lax.scan(steps, (carry, slots), starts)
        return carry, record, kept, _outside_support(environment, agent, key, carry, begin + length - 1)

    return for_each_run(play, keys, carry, lanes=lanes, mesh=mesh)


def _aggregate_rounds(step: Callable[..., Any], record_every: int) -> Callable[..., Any]:
    """A scan step over a block of rounds, whose records are aggregated into one."""

    def block(state: Any, t: Array) -> tuple[Any, Record]:
        state, records = jax.lax.scan(step, state, t + jnp.arange(record_every))
        return state, records.aggregate()

    return block


def _outside_support(environment: Environment, agent: Agent, key: Array, carry: Carry, t: Array) -> Array:
    """Whether the current sample has zero density; evaluated once per chunk, because it costs a density."""
    round, _ = reveal(environment, key, carry.instance, t)
    return ~agent.in_support(carry.agent, agent.embed(round))


def state_structure(environment: Environment, agent: Agent) -> Any:
    """The tree structure of an agent's state, into which stored leaves are put back."""
    start = jax.eval_shape(partial(start_run, environment, agent), jax.random.key(0))
    return jax.tree.structure(start.agent)


def check(environment: Environment, agent: Agent, rounds: int) -> None:
    """Traces one round without computing it. Raises InputError if environment and agent do not fit together."""
    agent = agent.for_horizon(rounds)

    def first(environment: Environment, agent: Agent, key: Array) -> Any:
        return play_round(environment, agent, key, start_run(environment, agent, key), jnp.asarray(0))

    jax.eval_shape(first, environment, agent, jax.random.key(0))
    agent.validate(environment.shape, lambda: _first_round(environment, jax.random.key(0)))


@jax.jit
def _first_round(environment: Environment, key: Array) -> Round:
    return reveal(environment, key, environment.start(key), jnp.asarray(0))[0]
