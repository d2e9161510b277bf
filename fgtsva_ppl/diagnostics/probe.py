"""A round looked into afterwards: the sampler run again and again from the state that the run had before it.

Nothing here touches the run itself. What a run met in a round follows from its key; what its agent knew was kept.
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

from fgtsva_ppl.agents import Thompson, ThompsonState
from fgtsva_ppl.simulation import ENVIRONMENT, Snapshot, for_each_run, reveal, run_keys
from fgtsva_ppl.types import Environment, Round
from samplers import NUTS, Dense, Draw, Exact, Sampler, SamplerState, Target
from samplers.mode import find_mode

DIAGNOSIS = 3  # stream of a run's randomness, beside those of the loop
REFERENCE_CHAINS, REFERENCE_DRAWS = 4, 1000  # where there is no oracle
CLIMB = 20  # steps from a draw of the prior to a mode, to start from


class Sizes(NamedTuple):
    """How much is drawn for a diagnosis."""

    replicas: int = 512  # of the round's own draw, from its own warm start
    reference: int = 2048  # exact draws
    superchains: int = 8  # starting points for nested R-hat, with `replicas / superchains` chains each
    chains: int = 4  # for mixing
    draws: int = 250  # of each chain


class Samples(NamedTuple):
    """What was drawn for one round of one run (or, with a leading axis, of several)."""

    replicas: Draw  # (replicas,)
    actions: Array  # (replicas,)
    reference: (
        Array  # (reference, size), or (chains, draws, size) where it is a chain that must pass the gate
    )
    reference_actions: Array
    reference_diverged: Array
    nested: Array  # (superchains, chains each, size)
    chains: Draw  # (chains, draws)
    condition: Array  # largest over smallest eigenvalue of the precision
    best: Array  # the arm that is best in truth
    arms: Array  # number of arms, as a mask of ones


def probe(
    environment: Environment,
    agent: Thompson,
    snapshot: Snapshot,
    *,
    runs: int,
    seed: int,
    sizes: Sizes | None = None,
) -> Samples:
    """Draws everything that the diagnostics of a round need, for the first `runs` runs of a simulation."""
    return probing(environment, agent, snapshot, runs=runs, seed=seed, sizes=sizes)()


def probing(
    environment: Environment,
    agent: Thompson,
    snapshot: Snapshot,
    *,
    runs: int,
    seed: int,
    sizes: Sizes | None = None,
    devices: Sequence[jax.Device] | None = None,
) -> Callable[[], Samples]:
    """Begins to probe; what it returns waits for the end. In between there is time for something else."""
    mesh = Mesh(np.array(devices or jax.devices()), ("runs",))
    padded = -(-runs // mesh.size) * mesh.size
    chosen = np.minimum(np.arange(padded), runs - 1)
    states = jax.tree.map(lambda x: x[chosen], snapshot.states)
    keys, t = run_keys(seed, chosen), jnp.asarray(snapshot.round - 1)
    seen, means = _revealed(environment, keys, t)
    given = {"sizes": sizes or Sizes(), "mesh": mesh}
    anyone = replace(agent, sampler=Exact())
    known = _known(anyone, keys, states.history, states.sampler.position, seen, means, t, **given)
    drawn = _probe(agent, keys, states, known.climbs, seen, t, **given)
    return lambda: jax.tree.map(lambda x: np.asarray(x)[:runs], _samples(known, drawn))


@jax.jit
def _revealed(environment: Environment, keys: Array, t: Array) -> tuple[Round, Array]:
    """What the runs met in a round. Apart, so that the costly program does not depend on the environment."""

    def one(key: Array) -> tuple[Round, Array]:
        instance = environment.start(jax.random.fold_in(key, ENVIRONMENT))
        seen, outcome = reveal(environment, key, instance, t)
        return seen, outcome.means

    return jax.vmap(one)(keys)


class Climb(NamedTuple):
    """The way to a mode."""

    foot: Array  # a draw from the prior
    top: Array


class Known(NamedTuple):
    """What is known of a round whoever samples it."""

    reference: Array
    reference_actions: Array
    reference_diverged: Array
    climbs: Climb  # one for each start
    condition: Array
    best: Array
    arms: Array


class Drawn(NamedTuple):
    """What a sampler drew."""

    replicas: Draw
    actions: Array
    nested: Array
    chains: Draw


def _samples(known: Known, drawn: Drawn) -> Samples:
    return Samples(
        drawn.replicas,
        drawn.actions,
        known.reference,
        known.reference_actions,
        known.reference_diverged,
        drawn.nested,
        drawn.chains,
        known.condition,
        known.best,
        known.arms,
    )


class _Keys(NamedTuple):
    """A round's own randomness."""

    as_used: Array
    truth: Array
    apart: Array
    spread: Array
    mixing: Array


