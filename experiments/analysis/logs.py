"""The log of a stored cell: actions and propensities are stored, its rounds are regenerated from the seed."""

from dataclasses import replace
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
from experiments.storage.folder import Folder
from fgtsva_ppl import Thompson, simulate
from fgtsva_ppl.evaluation import Log
from fgtsva_ppl.simulation import reveal, run_keys
from fgtsva_ppl.simulation.rounds import evolve, instance_of_round
from fgtsva_ppl.types import Environment
from samplers.errors import InputError

PROPENSITIES = ("propensity", "propensity_error")
MAX_NUMBERS = 2 * 10**7  # of all features together; runs beyond are left out


class CellLog(NamedTuple):
    """A cell's log, the true mean rewards, and the standard errors of its propensities."""

    log: Log
    means: Float[np.ndarray, "rounds arms"]
    propensity_error: Float[np.ndarray, " rounds"]


def has_propensities(data: xr.DataTree) -> bool:
    """Whether some were recorded in the run."""
    return "propensity" in data.dataset and bool(np.isfinite(values(data, "propensity")).any())


def log_of_cell(cell: Cell, data: xr.DataTree) -> CellLog:
    """Regenerates what the agents of a stored cell saw.

    Raises:
        InputError: If single rounds are not stored, or their propensities are not.
    """
    if cell.record_every > 1:
        raise InputError(
            f"cell {cell.name}: record_every={cell.record_every} stored no single rounds to evaluate"
        )
    if not has_propensities(data):
        raise InputError(
            f"cell {cell.name} has no propensities: agents uniform, greedy and epsilon_greedy know them; those of "
            "thompson are estimated with agent.propensity_draws=100 in the run, or with --draws 100 after it"
        )
    shape = cell.environment.shape
    runs = _num_runs(cell)
    names = ("action", "propensity", "propensity_error")
    actions, propensity, error = (values(data, name)[:runs] for name in names)
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
    return CellLog(log, np.asarray(means).reshape(rows, shape.arms), error.reshape(rows).astype(float))


def _num_runs(cell: Cell) -> int:
    """The number of runs whose features fit into memory."""
    shape = cell.environment.shape
    return max(1, min(cell.runs, MAX_NUMBERS // (cell.rounds * shape.arms * shape.dim)))


def with_replayed_propensities(
    cell: Cell, data: xr.DataTree, draws: int, folder: Folder | None = None
) -> xr.DataTree:
    """A cell's rounds with propensities from replicas of every draw, estimated after the run.

    The cell is played again from its seed, which gives the same draws to the last bit, with `draws` replicas of each
    from the state that the agent had. Replicas have random numbers of their own and change nothing.

    Args:
        cell: A cell of a Thompson agent.
        data: Its rounds.
        draws: Replicas per round.
        folder: Where the propensities are stored, and read if they are.

    Raises:
        InputError: If the agent draws from no posterior, or the second play differs from the stored one.
    """
    if not isinstance(cell.agent, Thompson) or cell.exploration is not None:
        raise InputError(
            f"cell {cell.name}: only the draws of agent thompson, without exploration, have replicas"
        )
    if cell.record_every > 1:
        raise InputError(
            f"cell {cell.name}: record_every={cell.record_every} stored no single rounds to replay"
        )
    kind = f"propensities-{draws}"
    stored = folder.read(cell, kind) if folder is not None else None
    if stored is None:
        runs = _num_runs(cell)
        again = simulate(
            cell.environment,
            replace(cell.agent, propensity_draws=draws),
            rounds=cell.rounds,
            runs=runs,
            seed=cell.seed,
        )
        if not np.array_equal(again.action, values(data, "action")[:runs]):
            raise InputError(
                f"cell {cell.name}: played again, it chooses other arms than the stored ones, so that its "
                "propensities cannot be estimated; run it again with this version"
            )
        arrays = {name: (("run", "round"), getattr(again, name)) for name in PROPENSITIES}
        stored = xr.DataTree(xr.Dataset(arrays))
        if folder is not None:
            folder.write(cell, stored, kind)
    added = data.to_dataset().isel(run=slice(stored.sizes["run"]))
    return xr.DataTree(
        added.assign({name: (("run", "round"), values(stored, name)) for name in PROPENSITIES})
    )


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
