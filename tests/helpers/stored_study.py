"""A study's output folder with synthetic numbers, in the format that a run writes; nothing is simulated."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import yaml

from experiments.report.analyse import analyse
from experiments.storage.netcdf import with_digest
from fgtsva_ppl.diagnostics import METRICS

PROBES = (2, 5, 12)
ROUNDS, RUNS, ARMS, DIM = 12, 6, 8, 6
SAMPLERS = ("exact", "mala", "sgld")
GRADIENTS = 20  # a round
ADDED = {"exact": 0.0, "mala": 0.02, "sgld": 1.0}  # regret a round, beside the noise
CONFIG = {
    "fgtsva": "0.1.0",
    "study": "default",
    "title": "A study",
    "question": "What does it cost?",
    "command": "fgtsva run sampler=exact,mala,sgld",
    "precision": "float64",
    "code": "0123456789ab",
    "versions": {"python": "3.12.0", "jax": "0.1"},
}


def cells(samplers: tuple[str, ...] = SAMPLERS, **settings: Any) -> dict[str, dict[str, Any]]:
    return {
        f"{environment}{index}": {
            "environment": {"name": environment, "p": 0.1},
            "agent": {"name": "thompson"},
            "posterior": {"name": "fgts_va", "c": 0.003},
            "sampler": {"name": sampler, **settings},
            "rounds": ROUNDS,
            "runs": RUNS,
            "seed": 0,
        }
        for environment in ("sparse", "dense")
        for index, sampler in enumerate(samplers)
    }


def store(
    path: Path,
    *,
    samplers: tuple[str, ...] = SAMPLERS,
    diagnosed: bool = True,
    failed: dict[str, str] | None = None,
    attributes: dict[str, str] | None = None,
    probes: tuple[int, ...] = PROBES,
    **config: Any,
) -> Path:
    """Writes `config.yaml` and `results.nc`, all that a report needs; `failed` maps a sampler to its reason."""
    path.mkdir(parents=True)
    content = copy.deepcopy(CONFIG | config | {"cells": cells(samplers)})
    (path / "config.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    groups: dict[str, xr.Dataset] = {"/": xr.Dataset(attrs={"fgtsva": "0.1.0", **(attributes or {})})}
    for index, (key, settings) in enumerate(content["cells"].items()):
        sampler = settings["sampler"]["name"]
        if sampler in (failed or {}):
            groups[f"/cells/{key}"] = xr.Dataset(
                attrs={"status": "failed", "reason": (failed or {})[sampler]}
            )
            continue
        regret = np.random.default_rng(index).gamma(2.0, size=(RUNS, ROUNDS)) + ADDED.get(sampler, 0.5)
        both, nothing = ("run", "round"), np.zeros((RUNS, ROUNDS), "int32")
        groups[f"/cells/{key}"] = xr.Dataset(
            {
                "regret": (both, regret),
                "acceptance_rate": (both, np.full((RUNS, ROUNDS), 0.5 + index / 20)),
                "num_gradients": (both, nothing + GRADIENTS),
                **dict.fromkeys(("action", "num_divergent", "num_resets", "num_repeats"), (both, nothing)),
            },
            {"run": np.arange(RUNS), "round": 1 + np.arange(ROUNDS)},
            {"cell": key, "settings": json.dumps(settings), "status": "done", "reason": ""}
            | {"seconds": 2.0, "compile_seconds": 1.0},
        )
        if diagnosed:
            diagnosed_groups = diagnosis(index, sampler, probes)
            groups |= {f"/cells/{key}/{name}": data for name, data in diagnosed_groups.items()}
    xr.DataTree.from_dict(groups).to_netcdf(path / "results.nc", engine="h5netcdf")
    seal(path / "results.nc")
    return path


def write(folder: Path) -> Path:
    """Analyses a stored study, and gives its report."""
    analyse(folder, warn=lambda line: None)
    return folder / "report.html"


def seal(path: Path) -> None:
    """Adds our digest to a file that was written by other means."""
    path.write_bytes(with_digest(path.read_bytes()))


def diagnosis(index: int, sampler: str, probes: tuple[int, ...] = PROBES) -> dict[str, xr.Dataset]:
    """The stored diagnostics of the probe rounds. SGLD's first chain is constant, the others move."""
    rng = np.random.default_rng(100 + index)
    number = len(probes)
    distribution = rng.dirichlet(np.ones(ARMS), size=(2, RUNS, number))
    variables: dict[str, Any] = {
        name: (("probed_run", "probe"), rng.uniform(size=(RUNS, number))) for name in METRICS
    }
    variables["rhat"] = (
        ("probed_run", "probe"),
        np.full((RUNS, number), np.inf if sampler == "sgld" else 1.01),
    )
    variables["ebfmi"] = (("probed_run", "probe"), np.full((RUNS, number), np.nan))
    for name, values in zip(("action_probability", "action_probability_exact"), distribution, strict=True):
        variables[name] = (("probed_run", "probe", "arm"), values)
    groups = {"diagnostics": xr.Dataset(variables, {"probe": list(probes)})}
    for t in probes:
        walk = rng.normal(size=(4, 300, DIM))
        if sampler == "sgld":
            walk = walk.cumsum(axis=1)
            walk[0, :, 0] = 0.5
        groups[f"round_{t}/posterior"] = xr.Dataset(
            {"theta": (("chain", "draw", "theta_dim_0"), walk)},
            {"chain": np.arange(4), "draw": np.arange(300), "theta_dim_0": np.arange(DIM)},
        )
        groups[f"round_{t}/sample_stats"] = xr.Dataset(
            {"acceptance_rate": (("chain", "draw"), np.full((4, 300), 0.7))}
        )
    return groups