def _keys(key: Array, t: Array) -> _Keys:
    own = jax.random.fold_in(jax.random.fold_in(key, DIAGNOSIS), t)
    as_used, truth, spread, mixing = jax.random.split(own, 4)
    apart, spread = jax.random.split(spread)
    return _Keys(as_used, truth, apart, spread, mixing)


@partial(jax.jit, static_argnames=("sizes", "mesh"))
def _known(
    agent: Thompson,
    keys: Array,
    histories: Any,
    positions: Array,
    seen: Round,
    means: Array,
    t: Array,
    *,
    sizes: Sizes,
    mesh: Mesh,
) -> Known:
    """One program for all samplers of a posterior."""

    def one(key: Array, history: Any, position: Array, seen: Round, means: Array) -> Known:
        round = agent.embed(seen)
        target = agent.target(ThompsonState(history.without_gradient_cache(), SamplerState(position)), round)
        prior, own = round.model.draw, _keys(key, t)
        reference, diverged = _reference(own.truth, target, prior, sizes)
        best: Callable[[Array], Array] = jax.vmap(lambda position: agent.best(position, round))
        climbs: Callable[[Array], Climb] = jax.vmap(lambda key: climb(key, target, prior))
        return Known(
            reference,
            best(reference.reshape(-1, reference.shape[-1])),
            diverged,
            climbs(_starts(own, sizes)),
            _condition(target, position),
            jnp.argmax(means),
            jnp.ones(means.shape),
        )

    return for_each_run(one, keys, histories, positions, seen, means, lanes=1, mesh=mesh)


def _starts(own: _Keys, sizes: Sizes) -> Array:
    return jax.random.split(own.apart, max(sizes.superchains, sizes.chains))


@partial(jax.jit, static_argnames=("sizes", "mesh"))
def _probe(
    agent: Thompson,
    keys: Array,
    states: Any,
    climbs: Climb,
    seen: Round,
    t: Array,
    *,
    sizes: Sizes,
    mesh: Mesh,
) -> Drawn:
    one = partial(_one, agent, sizes, t)
    return for_each_run(one, keys, states, climbs, seen, lanes=1, mesh=mesh)


def _one(
    agent: Thompson, sizes: Sizes, t: Array, key: Array, state: ThompsonState, climbs: Climb, seen: Round
) -> Drawn:
    round = agent.embed(seen)
    target, own = agent.target(state, round), _keys(key, t)
    known = agent.target(state._replace(history=state.history.without_gradient_cache()), round)

    def begin(key: Array) -> tuple[Array, Any]:
        return agent.start_sampler(key, state, round)

    def sample(key: Array, begin: Any) -> Draw:
        draw = agent.sampler.sample(key, target, begin)[1]
        sound = jnp.all(jnp.isfinite(draw.position))  # else it is put back, as in the run
        return draw._replace(position=jnp.where(sound, draw.position, begin.position))

    def trace(key: Array, begin: Any) -> Draw:
        return agent.sampler.trace(key, target, begin, sizes.draws)

    def begin_elsewhere(key: Array, climb: Climb) -> SamplerState:
        return elsewhere(key, agent.sampler, state.sampler, known, prior, climb)

    many: Callable[[Any], Any] = _one_by_one if agent.sequential else jax.vmap
    prior = round.model.draw
    each = sizes.replicas // sizes.superchains
    # from the round's own start and from the spread ones in one go: it is the same program
    own_keys, own_begin = jax.vmap(begin)(jax.random.split(own.as_used, sizes.replicas))
    starts = jax.vmap(begin_elsewhere)(_starts(own, sizes), climbs)
    spread_keys = jax.random.split(own.spread, each * sizes.superchains)
    repeated = jax.tree.map(lambda x: jnp.repeat(x[: sizes.superchains], each, axis=0), starts)
    both_begin = jax.tree.map(_joined, own_begin, repeated)
    both = many(sample)(jnp.concatenate([own_keys, spread_keys]), both_begin)
    replicas, nested = (
        jax.tree.map(lambda x, at=at: x[at], both)
        for at in (slice(sizes.replicas), slice(sizes.replicas, None))
    )
    first = jax.tree.map(lambda x: x[: sizes.chains], starts)
    chains = many(trace)(jax.random.split(own.mixing, sizes.chains), first)
    best: Callable[[Array], Array] = jax.vmap(lambda position: agent.best(position, round))
    spread = nested.position.reshape(sizes.superchains, each, -1)
    return Drawn(replicas, best(replicas.position), spread, chains)


