"""Whether chains stay in the bulk of their posteriors over a long run, with default settings.

    python -m fgtsva_ppl.diagnostics.long_runs [SAMPLER ...] [REWARDS ...]    # all, if none is named

writes the last table of fgtsva_ppl/VALIDATION.md. One chain for each noise model sees 2000 rounds in which arms were
pulled at random, and samples in each. With a horizon of 2000 a noiseless datum of sparse noise has a weight of 2000.
"""

import itertools
import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Key

from fgtsva_ppl.agents import Thompson, ThompsonState
from fgtsva_ppl.diagnostics.geometry import gradient_norm
from fgtsva_ppl.diagnostics.validation_cases import SIGMA, Data, cases, draw_data
from fgtsva_ppl.diagnostics.validation_page import PAGE, update_long_runs
from fgtsva_ppl.environments import WithNoise
from fgtsva_ppl.environments.noise import ConstantNoise, DenseNoise, Noise, SparseNoise
from fgtsva_ppl.posteriors import FGTSVA
from samplers import SAMPLERS

NUM_ROUNDS = 2000
NOISES: dict[str, Noise] = {
    "revealed": DenseNoise(SIGMA),  # another sigma in every round
    "constant": ConstantNoise(SIGMA),
    "sparse": SparseNoise(),
}
BLOCKS = (0, 10, 100, 500, 1000, 2000)  # rounds between which means are taken
REWARDS = ("logistic", "hierarchical", "own network", "mlp 8", "mlp 20", "mlp 50", "mlp 3 layers")
NAMES = ("mala", "hmc", "nuts", "barker", "mclmc", "adjusted_mclmc", "dynamic_hmc", "ghmc")


@partial(jax.jit, static_argnames=("environment_shape",))
def follow(agent: Thompson, data: Data, key: Key[Array, ""], *, environment_shape: Any) -> tuple[Array, ...]:
    """Acceptance rate, divergences, repeated positions and squared whitened gradient over the dimension, by round."""

    def see(state: ThompsonState, row: Any) -> tuple[ThompsonState, tuple[Array, ...]]:
        key, seen, arm, reward = row
        round = agent.embed(seen)
        state, _, info = agent.act(key, state, round)
        position = state.sampler.position
        norm = gradient_norm(agent.target(state, round), position, position[None])
        measured = info.acceptance_rate, info.num_divergent, info.num_repeats, norm
        return agent.update(state, round, arm, reward), tuple(jnp.asarray(x, float) for x in measured)

    def one(key: Array, data: Data) -> tuple[Array, ...]:
        start_key, key = jax.random.split(key)
        num_rounds = data.arms.size
        state = agent.grow(agent.start(start_key, environment_shape), num_rounds)
        rows = jax.random.split(key, num_rounds), data.rounds, data.arms, data.rewards
        return jax.lax.scan(see, state, rows)[1]

    keys = jax.random.split(key, len(data.arms))
    return jax.lax.map(lambda row: one(*row), (keys, data))  # NUTS trees and far starts differ between chains


def rows_of(case_name: str, name: str, num_rounds: int = NUM_ROUNDS) -> dict[tuple[str, str, str], str]:
    """Returns a row of the table for each noise model."""
    case = cases()[case_name]
    environment = case.environment
    drawn = [
        draw_data(WithNoise(environment, noise), jax.random.key(1), num_rounds) for noise in NOISES.values()
    ]
    data = jax.tree.map(lambda *leaves: jnp.stack(leaves), *drawn)
    agent = Thompson(case.reward, FGTSVA(), SAMPLERS.build(name)).for_horizon(NUM_ROUNDS)
    measured = follow(agent, data, jax.random.key(5), environment_shape=environment.shape)
    acceptance, divergent, repeats, norms = map(np.asarray, measured)
    rows = {}
    for index, noise in enumerate(NOISES):
        blocks = [slice(*edges) for edges in itertools.pairwise(BLOCKS) if edges[0] < num_rounds]
        accepted, bulk = (
            " / ".join(
                "–" if np.isnan(x) else f"{x:.2f}" for x in (values[index, block].mean() for block in blocks)
            )
            for values in (acceptance, norms)
        )
        transitions = num_rounds * agent.sampler.num_transitions
        columns = (
            f"{accepted} | {bulk} | {divergent[index].sum() / transitions:.4f} | {repeats[index].mean():.3f}"
        )
        rows[case_name, name, noise] = f"| {case_name} | {name} | {noise} | {columns} |"
    return rows


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    chosen = [word for word in sys.argv[1:] if word in SAMPLERS.names()] or NAMES
    chosen_cases = [word for word in sys.argv[1:] if word in cases()] or REWARDS
    for one in chosen_cases:
        for sampler in chosen:
            rows = rows_of(one, sampler)
            print(*rows.values(), sep="\n", file=sys.stderr, flush=True)
            update_long_runs(PAGE, rows)
