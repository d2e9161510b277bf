"""An agent on disk: a zip file of plain arrays, and text that names its parts. Nothing in it is ever executed."""

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from fgtsva_ppl.agents.thompson import Thompson
from fgtsva_ppl.likelihoods import LIKELIHOODS
from fgtsva_ppl.posteriors.feel_good import POSTERIORS
from fgtsva_ppl.rewards import REWARDS
from samplers import SAMPLERS
from samplers.errors import InputError
from samplers.registry import Registry
from samplers.settings import flatten

FORMAT = "fgtsva agent 4"
PARTS: dict[str, Registry[Any]] = {
    "reward": REWARDS,
    "posterior": POSTERIORS,
    "sampler": SAMPLERS,
    "likelihood": LIKELIHOODS,
}
SQUARED = {"name": "squared", "settings": {}}  # the likelihood of files that do not name one


type Pending = Mapping[str, tuple[Float[np.ndarray, "arms size"], float, int]]  # features, sigma, arm


class SavedAgent(NamedTuple):
    """The contents of a file.

    Attributes:
        parts: Reward, posterior, sampler and likelihood.
        numbers: Counters and options.
        leaves: Of the state; None before the first question.
        pending: Questions without a reward, by their numbers.
    """

    parts: dict[str, Any]
    numbers: dict[str, Any]
    leaves: list[Shaped[np.ndarray, "..."]] | None
    pending: Pending


def save(
    path: Path,
    agent: Thompson,
    numbers: Mapping[str, Any],
    leaves: Sequence[Any] | None,
    pending: Pending,
) -> None:
    """Writes the file atomically: it is complete, or as it was before."""
    text = {
        "format": FORMAT,
        "parts": {group: _described(registry, getattr(agent, group)) for group, registry in PARTS.items()},
        "numbers": dict(numbers),
        "leaves": None if leaves is None else len(leaves),
        "pending": {number: (sigma, arm) for number, (_, sigma, arm) in pending.items()},
    }
    arrays = {f"leaf_{i}": np.asarray(leaf) for i, leaf in enumerate(leaves or ())}
    arrays |= {f"pending_{number}": features for number, (features, *_) in pending.items()}
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            np.savez(file, about=np.array(json.dumps(text)), **arrays)  # type: ignore[arg-type]
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: Path, given: Mapping[str, Any]) -> SavedAgent:
    """Reads a file; `given` are parts that replace those it names."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        text = json.loads(str(arrays["about"]))
        if text["format"] != FORMAT:
            raise KeyError(text["format"])
        leaves = text["leaves"]
        state = None if leaves is None else [arrays[f"leaf_{i}"] for i in range(leaves)]
        pending = {n: (arrays[f"pending_{n}"], sigma, arm) for n, (sigma, arm) in text["pending"].items()}
        described = {group: ({"likelihood": SQUARED} | text["parts"])[group] for group in PARTS}
        numbers = text["numbers"]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile):
        raise InputError(f"{path} is not a saved agent, or is damaged (only {FORMAT!r} is read)") from None
    parts = {group: _rebuilt(group, part, given.get(group)) for group, part in described.items()}
    return SavedAgent(parts, numbers, state, pending)


def unflatten(empty: Any, leaves: Sequence[Shaped[np.ndarray, "..."]]) -> Any:
    """Puts leaves into the tree of an empty state. Raises InputError if their shapes do not fit."""
    expected, tree = jax.tree.flatten(empty)
    shapes = [(leaf.shape, leaf.dtype) for leaf in expected]
    if shapes != [(leaf.shape, leaf.dtype) for leaf in leaves]:
        raise InputError(
            "the saved state is that of another agent: reward, posterior and sampler must be the same"
        )
    return jax.tree.unflatten(tree, [jnp.asarray(leaf) for leaf in leaves])


def _described(registry: Registry[Any], part: Any) -> dict[str, Any] | None:
    """A part by its name and settings, or None if it has no registered name."""
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
