"""Probes of a round after the run: the sampler is run many times from the state that the agent had before the round.

A probe does not affect the run. The round is regenerated from the run's key, and the agent's state is in a `Snapshot`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents import Thompson, ThompsonState
from fgtsva_ppl.diagnostics.geometry import condition_number, gradient_norm
from fgtsva_ppl.diagnostics.reference import draw_reference
from fgtsva_ppl.diagnostics.restarts import ModeSearch, restart, search_mode
from fgtsva_ppl.simulation import ENVIRONMENT, Snapshot, for_each_run, reveal, run_keys
from fgtsva_ppl.types import Environment, Round
from samplers import Draw, Exact, SamplerState

PROBE_STREAM = 3  # folded into a run's key, beside the streams of the simulation loop


class ProbeSizes(NamedTuple):
    """How many draws a probe takes."""

    num_replicas: int = 512  # independent repetitions of the round's draw, from the agent's own state
    num_reference: int = 2048  # exact draws
    num_superchains: int = (
        8  # overdispersed starts for nested R-hat, with num_replicas / num_superchains chains each
    )
    num_chains: int = 4  # chains for mixing diagnostics
    num_draws: int = 250  # draws of each of these chains


class Samples(NamedTuple):
    """The draws of a probe, for one run or with a leading axis of runs.

    Attributes:
        replicas: Repetitions of the round's draw; every field has shape (replicas, ...).
        actions: The arm that each replica picks.
        reference: Exact draws (draws, size), or chains (chains, draws, size) that must pass the gate.
        reference_actions: The arm that each reference draw picks.
        reference_divergent: Number of divergent transitions of the reference.
        superchains: The round's draw from overdispersed starts.
        chains: Successive draws of several chains; every field has shape (chains, draws, ...).
        condition_number: Condition number of the posterior precision at the agent's position; NaN if unknown.
        best_arm: The arm with the highest true mean.
        arm_mask: Ones, as many as there are arms.
        gradient_norm: Mean squared norm of the whitened gradient at the replicas, over the dimension; NaN if unknown.
    """

    replicas: Draw
    actions: Int[np.ndarray, "*runs replicas"]
    reference: Float[np.ndarray, "*runs draws size"] | Float[np.ndarray, "*runs chains draws size"]
    reference_actions: Int[np.ndarray, "*runs all_draws"]
    reference_divergent: Int[np.ndarray, "*runs"]
    superchains: Float[np.ndarray, "*runs superchains members size"]
    chains: Draw
    condition_number: Float[np.ndarray, "*runs"]
    best_arm: Int[np.ndarray, "*runs"]
    arm_mask: Float[np.ndarray, "*runs arms"]
    gradient_norm: Float[np.ndarray, "*runs"] | float = math.nan


def probe(
    environment: Environment,
    agent: Thompson,
    snapshot: Snapshot,
    *,
    runs: int,
    seed: int,
    sizes: ProbeSizes | None = None,
) -> Samples:
    """Takes all draws that the diagnostics of one round need.

    Args:
        environment: The environment of the simulation.
        agent: The agent of the simulation, after `for_horizon`.
        snapshot: The round to probe, with the agents' states before it.
        runs: Number of runs to probe, the first ones of the simulation.
        seed: Seed of the simulation.
        sizes: Numbers of draws.

    Returns:
        The draws, with a leading axis of runs.
    """
    return probe_async(environment, agent, snapshot, runs=runs, seed=seed, sizes=sizes)()


def probe_async(
    environment: Environment,
    agent: Thompson,
    snapshot: Snapshot,
    *,
    runs: int,
    seed: int,
    sizes: ProbeSizes | None = None,
    devices: Sequence[jax.Device] | None = None,
) -> Callable[[], Samples]:
    """Dispatches a probe (see `probe`) to the devices; the returned function waits for its result."""
    mesh = Mesh(np.array(devices or jax.devices()), ("runs",))
    num_padded = -(-runs // mesh.size) * mesh.size
    indices = np.minimum(np.arange(num_padded), runs - 1)
    states = jax.tree.map(lambda x: x[indices], snapshot.states)
    keys, t = run_keys(seed, indices), jnp.asarray(snapshot.round - 1)
    seen, means = _regenerate_round(environment, keys, t)
    static = {"sizes": sizes or ProbeSizes(), "mesh": mesh}
    # A fixed sampler, which is not used: one compiled program then serves all samplers of a posterior.
    posterior = replace(agent, sampler=Exact())
    history = states.history.without_moments()  # which only some samplers keep
    facts = _posterior_facts(posterior, keys, history, states.sampler.position, seen, means, t, **static)
    draws = _sampler_draws(agent, keys, states, facts.searches, seen, t, **static)

    def wait() -> Samples:
        host_facts, host_draws = jax.tree.map(lambda x: np.asarray(x)[:runs], (facts, draws))
        return Samples(
            replicas=host_draws.replicas,
            actions=host_draws.actions,
            reference=host_facts.reference,
            reference_actions=host_facts.reference_actions,
            reference_divergent=host_facts.reference_divergent,
            superchains=host_draws.superchains,
            chains=host_draws.chains,
            gradient_norm=host_draws.gradient_norm,
            condition_number=host_facts.condition_number,
            best_arm=host_facts.best_arm,
            arm_mask=host_facts.arm_mask,
        )

    return wait


class PosteriorFacts(NamedTuple):
    """Facts about a round's posterior that do not depend on the sampler."""

    reference: Float[Array, "draws size"] | Float[Array, "chains draws size"]
    reference_actions: Int[Array, " all_draws"]
    reference_divergent: Int[Array, ""]
    searches: ModeSearch  # one per overdispersed start
    condition_number: Float[Array, ""]
    best_arm: Int[Array, ""]
    arm_mask: Float[Array, " arms"]


