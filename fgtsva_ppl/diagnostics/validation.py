"""Every sampler with its default settings on every class of rewards, against gated references.

    python -m fgtsva_ppl.diagnostics.validation [SAMPLER ...] [REWARDS ...]    # all, if none is named

writes fgtsva_ppl/VALIDATION.md. For each class of rewards there are data of a few rounds, in which arms were pulled at
random. Independent agents, each started at its own draw from the prior, see the same data round by round and sample as
they would in a run. Their draws of the next rounds, without new data, are compared with the reference: mean rewards of
the arms, because parameters may have symmetries, and how often each arm is the best.
"""

import sys
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Key

from fgtsva_ppl.agents import Thompson, ThompsonState
from fgtsva_ppl.diagnostics.accuracy import (
    action_probabilities,
    moment_errors,
    principal_coordinates,
    total_variation,
    total_variation_floor,
)
from fgtsva_ppl.diagnostics.mixing import mixing
from fgtsva_ppl.diagnostics.reference import draw_reference, rejection_reason
from fgtsva_ppl.diagnostics.tempered_smc import draw_tempered
from fgtsva_ppl.diagnostics.validation_cases import ARMS, MAX_SIZE, Case, Data, cases, draw_data
from fgtsva_ppl.diagnostics.validation_page import (
    PAGE,
    Outcome,
    format_row,
    update_references,
    update_table,
    validated_samplers,
)
from fgtsva_ppl.posteriors import FGTSVA
from fgtsva_ppl.rewards import FlatModel
from samplers import MALA, SAMPLERS


class Sizes(NamedTuple):
    """How much is computed for a row of the table."""

    num_rounds: int = 64  # of data
    num_agents: int = 64
    num_draws: int = 8  # rounds without new data, of which the draws are compared


class Played(NamedTuple):
    """Agents after the data; every field has a leading axis of agents.

    Attributes:
        values: Mean rewards of the compared arms under the draws of the rounds after the data.
        acceptance_rate: Mean over the rounds in the second half of the data.
        divergent: Divergent transitions per draw in the same rounds.
        num_gradients: Gradients of a draw after the data, the metric's included.
    """

    values: Float[Array, "*agents draws arms"]
    acceptance_rate: Float[Array, "*agents"]
    divergent: Float[Array, "*agents"]
    num_gradients: Float[Array, "*agents"]


