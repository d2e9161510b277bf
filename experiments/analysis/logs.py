"""The log of a stored cell: actions and propensities are stored, its rounds are regenerated from the seed."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from jaxtyping import Float

from experiments.config.cell import Cell
from experiments.storage.codecs import values
from fgtsva_ppl.evaluation import Log
from fgtsva_ppl.simulation import reveal, run_keys
from fgtsva_ppl.simulation.rounds import evolve, instance_of_round
from fgtsva_ppl.types import Environment
from samplers.errors import InputError

MAX_NUMBERS = 2 * 10**7  # of all features together; runs beyond are left out


class CellLog(NamedTuple):
    """A cell's log, and the true mean rewards."""

    log: Log
    means: Float[np.ndarray, "rounds arms"]


def log_of_cell(cell: Cell, data: xr.DataTree) -> CellLog:
    """Regenerates what the agents of a stored cell saw.

    Raises:
        InputError: If single rounds are not stored, or their propensities are not.
    """
    if cell.record_every > 1:
        raise InputError(
            f"cell {cell.name}: record_every={cell.record_every} stored no single rounds to evaluate"
        )
    if "propensity" not in data.dataset or not np.isfinite(values(data, "propensity")).any():
        raise InputError(
            f"cell {cell.name} has no propensities: agents uniform, greedy and epsilon_greedy know them, and "
            "agent.propensity_draws=100 estimates those of thompson"
        )
    shape = cell.environment.shape
    runs = max(1, min(cell.runs, MAX_NUMBERS // (cell.rounds * shape.arms * shape.dim)))
    actions, propensity = (values(data, name)[:runs] for name in ("action", "propensity"))
    features, means, rewards = _regenerate(
        cell.environment, run_keys(cell.seed, np.arange(runs)), jnp.asarray(actions), rounds=cell.rounds
    )
    rows = runs * cell.rounds
    log = Log(
        actions.reshape(rows).astype(int),
        np.asarray(rewards).reshape(rows),
        propensity.reshape(rows).astype(float),
        np.asarray(features).reshape(rows, shape.arms, shape.dim),
        np.repeat(np.arange(runs), cell.rounds),
    )
    return CellLog(log, np.asarray(means).reshape(rows, shape.arms))


@partial(jax.jit, static_argnames="rounds")
def _regenerate(
    environment: Environment, keys: Array, actions: Array, *, rounds: int
) -> tuple[Array, Array, Array]:
    """Features, mean rewards, and the reward of the played arm, in every round of every run."""

    def one_run(run: tuple[Array, Array]) -> tuple[Array, Array, Array]:
        key, played = run

        def step(instance: object, row: tuple[Array, Array]) -> tuple[object, tuple[Array, Array, Array]]:
            t, action = row
            seen, outcome = reveal(environment, key, instance, t)
            return evolve(environment, key, instance, t), (
                seen.actions,
                outcome.means,
                outcome.rewards[action],
            )

        first = instance_of_round(environment, key, jnp.asarray(0))
        return jax.lax.scan(step, first, (jnp.arange(rounds), played))[1]

    return jax.lax.map(one_run, (keys, actions))