class SamplerDraws(NamedTuple):
    """What a probe draws with the sampler under test; see `Samples`."""

    replicas: Draw
    actions: Int[Array, " replicas"]
    superchains: Float[Array, "superchains members size"]
    chains: Draw
    gradient_norm: Float[Array, ""]


class _Keys(NamedTuple):
    """The streams of randomness of one probe."""

    replicas: Key[Array, ""]
    reference: Key[Array, ""]
    starts: Key[Array, ""]
    superchains: Key[Array, ""]
    chains: Key[Array, ""]


def _keys(key: Array, t: Array) -> _Keys:
    probe_key = jax.random.fold_in(jax.random.fold_in(key, PROBE_STREAM), t)
    replicas, reference, both, chains = jax.random.split(probe_key, 4)
    starts, superchains = jax.random.split(both)
    return _Keys(replicas, reference, starts, superchains, chains)


def _start_keys(keys: _Keys, sizes: ProbeSizes) -> Array:
    return jax.random.split(keys.starts, max(sizes.num_superchains, sizes.num_chains))


@jax.jit
def _regenerate_round(environment: Environment, keys: Array, t: Array) -> tuple[Round, Array]:
    """The round and its mean rewards in every run.

    A program of its own, so that the expensive programs below do not depend on the environment.
    """

    def one_run(key: Array) -> tuple[Round, Array]:
        instance = environment.start(jax.random.fold_in(key, ENVIRONMENT))
        seen, outcome = reveal(environment, key, instance, t)
        return seen, outcome.means

    return jax.vmap(one_run)(keys)


