"""A study's output folder with made-up numbers, in the format that a run writes; nothing is simulated."""

import copy
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import yaml

from experiments.statistics import paired_difference
from fgtsva_ppl.diagnostics import METRICS

PROBES = (2, 5, 12)
ROUNDS, RUNS, ARMS, DIM = 12, 6, 8, 6
SAMPLERS = ("exact", "mala", "sgld")
ADDED = {"exact": 0.0, "mala": 0.02, "sgld": 1.0}  # regret a round, beside the noise
CONFIG = {
    "fgtsva": "0.1.0",
    "study": "default",
    "title": "A study",
    "question": "What does it cost?",
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
    **config: Any,
) -> Path:
    """Writes everything but figures and report; `failed` maps a sampler to why it failed."""
    path.mkdir(parents=True)
    told = copy.deepcopy(CONFIG | config | {"cells": cells(samplers)})
    (path / "config.yaml").write_text(yaml.safe_dump(told, sort_keys=False))
    groups: dict[str, xr.Dataset] = {"/": xr.Dataset(attrs={"fgtsva": "0.1.0", **(attributes or {})})}
    rows, reference = [], np.zeros(RUNS)
    for index, (key, settings) in enumerate(told["cells"].items()):
        sampler = settings["sampler"]["name"]
        row = {group: settings[group]["name"] for group in ("environment", "agent", "posterior", "sampler")}
        row |= {"runs": RUNS, "rounds": ROUNDS, "seed": 0, "status": (failed or {}).get(sampler, "done")}
        rows.append(row)
        if row["status"] != "done":
            continue
        regret = np.random.default_rng(index).gamma(2.0, size=(RUNS, ROUNDS)) + ADDED.get(sampler, 0.5)
        final = regret.sum(axis=1)
        row |= {
            "final_regret_mean": final.mean(),
            "final_regret_se": final.std(ddof=1) / RUNS**0.5,
            "final_regret_median": np.median(final),
        }
        if sampler == "exact":
            reference = final
        else:
            row |= {"acceptance": 0.5 + index / 20}
            row |= zip(
                ("regret_gap", "regret_gap_low", "regret_gap_high"),
                paired_difference(final, reference),
                strict=True,
            )
        groups[f"/cells/{key}"] = xr.Dataset(
            {"regret": (("run", "round"), regret)},
            {"run": np.arange(RUNS), "round": 1 + np.arange(ROUNDS)},
            {"cell": key, "settings": json.dumps(settings)},
        )
        if diagnosed:
            groups |= {f"/cells/{key}/{name}": data for name, data in diagnosis(index, sampler).items()}
    xr.DataTree.from_dict(groups).to_netcdf(path / "results.nc", engine="h5netcdf")
    with open(path / "summary.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    return path


def diagnosis(index: int, sampler: str) -> dict[str, xr.Dataset]:
    """What a diagnosis at the probe rounds stores. SGLD's first chain stands still, and the others wander."""
    rng = np.random.default_rng(100 + index)
    probes = len(PROBES)
    law = rng.dirichlet(np.ones(ARMS), size=(2, RUNS, probes))
    variables: dict[str, Any] = {
        name: (("probed_run", "probe"), rng.uniform(size=(RUNS, probes))) for name in METRICS
    }
    variables["rhat"] = (
        ("probed_run", "probe"),
        np.full((RUNS, probes), np.inf if sampler == "sgld" else 1.01),
    )
    variables["ebfmi"] = (("probed_run", "probe"), np.full((RUNS, probes), np.nan))
    for name, values in zip(("action_probability", "action_probability_exact"), law, strict=True):
        variables[name] = (("probed_run", "probe", "arm"), values)
    groups = {"diagnostics": xr.Dataset(variables, {"probe": list(PROBES)})}
    for t in PROBES:
        walk = rng.normal(size=(4, 300, DIM))
        if sampler == "sgld":
            walk = walk.cumsum(axis=1)
            walk[0, :, 0] = 0.5
        groups[f"round_{t}/posterior"] = xr.Dataset(
            {"theta": (("chain", "draw", "theta_dim_0"), walk)},
            {"chain": np.arange(4), "draw": np.arange(300)},
        )
        groups[f"round_{t}/sample_stats"] = xr.Dataset(
            {"acceptance_rate": (("chain", "draw"), np.full((4, 300), 0.7))}
        )
    return groups
