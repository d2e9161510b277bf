"""The keys of a command line, besides the groups and their settings. Imports nothing heavy."""

from typing import Any

from samplers.errors import InputError, did_you_mean

type Grid = dict[str, list[Any]]  # dotted key -> the values it takes

NUMBERS = {
    "rounds": 1,
    "runs": 1,
    "seed": 0,
    "record_every": 1,
}  # of a cell beside its groups, with the least value
MAX_SEED = 2**32 - 1
PRECISIONS = ("float64", "float32")
BACKENDS = ("local", "dask")
BACKEND = ("backend.address", "backend.workers", "backend.runs_per_task")  # settings of backend=dask
# Options of the command, one value each
OPTIONS = ("study", "quick", "output", "precision", "bounds", "devices", "processes", "backend", *BACKEND)
DIAGNOSTICS = ("diagnostics.rounds", "diagnostics.runs")  # options too; rounds are a list
CHOICES = {
    "precision": PRECISIONS,
    "backend": BACKENDS,
    "bounds": ("true", "false"),
    "quick": ("true", "false"),
}
PATHS = ("output", "environment.path")  # one value each, not parsed
MAX_CELLS = 10_000


def check_whole(key: str, value: Any, least: int) -> None:
    """Raises InputError for anything but a whole number that is not below the least one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{key}={value!r} must be a whole number, at least {least}")


def check_number(name: str, value: Any) -> None:
    """Raises InputError for a value that one of `NUMBERS` cannot have."""
    check_whole(name, value, NUMBERS[name])
    if name == "seed" and value > MAX_SEED:
        raise InputError(f"seed={value} must be a whole number, at most {MAX_SEED}")


def check_choice(key: str, value: Any) -> None:
    """Raises InputError for a value that is not one of `CHOICES`."""
    if value not in CHOICES[key]:
        raise InputError(
            f"{key}={value!r} is not one of: {', '.join(CHOICES[key])}{did_you_mean(str(value), CHOICES[key])}"
        )
