"""A stored sequence of posteriors: netCDF with all arrays, JSON with the settings; and the loader."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from jaxtyping import Float, Int, Shaped

from experiments.storage.errors import DamagedError
from experiments.storage.files import read_tree, write_atomically, write_tree
from fgtsva_ppl.posteriors import POSTERIORS, History, Posterior, posterior_target
from fgtsva_ppl.posteriors.density import posterior_program
from fgtsva_ppl.posteriors.history import ReplayBuffer, SufficientStatistics
from fgtsva_ppl.rewards import REWARDS, FlatModel, flat_model
from fgtsva_ppl.types import Round
from samplers import InputError, Target

DIMS = {
    "round": ("step",),
    "actions": ("step", "arm", "feature"),
    "sigma": ("step",),
    "total_variance": ("step",),
    "num_rows": ("step",),
    "bonus_scale": ("step",),
    "gram": ("step", "column", "column_"),
    "moment": ("step", "column"),
    "square": ("step",),
    "features": ("row", "column"),
    "rewards": ("row",),
    "weights": ("row",),
    "metric": ("step", "parameter", "parameter_"),
    "check_positions": ("step", "check", "parameter"),
    "check_logdensity": ("step", "check"),
    "check_gradient": ("step", "check", "parameter"),
    "reference": ("step", "draw", "parameter"),
}
TARGET_ARRAYS = ("actions", "sigma", "total_variance", "num_rows", "gram", "moment", "square", "metric")

type Arrays = dict[str, Any]


@dataclass(frozen=True, eq=False)
class StoredSequence:
    """Posteriors of several rounds of one run.

    Attributes:
        name: Of the sequence.
        arrays: Everything that the densities depend on, gradient check values, and reference draws; see `DIMS`.
        facts: The settings by which the NumPyro program is rebuilt, and what is known of the references.
    """

    name: str
    arrays: dict[str, Shaped[np.ndarray, "..."]]
    facts: dict[str, Any]

    def __len__(self) -> int:
        return len(self.arrays["round"])

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.model.size

    @property
    def reference(self) -> Float[np.ndarray, "steps draws size"]:
        """Reference draws of every posterior."""
        return self.arrays["reference"]

    @cached_property
    def posterior(self) -> Posterior:
        """The member of the family, with its settings."""
        name, settings = self.facts["posterior"]
        return POSTERIORS.build(name, settings)

    @cached_property
    def model(self) -> FlatModel:
        """The reward's program."""
        name, settings = self.facts["reward"]
        _, arms, dim = self.arrays["actions"].shape
        return flat_model(REWARDS.build(name, settings), dim, arms)

    def at(self, step: int) -> Arrays:
        """The arrays that the density of one step depends on."""
        return {name: jnp.asarray(self.arrays[name][step]) for name in TARGET_ARRAYS if name in self.arrays}

    @property
    def rows(self) -> Arrays:
        """The data of all steps, where they are stored row by row; else empty."""
        names = ("features", "rewards", "weights")
        return {name: jnp.asarray(self.arrays[name]) for name in names if name in self.arrays}

    def target_from(self, arrays: Arrays, rows: Arrays) -> Target:
        """The posterior of one step from its arrays, which may be traced."""
        history, round = self.history(arrays, rows)
        target = posterior_target(self.posterior, self.model, history, round)
        if target.metric is None:
            return target
        return target._replace(metric=lambda: arrays["metric"])

    def target(self, step: int = -1) -> Target:
        """The posterior of one step: a log-density on flat vectors, with what else is known of it."""
        return self.target_from(self.at(step), self.rows)

    def program(self, step: int = -1) -> Callable[[], None]:
        """The posterior of one step as a NumPyro program."""
        return posterior_program(self.posterior, self.model, *self.history(self.at(step), self.rows))

    def densities(
        self, step: int, positions: Float[np.ndarray, "draws size"]
    ) -> tuple[Float[np.ndarray, " draws"], Float[np.ndarray, "draws size"]]:
        """Log-densities and their gradients; one program is compiled for all steps."""
        values, gradients = self._densities(self.at(step), self.rows, jnp.asarray(positions))
        return np.asarray(values), np.asarray(gradients)

    @cached_property
    def _densities(self) -> Callable[[Arrays, Arrays, Array], tuple[Array, Array]]:
        def program(arrays: Arrays, rows: Arrays, positions: Array) -> tuple[Array, Array]:
            return jax.vmap(jax.value_and_grad(self.target_from(arrays, rows).logdensity))(positions)

        return jax.jit(program)

    def rewards_of(self, arrays: Arrays, positions: Float[Array, "draws size"]) -> Float[Array, "draws arms"]:
        """Mean rewards of the step's arms under every draw."""
        features = self.model.embed(arrays["actions"])
        return jax.vmap(lambda position: self.model.function(position)(features))(positions)

    def history(self, arrays: Arrays, rows: Arrays) -> tuple[History, Round]:
        """The rounds before a step, and the step's round, as the posterior takes them."""
        num_rows: Int[Array, ""] = arrays["num_rows"]
        if "gram" in arrays:
            data: Any = SufficientStatistics(arrays["gram"], arrays["moment"], arrays["square"])
        else:
            filled = jnp.arange(rows["rewards"].shape[0]) < num_rows
            data = ReplayBuffer(rows["features"], rows["rewards"], jnp.where(filled, rows["weights"], 0.0))
        history = History(data, None, arrays["total_variance"], num_rows)
        return history, Round(self.model.embed(arrays["actions"]), arrays["sigma"])

    def save(self, folder: Path) -> str:
        """Writes NAME.nc and NAME.json; returns the digest of the arrays and facts."""
        variables = {name: (DIMS[name], values) for name, values in self.arrays.items()}
        write_tree(folder / f"{self.name}.nc", xr.DataTree(xr.Dataset(variables)))
        digest = self.digest()
        text = json.dumps({**self.facts, "name": self.name, "digest": digest}, indent=1, sort_keys=True)
        write_atomically(folder / f"{self.name}.json", (text + "\n").encode())
        return digest

    def digest(self) -> str:
        """SHA-256 of all arrays and facts."""
        total = hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode())
        for name in sorted(self.arrays):
            array = np.ascontiguousarray(self.arrays[name])
            total.update(f"{name} {array.dtype.str} {array.shape}".encode())
            total.update(array.tobytes())
        return total.hexdigest()


def load_sequence(path: str | Path) -> StoredSequence:
    """Loads FOLDER/NAME. Raises InputError if there is no such file, DamagedError if it is not what was written."""
    path = Path(path)
    stem = path.with_suffix("") if path.suffix in (".nc", ".json") else path
    files = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".json", ".nc")]
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise InputError(
            f"no target {stem.name!r}: {missing[0]} does not exist; fgtsva targets export writes it"
        )
    try:
        facts = json.loads(files[0].read_text())
        name, digest = facts.pop("name"), facts.pop("digest")
        dataset = read_tree(files[1]).to_dataset()
        sequence = StoredSequence(name, {str(key): dataset[key].values for key in dataset.variables}, facts)
        intact = sequence.digest() == digest
    except (ValueError, KeyError, AttributeError, TypeError, UnicodeDecodeError) as error:
        raise DamagedError(f"{stem} cannot be read ({type(error).__name__})") from None
    if not intact:
        raise DamagedError(f"{stem} is not what was exported: its digest differs")
    return sequence
