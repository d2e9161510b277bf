"""One round, and chunks of rounds of all runs compiled as one program."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh
from jaxtyping import Bool, Int, Key

from fgtsva_ppl.simulation.batching import for_each_run
from fgtsva_ppl.simulation.exploration import Exploration
from fgtsva_ppl.simulation.pending import Pending, Played, nothing_pending, observe
from fgtsva_ppl.simulation.record import Record
from fgtsva_ppl.simulation.validation import check_environment
from fgtsva_ppl.types import Agent, Environment, Outcome, Round
from samplers._threefry import fold_in

ENVIRONMENT, NOISE, AGENT, _PROBES, EXPLORATION, DRIFT, FEEDBACK = range(7)  # streams of a run's randomness


class Carry(NamedTuple):
    """The state of a run between rounds."""

    instance: Any  # of the environment, in the round that is played next
    agent: Any  # the agent's state
    pending: Pending | None = None  # rewards that have not been observed yet


def start_run(environment: Environment, agent: Agent, key: Key[Array, ""]) -> Carry:
    """A run before its first round."""
    instance = environment.start(jax.random.fold_in(key, ENVIRONMENT))
    # A key of its own, because keys split from the stream's key would equal those of the first rounds.
    state = agent.start(stream_key(key, AGENT, -1), environment.shape)
    return Carry(instance, state, nothing_pending(environment, agent, state))


def play_round(
    environment: Environment,
    agent: Agent,
    key: Key[Array, ""],
    carry: Carry,
    t: Int[Array, ""],
    exploration: Exploration | None = None,
) -> tuple[Carry, Record]:
    """Plays round t: environment -> round -> posterior -> draw -> action -> history."""
    revealed, outcome = reveal(environment, key, carry.instance, t)
    round = agent.represent(carry.agent, agent.embed(revealed))
    agent_key = stream_key(key, AGENT, t)
    state, action, info = agent.act_with_means(agent_key, carry.agent, round, outcome.means)
    if exploration is not None:
        action = exploration.play(stream_key(key, EXPLORATION, t), t, action, outcome.means.shape[-1])
        info = info._replace(propensity=jnp.nan, propensity_error=jnp.nan)  # that of the agent's own choice
    reward, pending = outcome.rewards[action], carry.pending
    if pending is None:
        state = agent.update(state, round, action, reward)
    else:
        feedback_key = stream_key(key, FEEDBACK, t)
        played = Played(revealed, action, reward, t)
        state, pending = observe(environment, agent, feedback_key, state, pending, played)
    regret = jnp.max(outcome.means) - outcome.means[action]
    instance = evolve(environment, key, carry.instance, t)
    return Carry(instance, state, pending), Record(regret, action, info)


def evolve(environment: Environment, key: Key[Array, ""], instance: Any, t: Int[Array, ""]) -> Any:
    """The instance of round t + 1 of the run with this key, given that of round t."""
    return environment.evolve(stream_key(key, DRIFT, t), instance, t) if environment.drifts else instance


def instance_of_round(environment: Environment, key: Key[Array, ""], t: Int[Array, ""]) -> Any:
    """The instance of round t of the run with this key, from the beginning: drifts are replayed up to that round."""
    first = environment.start(jax.random.fold_in(key, ENVIRONMENT))
    if not environment.drifts:
        return first
    return jax.lax.fori_loop(0, t, lambda s, instance: evolve(environment, key, instance, s), first)


def reveal(
    environment: Environment, key: Key[Array, ""], instance: Any, t: Int[Array, ""]
) -> tuple[Round, Outcome]:
    """The round t (counted from 0) of the run with this key, and its outcome, as arrays of floats."""
    round, outcome = environment.round(stream_key(key, NOISE, t), instance, t)
    return Round(*map(_as_float, round)), Outcome(*map(_as_float, outcome))


def _as_float(values: Any) -> Array:
    """An array of floats, whether an environment returned floats, counts or booleans."""
    array = jnp.asarray(values)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


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


def grows(agent: Agent, carry: Carry, capacity: int) -> bool:
    """Whether making room for so many more rounds changes anything: a history of sums needs no room."""
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), carry.agent)
    return bool(jax.make_jaxpr(lambda state: agent.grow(state, capacity))(one).eqns)


@partial(jax.jit, static_argnames=("length", "record_every", "lanes", "mesh"))
def play_rounds(
    environment: Environment,
    agent: Agent,
    keys: Key[Array, " runs"],
    begin: Int[Array, ""],
    carry: Carry,
    probes: Int[Array, " probes"],
    exploration: Exploration | None = None,
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
        exploration: Schedule of rounds with a uniform arm; None for the agent's own in all.
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
            carry, record = play_round(environment, agent, key, carry, t, exploration)
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
    return ~agent.in_support(carry.agent, agent.represent(carry.agent, agent.embed(round)))


def state_structure(environment: Environment, agent: Agent) -> Any:
    """The tree structure of an agent's state, into which stored leaves are put back."""
    start = jax.eval_shape(partial(start_run, environment, agent), jax.random.key(0))
    return jax.tree.structure(start.agent)


def check(environment: Environment, agent: Agent, rounds: int) -> None:
    """Traces one round without computing it. Raises InputError if environment and agent do not fit together."""
    check_environment(environment, rounds)
    agent = agent.for_horizon(rounds)

    def first(environment: Environment, agent: Agent, key: Array) -> Any:
        return play_round(environment, agent, key, start_run(environment, agent, key), jnp.asarray(0))

    jax.eval_shape(first, environment, agent, jax.random.key(0))
    agent.validate(environment.shape, lambda: _first_round(environment, jax.random.key(0))[0])
    check_rewards(environment, agent)


def check_rewards(environment: Environment, agent: Agent) -> None:
    """Raises InputError if the agent cannot learn from the rewards of a first round."""
    agent.validate_rewards(
        lambda: np.asarray(_first_round(environment, jax.random.key(0))[1].rewards),
        f"environment {type(environment).__name__}",
    )


@jax.jit
def _first_round(environment: Environment, key: Array) -> tuple[Round, Outcome]:
    return reveal(environment, key, environment.start(key), jnp.asarray(0))
