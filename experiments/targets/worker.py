"""A process that measures one sampler on several sequences: `python -m experiments.targets.worker REQUEST`.

It appends a line of JSON per sequence to a file. Its parent ends it if a line takes too long.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

from samplers.errors import InputError

REFERENCE = "reference"  # the sampler's name in rows of reference draws


def load_sampler(spec: str) -> Any:
    """A sampler by its registered name, or `path/to/file.py:Class`.

    Raises:
        InputError: If the file does not define a sampler of that name.
    """
    from samplers import SAMPLERS, Sampler

    if ":" not in spec:
        return SAMPLERS.build(spec)
    path, _, name = spec.rpartition(":")
    module_spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if module_spec is None or module_spec.loader is None:
        raise InputError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_spec.name] = module
    module_spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if found is None:
        raise InputError(f"{path} defines no {name}")
    sampler = found() if isinstance(found, type) else found
    if not isinstance(sampler, Sampler):
        raise InputError(f"{name} in {path} is not a samplers.Sampler")
    return sampler


def work(request: dict[str, Any]) -> None:
    """Measures a sampler on every sequence of a request and writes a line for each."""
    from experiments.targets.measure import Budget, floor, measure
    from experiments.targets.stored import load_sequence

    budget = Budget(request["num_chains"], tuple(request["calls"]))
    with open(request["output"], "a") as output:
        output.write(json.dumps({"ready": True}) + "\n")  # from here on the time limit counts
        output.flush()
        for name in request["targets"]:
            try:
                sequence = load_sequence(Path(request["folder"]) / name)
                if request["sampler"] == REFERENCE:
                    rows = floor(sequence, budget)
                else:
                    rows = measure(load_sampler(request["sampler"]), sequence, budget)
                line: dict[str, Any] = {"target": name, "rows": rows}
            except Exception as error:  # whatever a sampler or a file does costs its own row only
                line = {"target": name, "reason": f"{type(error).__name__}: {_first_line(error)}"}
            output.write(json.dumps(line) + "\n")
            output.flush()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:300]


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    if hasattr(os, "sched_setaffinity"):  # one core, before JAX counts them: seconds can then be compared
        os.sched_setaffinity(0, {wanted["core"]})
    from fgtsva_ppl.jax_config import configure

    configure(devices=1)
    work(wanted)
