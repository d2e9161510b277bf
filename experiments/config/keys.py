"""The keys of a command line, besides the groups and their settings. Imports nothing heavy."""

from typing import Any

type Grid = dict[str, list[Any]]  # dotted key -> the values it takes

NUMBERS = ("rounds", "runs", "seed", "record_every")  # settings of a cell beside its groups
BACKENDS = ("local", "dask")
BACKEND = ("backend.address", "backend.workers", "backend.runs_per_task")  # settings of backend=dask
# Options of the command, one value each
OPTIONS = ("study", "output", "precision", "bounds", "devices", "processes", "backend", *BACKEND)
DIAGNOSTICS = ("diagnostics.rounds", "diagnostics.runs")  # options too; rounds are a list
PATHS = ("output", "environment.path")  # one value each, not parsed
MAX_CELLS = 10_000