@partial(jax.jit, static_argnames=("environment_shape", "sizes"))
def play(
    agent: Thompson, data: Data, key: Key[Array, ""], *, environment_shape: Any, sizes: Sizes
) -> tuple[Played, ThompsonState]:
    """Returns what agents draw that see the same data, each from its own start; and their states."""
    num_rounds, total = sizes.num_rounds, sizes.num_rounds + sizes.num_draws
    # One loop, whose last rounds add no datum: a second one would have to be compiled too.
    rounds, arms, rewards = jax.tree.map(
        lambda x, last: jnp.concatenate([x, jnp.broadcast_to(last, (sizes.num_draws, *x.shape[1:]))]),
        (data.rounds, data.arms, data.rewards),
        (data.next_round, jnp.zeros_like(data.arms[0]), jnp.zeros(())),
    )

    def see(state: ThompsonState, row: Any) -> tuple[ThompsonState, Any]:
        key, seen, arm, reward, is_datum = row
        round = agent.embed(seen)
        state, _, info = agent.act(key, state, round)
        updated = agent.update(state, round, arm, reward)
        values = _mean_rewards(round.model, data, state.sampler.position)
        measured = values, info.acceptance_rate, info.num_divergent, info.num_gradients
        return jax.tree.map(lambda new, old: jnp.where(is_datum, new, old), updated, state), measured

    def one(key: Array) -> tuple[Played, ThompsonState]:
        start_key, key = jax.random.split(key)
        state = agent.grow(agent.start(start_key, environment_shape), num_rounds + 1)
        rows = jax.random.split(key, total), rounds, arms, rewards, jnp.arange(total) < num_rounds
        state, (values, acceptance, divergent, gradients) = jax.lax.scan(see, state, rows)
        half = slice(num_rounds // 2, num_rounds)
        rates = jnp.mean(acceptance[half]), jnp.mean(divergent[half])
        return Played(values[num_rounds:], *rates, jnp.mean(gradients[num_rounds:])), state

    keys = jax.random.split(key, sizes.num_agents)
    return jax.lax.map(one, keys) if agent.sequential else jax.vmap(one)(keys)


def _mean_rewards(model: FlatModel, data: Data, position: Array) -> Array:
    """Of the compared arms, in one row."""
    function = model.function(position)
    return jax.vmap(lambda actions: function(model.embed(actions)))(data.compared).ravel()


class GatedReference(NamedTuple):
    """Mean rewards under reference draws, and how they were obtained.

    Attributes:
        values: Of each draw, the mean rewards of the compared arms.
        rejection: Why there is no reference; empty if one passed the gate.
        row: The reference's row of the table of references.
    """

    values: Float[np.ndarray, "draws values"]
    rejection: str
    row: str = ""


@partial(jax.jit, static_argnames="tempered")
def _reference_draws(
    agent: Thompson, state: ThompsonState, data: Data, key: Array, *, tempered: bool
) -> tuple[Array, Array]:
    """Mean rewards and log-density under exact draws, or by chains; and the number of divergences."""
    round = agent.embed(data.next_round)
    target = agent.target(state, round)
    if tempered:
        position, num_divergent = draw_tempered(key, target, round.model).position, jnp.zeros((), int)
    else:
        position, num_divergent = draw_reference(key, target, round.model.draw, 4000)

    def quantities(x: Array) -> Array:
        return jnp.append(_mean_rewards(round.model, data, x), target.logdensity(x))

    flat = position.reshape(-1, position.shape[-1])
    return jax.lax.map(quantities, flat).reshape(*position.shape[:-1], -1), num_divergent


def reference(name: str, case: Case, data: Data, sizes: Sizes) -> GatedReference:
    """Draws a reference: exact draws; NUTS from several draws of the prior; or tempered SMC if that alone passes.

    NUTS uses the metric of an agent that saw the data, but none of its positions. Tempered SMC starts at the prior
    and uses nothing of the agent. Where both pass the gate, the row says how far they are apart.
    """
    agent = Thompson(case.reward, FGTSVA(), MALA()).for_horizon(case.horizon)
    shape = case.environment.shape
    _, states = play(agent, data, jax.random.key(2), environment_shape=shape, sizes=sizes)
    state = jax.tree.map(lambda x: x[0], states)

    def draws(tempered: bool) -> GatedReference:
        raw, num_divergent = _reference_draws(agent, state, data, jax.random.key(3), tempered=tempered)
        chains = np.asarray(raw)
        rejection = rejection_reason(chains, int(num_divergent)) if chains.ndim == 3 else ""
        return GatedReference(chains[..., :-1].reshape(-1, chains.shape[-1] - 1), rejection)

    model = agent.embed(data.next_round).model
    if model.gaussian is not None:
        return draws(False)._replace(row=f"| {name} | exact draws | – | – | – | – |")
    nuts = draws(False)
    first = nuts.rejection or "passed"
    if model.size > MAX_SIZE:
        return nuts._replace(row=f"| {name} | {first} | not run: {model.size} parameters | – | – | – |")
    smc = draws(True)
    second, chosen = smc.rejection or "passed", smc if nuts.rejection else nuts
    if chosen.rejection:
        both = f"NUTS: {nuts.rejection}; SMC: {smc.rejection}"
        return chosen._replace(rejection=both, row=f"| {name} | {first} | {second} | – | – | – |")
    if nuts.rejection or smc.rejection:
        return chosen._replace(row=f"| {name} | {first} | {second} | – | – | – |")
    mean_error, sd_ratio, tv, floor = distances(smc.values, nuts.values, len(smc.values))
    row = f"| {name} | {first} | {second} | {mean_error:.2f} | {sd_ratio:.2f} | {tv:.3f} ({floor:.3f}) |"
    return chosen._replace(row=row)


def distances(
    draws: Float[np.ndarray, "draws values"], exact: Float[np.ndarray, "reference_draws values"], number: int
) -> tuple[float, float, float, float]:
    """How far draws are from a reference.

    Args:
        draws: Mean rewards of the compared arms.
        exact: The same under the reference.
        number: Of independent draws that the floor is for.

    Returns:
        Error of the mean and ratio of standard deviations in principal directions; total variation between the
        distributions of the best arm, the mean over the sets of arms; and the floor of the latter.
    """
    coordinates = principal_coordinates(exact[None], draws[None])
    mean_error, _, sd_ratio = (float(x[0]) for x in moment_errors(*coordinates))
    p, q = (
        action_probabilities(np.argmax(np.moveaxis(x.reshape(len(x), -1, ARMS), 1, 0), axis=-1), ARMS)
        for x in (draws, exact)
    )
    floor = total_variation_floor(q, number, len(exact))
    return mean_error, sd_ratio, float(np.mean(total_variation(p, q))), float(np.mean(floor))


def compare(played: Played, reference: GatedReference) -> Outcome:
    """Compares the draws of all agents with a reference."""
    values = np.asarray(played.values)
    acceptance, divergent, gradients = (float(np.mean(x)) for x in played[1:])
    if not np.all(np.isfinite(values)) or reference.rejection:
        unknown = float("nan")
        return Outcome(acceptance, divergent, unknown, unknown, unknown, unknown, unknown, gradients)
    # Draws of one agent depend on each other: at worst there are as many as agents.
    apart = distances(values.reshape(-1, values.shape[-1]), reference.values, len(values))
    return Outcome(acceptance, divergent, float(mixing(values).rhat), *apart, gradients)


def validate(names: Iterable[str], case_name: str, sizes: Sizes) -> tuple[str, dict[tuple[str, str], str]]:
    """Returns the row of a class of rewards in the table of references, and a row for each sampler on it."""
    rows = {}
    case = cases()[case_name]
    data = draw_data(case.environment, jax.random.key(1), sizes.num_rounds)
    gated = reference(case_name, case, data, sizes)
    print(gated.row, file=sys.stderr, flush=True)
    for name in names:
        agent = Thompson(case.reward, FGTSVA(), SAMPLERS.build(name)).for_horizon(case.horizon)
        shape = case.environment.shape
        played, _ = play(agent, data, jax.random.key(4), environment_shape=shape, sizes=sizes)
        rows[case_name, name] = format_row(case_name, name, compare(played, gated))
        print(rows[case_name, name], file=sys.stderr, flush=True)
    return gated.row, rows


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    chosen = [word for word in sys.argv[1:] if word in SAMPLERS.names()] or validated_samplers()
    chosen_cases = [word for word in sys.argv[1:] if word in cases()] or list(cases())
    for one in chosen_cases:
        reference_row, sampler_rows = validate(chosen, one, Sizes())
        update_references(PAGE, {one: reference_row})
        update_table(PAGE, sampler_rows)
