"""Checks what an environment returns by its shapes, before anything compiles."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.types import Environment, Outcome, Round
from samplers.errors import InputError

FIELDS = {  # of Round and Outcome: what each holds, and its shape in an environment's arms and dim
    "Round.actions": ("a row of features for every arm", ("arms", "dim")),
    "Round.sigma": ("one standard deviation for all arms", ()),
    "Outcome.means": ("the mean reward of every arm", ("arms",)),
    "Outcome.rewards": ("what every arm would pay", ("arms",)),
}


def check_environment(environment: Environment, rounds: int | None = None) -> None:
    """Traces a round without computing it, and compares the settings with the number of rounds, if it is given.

    Raises:
        InputError: If a field of its Round or Outcome does not have the shape that `environment.shape` promises. The
            message names the field, its shape and the expected one.
    """
    name, sizes = type(environment).__name__, environment.shape
    if rounds is not None:
        environment.validate(rounds)

    def first_round(environment: Environment, key: Array) -> dict[str, Any]:
        answer = environment.round(key, environment.start(key), jnp.asarray(0))
        fields = _fields(answer)
        if fields is None:
            raise InputError(f"environment {name}: round must return (Round, Outcome), not {_kind(answer)}")
        return {field: _array(name, field, value) for field, value in fields.items()}

    shapes = jax.eval_shape(first_round, environment, jax.random.key(0))
    for field, (meaning, dims) in FIELDS.items():
        expected = tuple(getattr(sizes, dim) for dim in dims)
        if shapes[field].shape != expected:
            axes = f" = ({', '.join(dims)}{',' * (len(dims) == 1)})" if dims else ""
            raise InputError(
                f"environment {name}: {field} has shape {shapes[field].shape}, expected {expected}{axes}: {meaning}"
            )


def _fields(answer: Any) -> dict[str, Any] | None:
    """All fields by name; None if this is not what `round` must return."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        return None
    seen, outcome = answer
    if not (isinstance(seen, Round) and isinstance(outcome, Outcome)):
        return None
    fields = {f"Round.{name}": value for name, value in seen._asdict().items()}
    return fields | {f"Outcome.{name}": value for name, value in outcome._asdict().items()}


def _array(name: str, field: str, value: Any) -> Array:
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError):
        raise InputError(
            f"environment {name}: {field} must be an array of numbers, not {_kind(value)}"
        ) from None


def _kind(value: Any) -> str:
    if isinstance(value, tuple) and type(value) is tuple:
        return f"({', '.join(map(_kind, value))})"
    return type(value).__name__