@partial(jax.jit, static_argnames=("sizes", "mesh"))
def _posterior_facts(
    agent: Thompson,
    keys: Array,
    histories: Any,
    positions: Array,
    seen: Round,
    means: Array,
    t: Array,
    *,
    sizes: ProbeSizes,
    mesh: Mesh,
) -> PosteriorFacts:
    def one_run(key: Array, history: Any, position: Array, seen: Round, means: Array) -> PosteriorFacts:
        round = agent.embed(seen)
        target = agent.target(ThompsonState(history.without_gradient_cache(), SamplerState(position)), round)
        prior, streams = round.model.draw, _keys(key, t)
        reference, num_divergent = draw_reference(streams.reference, target, prior, sizes.num_reference)
        best: Callable[[Array], Array] = jax.vmap(lambda position: agent.best(position, round))
        search: Callable[[Array], ModeSearch] = jax.vmap(lambda key: search_mode(key, target, prior))
        return PosteriorFacts(
            reference=reference,
            reference_actions=best(reference.reshape(-1, reference.shape[-1])),
            reference_divergent=num_divergent,
            searches=search(_start_keys(streams, sizes)),
            condition_number=condition_number(target, position),
            best_arm=jnp.argmax(means),
            arm_mask=jnp.ones(means.shape),
        )

    return for_each_run(one_run, keys, histories, positions, seen, means, lanes=1, mesh=mesh)


@partial(jax.jit, static_argnames=("sizes", "mesh"))
def _sampler_draws(
    agent: Thompson,
    keys: Array,
    states: Any,
    searches: ModeSearch,
    seen: Round,
    t: Array,
    *,
    sizes: ProbeSizes,
    mesh: Mesh,
) -> SamplerDraws:
    one_run = partial(_sampler_draws_of_run, agent, sizes, t)
    return for_each_run(one_run, keys, states, searches, seen, lanes=1, mesh=mesh)


def _sampler_draws_of_run(
    agent: Thompson,
    sizes: ProbeSizes,
    t: Array,
    key: Array,
    state: ThompsonState,
    searches: ModeSearch,
    seen: Round,
) -> SamplerDraws:
    round, streams = agent.embed(seen), _keys(key, t)
    target = agent.target(state, round)
    full_target = agent.target(state._replace(history=state.history.without_gradient_cache()), round)
    prior = round.model.draw

    def as_in_run(key: Array) -> tuple[Array, Any]:
        return agent.start_sampler(key, state, round)

    def overdispersed(key: Array, search: ModeSearch) -> SamplerState:
        return restart(key, agent.sampler, state.sampler, full_target, prior, search)

    def sample(key: Array, start: Any) -> Draw:
        draw = agent.sampler.sample(key, target, start)[1]
        finite = jnp.all(jnp.isfinite(draw.position))  # else it is reset to the start, as in the run
        return draw._replace(position=jnp.where(finite, draw.position, start.position))

    def trace(key: Array, start: Any) -> Draw:
        return agent.sampler.trace(key, target, start, sizes.num_draws)

    batch: Callable[[Any], Any] = _sequential_map if agent.sequential else jax.vmap
    members = sizes.num_replicas // sizes.num_superchains
    # Replicas and superchains in one batch: they run the same program, which is then compiled once.
    replica_keys, replica_starts = jax.vmap(as_in_run)(jax.random.split(streams.replicas, sizes.num_replicas))
    starts = jax.vmap(overdispersed)(_start_keys(streams, sizes), searches)
    member_keys = jax.random.split(streams.superchains, members * sizes.num_superchains)
    member_starts = jax.tree.map(lambda x: jnp.repeat(x[: sizes.num_superchains], members, axis=0), starts)
    both_starts = jax.tree.map(lambda *parts: jnp.concatenate(parts), replica_starts, member_starts)
    both = batch(sample)(jnp.concatenate([replica_keys, member_keys]), both_starts)
    replicas = jax.tree.map(lambda x: x[: sizes.num_replicas], both)
    superchains = both.position[sizes.num_replicas :].reshape(sizes.num_superchains, members, -1)
    chain_starts = jax.tree.map(lambda x: x[: sizes.num_chains], starts)
    chains = batch(trace)(jax.random.split(streams.chains, sizes.num_chains), chain_starts)
    best: Callable[[Array], Array] = jax.vmap(lambda position: agent.best(position, round))
    norm = gradient_norm(full_target, state.sampler.position, replicas.position)
    return SamplerDraws(replicas, best(replicas.position), superchains, chains, norm)


def _sequential_map(function: Any) -> Any:
    return lambda *arrays: jax.lax.map(lambda row: function(*row), arrays)
