"""An agent on disk: a zip file of plain arrays, and text that names its parts. Nothing in it is ever run."""

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fgtsva_ppl.agents.thompson import Thompson
from fgtsva_ppl.posteriors.feel_good import POSTERIORS
from fgtsva_ppl.rewards import REWARDS
from samplers import SAMPLERS
from samplers.errors import InputError
from samplers.registry import Registry
from samplers.settings import flatten

FORMAT = "fgtsva agent 3"
PARTS: dict[str, Registry[Any]] = {"reward": REWARDS, "posterior": POSTERIORS, "sampler": SAMPLERS}


class Saved(NamedTuple):
    """What a file holds."""

    parts: dict[str, Any]
    numbers: dict[str, Any]
    leaves: list[np.ndarray] | None  # of the state, if there was one yet
    pending: dict[str, tuple[np.ndarray, float, int]]


def save(
    path: Path,
    agent: Thompson,
    numbers: Mapping[str, Any],
    leaves: Sequence[Any] | None,
    pending: Mapping[str, tuple[np.ndarray, float, int]],
) -> None:
    """Writes the file in one step: it is whole, or as it was before."""
    text = {
        "format": FORMAT,
        "parts": {group: _described(registry, getattr(agent, group)) for group, registry in PARTS.items()},
        "numbers": dict(numbers),
        "leaves": None if leaves is None else len(leaves),
        "pending": {number: (sigma, arm) for number, (_, sigma, arm) in pending.items()},
    }
    arrays = {f"leaf_{i}": np.asarray(leaf) for i, leaf in enumerate(leaves or ())}
    arrays |= {f"pending_{number}": features for number, (features, *_) in pending.items()}
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            np.savez(file, about=np.array(json.dumps(text)), **arrays)  # type: ignore[arg-type]
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def load(path: Path, given: Mapping[str, Any]) -> Saved:
    """Reads a file; `given` are parts that take the place of those it names."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        text = json.loads(str(arrays["about"]))
        if text["format"] != FORMAT:
            raise KeyError(text["format"])
        leaves = text["leaves"]
        kept = None if leaves is None else [arrays[f"leaf_{i}"] for i in range(leaves)]
        pending = {n: (arrays[f"pending_{n}"], sigma, arm) for n, (sigma, arm) in text["pending"].items()}
        described = {group: text["parts"][group] for group in PARTS}
        numbers = text["numbers"]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile):
        raise InputError(f"{path} is not a saved agent, or is damaged") from None
    parts = {group: _rebuilt(group, part, given.get(group)) for group, part in described.items()}
    return Saved(parts, numbers, kept, pending)


def num_resets(empty: Any, leaves: Sequence[np.ndarray]) -> Any:
    """The leaves in their tree, if they fit into it."""
    expected, tree = jax.tree.flatten(empty)
    shapes = [(leaf.shape, leaf.dtype) for leaf in expected]
    if shapes != [(leaf.shape, leaf.dtype) for leaf in leaves]:
        raise InputError(
            "the saved state is that of another agent: reward, posterior and sampler must be the same"
        )
    return jax.tree.unflatten(tree, [jnp.asarray(leaf) for leaf in leaves])


def _described(registry: Registry[Any], part: Any) -> dict[str, Any] | None:
    """A part by its name and settings, or nothing if it has no name."""
    names = {cls: name for name, cls in registry}
    if type(part) not in names:
        return None
    return {"name": names[type(part)], "settings": flatten(part)}


def _rebuilt(group: str, described: dict[str, Any] | None, given: Any) -> Any:
    if given is not None:
        return given
    if described is None:
        raise InputError(f"the saved agent's {group} has no registered name: load(path, {group}=...) with it")
    return PARTS[group].build(described["name"], described["settings"])
