"""Probes of a round after the run: the sampler is run many times from the state that the agent had before the round.

A probe does not affect the run. The round is regenerated from the run's key, and the agent's state is in a `Snapshot`.
"""

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
from fgtsva_ppl.agents.thompson import EmbeddedRound
from fgtsva_ppl.diagnostics.geometry import condition_number, log_ratios, whitened_scores
from fgtsva_ppl.diagnostics.reference import draw_reference
from fgtsva_ppl.diagnostics.restarts import ModeSearch, restart, search_mode
from fgtsva_ppl.diagnostics.samples import Checks, ProbeSizes, Samples, Values
from fgtsva_ppl.simulation import Snapshot, for_each_run, instance_of_round, reveal, run_keys
from fgtsva_ppl.types import Environment, Round
from samplers import Draw, Exact, SamplerState, Target

NUM_SCORES = 256  # replicas whose scores are kept
NUM_PROPOSALS = 256  # draws of the importance check
PROBE_STREAM = 3  # folded into a run's key, beside the streams of the simulation loop


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
    draws = _sampler_draws(agent, keys, states, facts.searches, seen, means, t, **static)

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
            predictions=host_draws.predictions,
            means=np.asarray(means)[:runs],
            sigma=np.asarray(seen.sigma)[:runs],
            condition_number=host_facts.condition_number,
            best_arm=host_facts.best_arm,
            arm_mask=host_facts.arm_mask,
            checks=host_draws.checks,
            values=None
            if host_draws.values is None
            else Values(*host_draws.values, *host_facts.reference_values),
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
    reference_values: tuple[Array, Array] | None  # mean rewards and log-densities, as in `Values`


class SamplerDraws(NamedTuple):
    """What a probe draws with the sampler under test; see `Samples`."""

    replicas: Draw
    actions: Int[Array, " replicas"]
    superchains: Float[Array, "superchains members size"]
    chains: Draw
    gradient_norm: Float[Array, ""]
    predictions: Float[Array, "replicas arms"]
    checks: Checks
    values: tuple[Array, Array, Array] | None  # of replicas, superchains and chains, as in `Values`


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
        instance = instance_of_round(environment, key, t)
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
        state = ThompsonState(history.without_gradient_cache(), SamplerState(position))
        round = agent.represent(state, agent.embed(seen))
        target = agent.target(state, round)
        prior, streams = round.model.draw, _keys(key, t)
        reference, num_divergent = draw_reference(streams.reference, target, prior, sizes.num_reference)
        best: Callable[[Array], Array] = jax.vmap(lambda position: agent.best(position, round))
        search: Callable[[Array], ModeSearch] = jax.vmap(lambda key: search_mode(key, target, prior))
        values = None
        if _compares_values(target, round):
            logdensity = jax.lax.map(jax.vmap(target.logdensity), reference)
            values = (_mean_rewards(round, reference), logdensity)
        return PosteriorFacts(
            reference=reference,
            reference_actions=best(reference.reshape(-1, reference.shape[-1])),
            reference_divergent=num_divergent,
            searches=search(_start_keys(streams, sizes)),
            condition_number=condition_number(target, position),
            best_arm=jnp.argmax(means),
            arm_mask=jnp.ones(means.shape),
            reference_values=values,
        )

    return for_each_run(one_run, keys, histories, positions, seen, means, lanes=1, mesh=mesh)


@partial(jax.jit, static_argnames=("sizes", "mesh"))
def _sampler_draws(
    agent: Thompson,
    keys: Array,
    states: Any,
    searches: ModeSearch,
    seen: Round,
    means: Array,
    t: Array,
    *,
    sizes: ProbeSizes,
    mesh: Mesh,
) -> SamplerDraws:
    one_run = partial(_sampler_draws_of_run, agent, sizes, t)
    return for_each_run(one_run, keys, states, searches, seen, means, lanes=1, mesh=mesh)


def _sampler_draws_of_run(
    agent: Thompson,
    sizes: ProbeSizes,
    t: Array,
    key: Array,
    state: ThompsonState,
    searches: ModeSearch,
    seen: Round,
    means: Array,
) -> SamplerDraws:
    round, streams = agent.represent(state, agent.embed(seen)), _keys(key, t)
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

    batch: Callable[[Any], Any] = _sequential_map if agent.sampler.sequential else jax.vmap
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
    whitened, scores = whitened_scores(full_target, state.sampler.position, replicas.position)
    few = slice(None, None, max(1, sizes.num_replicas // NUM_SCORES))
    predict: Callable[[Array], Array] = jax.vmap(lambda x: round.model.function(x)(round.round.actions))
    predictions = predict(replicas.position)
    ratios = log_ratios(jax.random.fold_in(streams.chains, 0), full_target, replicas.position, NUM_PROPOSALS)
    checks = Checks(whitened[few], scores[few], ratios, predictions[:, 0], means[0])
    norm = jnp.mean(scores**2)
    values = None
    if _compares_values(full_target, round):
        values = predictions, _mean_rewards(round, superchains), _mean_rewards(round, chains.position)
    return SamplerDraws(
        replicas, best(replicas.position), superchains, chains, norm, predictions, checks, values
    )


def _compares_values(target: Target, round: EmbeddedRound) -> bool:
    """Whether mean rewards are compared, not parameters; see `Samples`."""
    return target.exact is None and target.exact_draws is None and round.model.gaussian is None


def _mean_rewards(
    round: EmbeddedRound, positions: Float[Array, "*draws size"]
) -> Float[Array, "*draws arms"]:
    function: Callable[[Array], Array] = jax.vmap(lambda x: round.model.function(x)(round.round.actions))
    return function(positions.reshape(-1, positions.shape[-1])).reshape(*positions.shape[:-1], -1)


def _sequential_map(function: Any) -> Any:
    return lambda *arrays: jax.lax.map(lambda row: function(*row), arrays)