def elsewhere(
    key: Array,
    sampler: Sampler,
    state: SamplerState,
    target: Target,
    prior: Callable[[Array], Array],
    climb: Climb,
) -> SamplerState:
    """The sampler begun anew, away from where it stands, as R-hat wants it; a Markov chain keeps what it has learnt."""
    how = jax.random.split(key, 3)[2]  # the other two are the climb's and the overdispersion's
    return sampler.restart(how, state, overdispersed(key, target, prior, climb))


def climb(key: Array, target: Target, prior: Callable[[Array], Array]) -> Climb:
    """From a draw of the prior to a mode, so that several keys may find several modes."""
    foot = prior(jax.random.split(key, 3)[0])
    return Climb(foot, foot if target.precision is None else find_mode(target, foot, CLIMB))


def overdispersed(
    key: Array, target: Target, prior: Callable[[Array], Array], climb: Climb
) -> Callable[[Array], Array]:
    """Starts with the law N(mode, 4 / curvature), for which no exact draws are needed.

    Three quarters of the variance are common to all starts of one key, as to the particles of a population. Without a
    curvature: the prior.
    """
    if target.precision is None:
        return prior
    where = Dense().apply(target, climb.top)
    going = jax.random.split(key, 3)[1]
    middle = where.from_target(climb.top) + jnp.sqrt(3.0) * jax.random.normal(
        going, climb.top.shape, climb.top.dtype
    )

    def start(key: Array) -> Array:
        point = where.to_target(middle + jax.random.normal(key, climb.top.shape, climb.top.dtype))
        return jnp.where(jnp.all(jnp.isfinite(point)), point, climb.foot)

    return start


def _condition(target: Target, position: Array) -> Array:
    if target.precision is None:
        return jnp.asarray(jnp.nan)
    eigenvalues = jnp.linalg.eigvalsh(target.precision(position))
    return eigenvalues[-1] / eigenvalues[0]


def _joined(ours: Array, theirs: Array) -> Array:
    return jnp.concatenate([ours, theirs])


def _one_by_one(function: Any) -> Any:
    return lambda *arrays: jax.lax.map(lambda row: function(*row), arrays)


def _reference(
    key: Array, target: Target, prior: Callable[[Array], Array], sizes: Sizes
) -> tuple[Array, Array]:
    """Exact draws, or where there are none long NUTS chains that have to pass a gate."""
    if target.exact_draws is not None:
        return target.exact_draws(key, sizes.reference), jnp.zeros((), int)
    if target.exact is not None:
        return jax.vmap(target.exact)(jax.random.split(key, sizes.reference)), jnp.zeros((), int)
    nuts = NUTS()
    thin = 3

    def chain(key: Array) -> tuple[Array, Array]:
        start_key, key = jax.random.split(key)
        start = nuts.init(
            start_key, prior
        )  # each its own: chains from one point would agree on one mode of several
        draws = nuts.trace(key, target, start, REFERENCE_DRAWS * thin + REFERENCE_DRAWS)
        return draws.position[REFERENCE_DRAWS::thin], jnp.sum(draws.num_divergent[REFERENCE_DRAWS:])

    positions, diverged = jax.lax.map(chain, jax.random.split(key, REFERENCE_CHAINS))
    return positions, jnp.sum(diverged)
