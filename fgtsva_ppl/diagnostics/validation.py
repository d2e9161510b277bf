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
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Float, Int, Key

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
from fgtsva_ppl.environments import LogisticBandit, MLPBandit, QuadraticBandit, WithNoise
from fgtsva_ppl.environments.noise import SparseNoise
from fgtsva_ppl.posteriors import FGTSVA
from fgtsva_ppl.rewards import GP, MLP, AnyReward, Hierarchical, Logistic, RewardFunction
from fgtsva_ppl.types import Environment, Round
from samplers import MALA, SAMPLERS

DIM, ARMS, HORIZON = 3, 5, 64  # the horizon sets alpha: a noiseless datum has a weight of 64
SIGMA = 0.3


class Sizes(NamedTuple):
    """How much is computed for a row of the table."""

    num_rounds: int = 64  # of data
    num_agents: int = 64
    num_draws: int = 8  # rounds without new data, of which the draws are compared


class Case(NamedTuple):
    """A class of rewards, and where its data come from."""

    reward: AnyReward
    environment: Environment


def own_network(dim: int) -> RewardFunction:
    """A user's own program: a Bayesian network of width 16, of which nothing is declared."""
    weights = numpyro.sample("weights", dist.Normal(0, 1).expand([dim, 16]).to_event(2))
    bias = numpyro.sample("bias", dist.Normal(0, 1).expand([16]).to_event(1))
    output = numpyro.sample("output", dist.Normal(0, 0.25).expand([16]).to_event(1))
    return lambda features: jnp.tanh(features @ weights + bias) @ output


def cases() -> dict[str, Case]:
    """Returns the classes of rewards, by name."""
    network = MLPBandit(DIM, ARMS, SIGMA, width=8)
    return {
        "logistic": Case(Logistic(), LogisticBandit(DIM, ARMS, SIGMA)),
        "gp": Case(GP(features=20), network),
        "hierarchical": Case(Hierarchical(), network),
        "mlp": Case(MLP(width=8), network),
        "mlp, sparse noise": Case(MLP(width=8), WithNoise(network, SparseNoise())),
        "mlp, 3 layers": Case(MLP(width=6, depth=3), network),
        "own network": Case(own_network, QuadraticBandit(DIM, ARMS, SIGMA)),
    }


class Data(NamedTuple):
    """Rounds in which arms were pulled at random, and the round after them."""

    rounds: Round
    arms: Int[Array, " rounds"]
    rewards: Float[Array, " rounds"]
    next_round: Round


@partial(jax.jit, static_argnames="num_rounds")
def draw_data(environment: Environment, key: Key[Array, ""], num_rounds: int) -> Data:
    """Returns data of an environment."""
    start_key, rounds_key, arms_key = jax.random.split(key, 3)
    instance = environment.start(start_key)
    keys = jax.random.split(rounds_key, num_rounds + 1)
    rounds, outcomes = jax.vmap(environment.round, (0, None, 0))(keys, instance, jnp.arange(num_rounds + 1))
    arms = jax.random.randint(arms_key, (num_rounds,), 0, environment.shape.arms)
    rewards = jnp.take_along_axis(outcomes.rewards[:-1], arms[:, None], 1)[:, 0]
    following = Round(rounds.actions[-1], jnp.asarray(SIGMA))
    return Data(jax.tree.map(lambda x: x[:-1], rounds), arms, rewards, following)


