"""How runs are batched: side by side in blocks of fixed width, blocks one after the other, spread over the devices.

A run's result depends on its seed and number alone. The width of a block never changes, and a run always has the same
place in its block, because compiled code may round the last place of a vector differently from the first. So the same
instructions compute a run whether it is alone, one of a hundred, or on another device.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import multihost_utils
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Int, Key, Shaped

from fgtsva_ppl.types import Agent, Shape

LANES = 25  # runs in a block
# A block's matrices should stay in the cache of a core: where those of a run are larger, a block is a single run.
MAX_NUMBERS_SIDE_BY_SIDE = 4000


class Batch(NamedTuple):
    """The runs of a simulation, padded to whole blocks on every device."""

    keys: Key[Array, " padded_runs"]
    requested: slice  # where the requested runs are among the padded ones
    lanes: int
    mesh: Mesh


def batch_runs(
    seed: int, first_run: int, runs: int, *, lanes: int, devices: Sequence[jax.Device] | None
) -> Batch:
    """Pads the runs `first_run`, ..., `first_run + runs - 1` to whole blocks.

    Args:
        seed: The simulation's seed.
        first_run: Number of the first requested run.
        runs: Number of requested runs.
        lanes: Runs in a block; see `lanes_for`.
        devices: Devices to compute on; None for all.
    """
    mesh = Mesh(np.array(devices or jax.devices()), ("runs",))
    lead = first_run % lanes  # padding in front, so that the first run has its usual place in a block
    size = round_up(lead + runs, lanes * mesh.size)
    keys = run_keys(seed, first_run - lead + np.arange(size))
    return Batch(keys, slice(lead, lead + runs), lanes, mesh)


def lanes_for(shape: Shape, agent: Agent) -> int:
    """The number of runs in a block: a function of settings and sizes only, never of the number of runs."""
    numbers = agent.num_parameters(shape) ** 2 + (0 if shape.fixed_actions else shape.arms * shape.dim)
    return 1 if agent.sequential or numbers > MAX_NUMBERS_SIDE_BY_SIDE else LANES


def run_keys(seed: int, runs: Int[np.ndarray, " runs"]) -> Key[Array, " runs"]:
    """One key per run, which depends on the seed and the run's number only."""
    return jax.vmap(partial(jax.random.fold_in, jax.random.key(seed)))(jnp.asarray(runs))


def for_each_run(function: Callable[..., Any], *arrays: Any, lanes: int, mesh: Mesh) -> Any:
    """Applies a function of one run to all runs.

    Args:
        function: Takes and returns pytrees of arrays of a single run.
        *arrays: Pytrees whose arrays have a leading axis of runs, a multiple of `lanes * mesh.size`.
        lanes: Runs that are vectorised together; blocks follow one another in `lax.map`.
        mesh: Devices over which the blocks are spread.

    Returns:
        The function's results with a leading axis of runs.
    """

    def blocks(*local: Any) -> Any:
        if lanes == 1:  # without vmap, under which a branch computes both of its sides
            return jax.lax.map(lambda run: function(*run), local)
        folded = jax.tree.map(lambda x: x.reshape(-1, lanes, *x.shape[1:]), local)
        results = jax.lax.map(lambda block: jax.vmap(function)(*block), folded)
        return jax.tree.map(lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), results)

    split = PartitionSpec("runs")
    sharded = jax.shard_map(blocks, mesh=mesh, in_specs=split, out_specs=split, check_vma=False)
    return sharded(*arrays)


def gather(array: Shaped[Array, "..."]) -> Shaped[np.ndarray, "..."]:
    """The whole of an array, including shards that other hosts hold."""
    if array.is_fully_addressable:
        return np.asarray(array)
    return np.asarray(multihost_utils.process_allgather(array, tiled=True))


def round_up(number: int, multiple: int) -> int:
    """The smallest multiple that is not below the number."""
    return math.ceil(number / multiple) * multiple
