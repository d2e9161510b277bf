"""A study's output folder with made-up numbers, in the format that a run writes; nothing is simulated."""

import copy
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import yaml

from experiments.analysis.statistics import paired_difference
from experiments.storage.netcdf import with_digest
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
            row |= {"acceptance_rate": 0.5 + index / 20}
            row |= zip(
                ("regret_gap", "regret_gap_low", "regret_gap_high"),
                paired_difference(final, reference),
                strict=True,
            )
            row |= {"regret_gap_median": np.median(final - reference), "locked_share": 0.25}
        groups[f"/cells/{key}"] = xr.Dataset(
            {"regret": (("run", "round"), regret)},
            {"run": np.arange(RUNS), "round": 1 + np.arange(ROUNDS)},
            {"cell": key, "settings": json.dumps(settings)},
        )
        if diagnosed:
            found = diagnosis(index, sampler, probes)
            groups |= {f"/cells/{key}/{name}": data for name, data in found.items()}
    xr.DataTree.from_dict(groups).to_netcdf(path / "results.nc", engine="h5netcdf")
    seal(path / "results.nc")
    _write_rows(path / "summary.csv", rows)
    return path


def seal(path: Path) -> None:
    """Makes a file that was written by other means pass for one of ours."""
    path.write_bytes(with_digest(path.read_bytes()))


def store_tables(path: Path) -> Path:
    """The tables of quality against regret, beside a stored study."""
    who = [(environment, sampler) for environment in ("sparse", "dense") for sampler in SAMPLERS[1:]]
    ends = {"gradients": 20.0, "gradients_low": 10.0, "gradients_high": np.inf}
    ends |= {"seconds": 2.0, "seconds_low": 1.0, "seconds_high": np.inf}
    cost = [{"case": e, "sampler": s, **ends, "work": "steps + 1"} for e, s in who]
    association = [
        {"diagnostic": metric, "environment": e, "scope": scope, "spearman": 0.5, "low": low, "high": 0.9}
        for metric in METRICS
        for e, scope, low in [
            ("", "across cells", 0.1),
            *((e, s, 0.1 if s == "sgld" else -0.1) for e, s in who),
        ]
    ]
    gap = {"regret_per_round": 1.5, "regret_median": 1.25, "exact": 1.0}
    gap |= {"gap": 0.5, "gap_low": 0.25, "gap_high": 0.75, "gap_median": 0.375}
    by_round = [
        {"environment": e, "cell": s, "round": t, **gap, **dict.fromkeys(METRICS, 0.125)}
        for e, s in who
        for t in PROBES
    ]
    for name, rows in (("cost", cost), ("association", association), ("by_round", by_round)):
        _write_rows(path / f"{name}.csv", rows)
    return path


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)


def diagnosis(index: int, sampler: str, probes: tuple[int, ...] = PROBES) -> dict[str, xr.Dataset]:
    """What a diagnosis at the probe rounds stores. SGLD's first chain stands still, and the others wander."""
    rng = np.random.default_rng(100 + index)
    number = len(probes)
    law = rng.dirichlet(np.ones(ARMS), size=(2, RUNS, number))
    variables: dict[str, Any] = {
        name: (("probed_run", "probe"), rng.uniform(size=(RUNS, number))) for name in METRICS
    }
    variables["rhat"] = (
        ("probed_run", "probe"),
        np.full((RUNS, number), np.inf if sampler == "sgld" else 1.01),
    )
    variables["ebfmi"] = (("probed_run", "probe"), np.full((RUNS, number), np.nan))
    for name, values in zip(("action_probability", "action_probability_exact"), law, strict=True):
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