class Played(NamedTuple):
    """Agents after the data; every field has a leading axis of agents.

    Attributes:
        values: Mean rewards of the next round's arms under the draws of the rounds after the data.
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
    following = agent.embed(data.next_round)

    def see(state: ThompsonState, row: Any) -> tuple[ThompsonState, Any]:
        key, seen, arm, reward = row
        round = agent.embed(seen)
        state, _, info = agent.act(key, state, round)
        return agent.update(state, round, arm, reward), (info.acceptance_rate, info.num_divergent)

    def draw(state: ThompsonState, key: Array) -> tuple[ThompsonState, Any]:
        state, _, info = agent.act(key, state, following)
        rewards = following.model.function(state.sampler.position)(following.round.actions)
        return state, (rewards, info.num_gradients)

    def one(key: Array) -> tuple[Played, ThompsonState]:
        start_key, data_key, draw_key = jax.random.split(key, 3)
        state = agent.grow(agent.start(start_key, environment_shape), sizes.num_rounds)
        rows = (jax.random.split(data_key, sizes.num_rounds), data.rounds, data.arms, data.rewards)
        state, (acceptance, divergent) = jax.lax.scan(see, state, rows)
        state, (values, gradients) = jax.lax.scan(draw, state, jax.random.split(draw_key, sizes.num_draws))
        half = sizes.num_rounds // 2
        return Played(
            values, jnp.mean(acceptance[half:]), jnp.mean(divergent[half:]), jnp.mean(gradients)
        ), state

    keys = jax.random.split(key, sizes.num_agents)
    return jax.lax.map(one, keys) if agent.sequential else jax.vmap(one)(keys)


class GatedReference(NamedTuple):
    """Mean rewards under reference draws (draws, arms), and why they are no reference: empty if they passed."""

    values: Float[np.ndarray, "draws arms"]
    rejection: str


@jax.jit
def _reference_draws(agent: Thompson, state: ThompsonState, following: Round, key: Array) -> Any:
    round = agent.embed(following)
    target = agent.target(state, round)
    position, num_divergent = draw_reference(key, target, round.model.draw, 4000)

    def quantities(x: Array) -> Array:
        return jnp.append(round.model.function(x)(round.round.actions), target.logdensity(x))

    flat = position.reshape(-1, position.shape[-1])
    return jax.lax.map(quantities, flat).reshape(*position.shape[:-1], -1), num_divergent


def reference(case: Case, data: Data, sizes: Sizes) -> GatedReference:
    """Draws a reference: exact draws, or NUTS from several draws of the prior, through the gate.

    NUTS uses the metric of an agent that saw the data, but none of its positions.
    """
    agent = Thompson(case.reward, FGTSVA(), MALA()).for_horizon(HORIZON)
    shape = case.environment.shape
    _, states = play(agent, data, jax.random.key(2), environment_shape=shape, sizes=sizes)
    state = jax.tree.map(lambda x: x[0], states)
    draws, num_divergent = _reference_draws(agent, state, data.next_round, jax.random.key(3))
    chains = np.asarray(draws)
    rejection = rejection_reason(chains, int(num_divergent)) if chains.ndim == 3 else ""
    return GatedReference(chains[..., :-1].reshape(-1, chains.shape[-1] - 1), rejection)


class Outcome(NamedTuple):
    """How a sampler did on a class of rewards; see the columns of the table."""

    acceptance_rate: float
    divergent: float
    rhat: float
    mean_error: float
    sd_ratio: float
    total_variation: float
    floor: float
    num_gradients: float


def compare(played: Played, reference: GatedReference) -> Outcome:
    """Compares the draws of all agents with a reference."""
    values = np.asarray(played.values)
    acceptance, divergent, gradients = (float(np.mean(x)) for x in played[1:])
    if not np.all(np.isfinite(values)) or reference.rejection:
        unknown = float("nan")
        return Outcome(acceptance, divergent, unknown, unknown, unknown, unknown, unknown, gradients)
    pooled, arms = values.reshape(-1, values.shape[-1]), values.shape[-1]
    draws, exact = principal_coordinates(reference.values[None], pooled[None])
    mean_error, _, sd_ratio = (float(x[0]) for x in moment_errors(draws, exact))
    p, q = (action_probabilities(np.argmax(x, axis=-1), arms) for x in (pooled, reference.values))
    # Draws of one agent depend on each other: at worst there are as many as agents.
    floor = total_variation_floor(q, len(values), len(reference.values))
    return Outcome(
        acceptance,
        divergent,
        float(mixing(values).rhat),
        mean_error,
        sd_ratio,
        float(total_variation(p, q)),
        float(floor),
        gradients,
    )


def validate(names: Iterable[str], case_names: Iterable[str], sizes: Sizes) -> dict[tuple[str, str], str]:
    """Returns a row of the table for every sampler and class of rewards, and prints each as soon as it is known."""
    rows = {}
    for case_name in case_names:
        case = cases()[case_name]
        data = draw_data(case.environment, jax.random.key(1), sizes.num_rounds)
        gated = reference(case, data, sizes)
        print(f"{case_name}: {gated.rejection or 'reference passed the gate'}", file=sys.stderr, flush=True)
        for name in names:
            agent = Thompson(case.reward, FGTSVA(), SAMPLERS.build(name)).for_horizon(HORIZON)
            shape = case.environment.shape
            played, _ = play(agent, data, jax.random.key(4), environment_shape=shape, sizes=sizes)
            rows[case_name, name] = format_row(case_name, name, compare(played, gated))
            print(rows[case_name, name], file=sys.stderr, flush=True)
    return rows


def format_row(case: str, name: str, outcome: Outcome) -> str:
    """Returns an outcome as a row of the table."""

    def number(value: float, digits: int) -> str:
        return "–" if np.isnan(value) else f"{value:.{digits}f}"

    digits = (2, 2, 2, 2, 2, 3, 3, 0)
    columns = [number(value, places) for value, places in zip(outcome, digits, strict=True)]
    return f"| {case} | {name} | " + " | ".join(columns) + " |"


HEADINGS = (
    "rewards", "sampler", "acceptance", "divergent per draw", "R-hat", "mean error", "sd ratio", "action TV",
    "TV floor", "gradients",
)  # fmt: skip
BEGIN, END = "<!-- validation: begin -->", "<!-- validation: end -->"


def update_table(page: Path, rows: dict[tuple[str, str], str]) -> None:
    """Replaces rows of the table between the marks, and keeps the others."""
    head, rest = page.read_text().split(BEGIN)
    table, tail = rest.split(END)
    all_rows = table_rows(table) | rows
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---" * len(HEADINGS) + "|"]
    lines += [
        all_rows[key]
        for case in cases()
        for name in validated_samplers()
        if (key := (case, name)) in all_rows
    ]
    page.write_text("\n".join([head + BEGIN, *lines, END + tail]))


def table_rows(table: str) -> dict[tuple[str, str], str]:
    """Returns the rows of a table, by class of rewards and sampler."""
    split = {line: [column.strip() for column in line.split("|")] for line in table.splitlines()}
    known = cases()
    return {(c[1], c[2]): line for line, c in split.items() if len(c) > 2 and c[1] in known}


def validated_samplers() -> list[str]:
    """Returns the names of all samplers that any reward can be sampled with."""
    excluded = {"exact", *(name for name, cls in SAMPLERS if cls.info.family == "control")}
    return [name for name in SAMPLERS.names() if name not in excluded]


PAGE = Path(__file__).parent.parent / "VALIDATION.md"

if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    chosen = [word for word in sys.argv[1:] if word in SAMPLERS.names()] or validated_samplers()
    chosen_cases = [word for word in sys.argv[1:] if word in cases()] or list(cases())
    for one in chosen_cases:
        update_table(PAGE, validate(chosen, [one], Sizes()))
