"""Plays the same studies in two checkouts on one machine and compares every stored number, bit by bit.

    python compare_checkouts.py play CHECKOUT FOLDER [OLD=NEW ...]
    python compare_checkouts.py compare FOLDER FOLDER

Roundings differ between processors, so results are compared on one machine and never committed. OLD=NEW renames a
setting for a checkout that has it under another name.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import xarray as xr

SMALL = ["rounds=40", "runs=3", "diagnostics.runs=0"]
SAMPLERS = (
    "exact,sgld,psgld,sghmc,sgnht,ulmc,mclmc,mala,barker,hmc,dynamic_hmc,ghmc,nuts,adjusted_mclmc,rmh,"
    "elliptical_slice,slice,smc,svgd,laplace,pathfinder,meanfield_vi,fullrank_vi,control"
)
AGENTS = "thompson,ensemble,oful,weighted_oful,save,lints,linnats,linvdts,greedy,epsilon_greedy,uniform,clairvoyant"
STUDIES = {
    "default": [],
    "samplers": [f"sampler={SAMPLERS}", "environment=sparse", *SMALL],
    "agents": [f"agent={AGENTS}", "environment=sparse,contextual", *SMALL],
    "posteriors": ["posterior=fgts_va,fgts_a,fgts_b,ts", "sampler=exact,mala", "environment=dense", *SMALL],
    "past_action_sets": ["posterior=fgts_a", "sampler=psgld", "environment=contextual", *SMALL],
    "smoothed": ["posterior.maximum=logsumexp,softplus", "posterior.cap=1.0", "sampler=hmc", *SMALL],
    "variance": [
        "posterior.variance=revealed,revealed_after,estimated,modelled,modelled_by_context",
        "environment=contextual",
        "sampler=hmc",
        *SMALL,
    ],
    "variance_rows": [
        "posterior.variance=estimated,modelled,modelled_by_context",
        "environment=logistic",
        "reward=logistic",
        "sampler=mala",
        *SMALL,
    ],
    "rewards": [
        "reward=linear,logistic,mlp,gp,hierarchical",
        "environment=contextual",
        "sampler=psgld,hmc,rmh",
        *SMALL,
    ],
    "finite": ["environment=finite", "reward=finite", "sampler=exact,rmh", *SMALL],
    "minibatch": [
        "reward=logistic,mlp",
        "environment=contextual",
        "sampler=sgld",
        "sampler.batch_size=4",
        "agent.control_variate=false,true",
        *SMALL,
    ],
    "adaptation": ["sampler=hmc,mala", "sampler.adaptation=dual_averaging", "environment=sparse", *SMALL],
    "warmup": [
        "sampler=nuts",
        "sampler.adaptation=window",
        "sampler.adaptation.num_steps=20",
        "environment=sparse",
        *SMALL,
    ],
    "coordinates": [
        "sampler=mala,sgld",
        "sampler.preconditioner=dense,diagonal,none",
        "sampler.step_size_rule=curvature,power",
        *SMALL,
    ],
    "cold": ["sampler=sgld,hmc", "agent.warm_start=false", *SMALL],
    "environments": [
        "environment=sparse,dense,deterministic,homoscedastic,contextual,finite,logistic,mlp,quadratic,wheel,"
        "breast_cancer,wine,iris",
        "sampler=psgld",
        *SMALL,
    ],
    "noises": [
        "noise=sparse,dense,constant,decaying,by_context",
        "environment=quadratic",
        "sampler=psgld",
        *SMALL,
    ],
    "diagnosed": [
        "sampler=exact,sgld,hmc,nuts,smc,laplace",
        "environment=sparse",
        "rounds=40",
        "runs=3",
        "diagnostics.runs=2",
        "diagnostics.rounds=3,40",
    ],
    "diagnosed_chain": [
        "sampler=hmc",
        "reward=logistic",
        "environment=logistic",
        "rounds=20",
        "runs=2",
        "diagnostics.runs=1",
        "diagnostics.rounds=20",
    ],
    "blocks": ["sampler=hmc", "rounds=40", "runs=3", "diagnostics.runs=0", "record_every=4"],
}
# New names of stored variables, so that an older checkout can be compared.
RENAMED = {
    "restored": "num_resets",
    "impossible": "outside_support",
    "acceptance": "acceptance_rate",
    "diverged": "num_divergent",
    "gradients": "num_gradients",
    "tv": "total_variation",
    "tv_floor": "total_variation_floor",
    "spread": "sd_ratio",
    "divergences": "num_divergent",
    "unique": "fraction_moved",
    "condition": "condition_number",
}


def _chosen() -> dict[str, list[str]]:
    """All studies, or those that $COMPARE_ONLY names."""
    only = os.environ.get("COMPARE_ONLY")
    return {name: STUDIES[name] for name in only.split(",")} if only else STUDIES


def play(checkout: Path, folder: Path, renames: dict[str, str]) -> None:
    """Runs every study with the code of a checkout."""
    for name, overrides in _chosen().items():
        if (folder / name / "results.nc").exists():
            continue
        renamed = []
        for override in overrides:
            key, _, value = override.partition("=")
            renamed.append(f"{renames.get(key, key)}={value}")
        command = "from experiments.cli import main; main()"
        subprocess.run(
            [
                sys.executable,
                "-c",
                command,
                "run",
                "--quiet",
                *renamed,
                f"output={(folder / name).resolve()}",
            ],
            cwd=checkout,
            env={**os.environ, "FGTSVA_CACHE": str(folder.resolve() / "cache"), "PYTHONPATH": str(checkout)},
            check=False,
        )
        print(name, "stored", flush=True)


def compare(first: Path, second: Path) -> int:
    """Compares what two folders hold; the number of differences."""
    differences = 0
    for name in _chosen():
        ours, theirs = (_cells(folder / name) for folder in (first, second))
        if len(ours) != len(theirs) or not ours:
            print(f"{name}: {len(ours)} cells against {len(theirs)}")
            differences += 1
            continue
        arrays = 0
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            for key in sorted({*one, *other}):
                if key not in one or key not in other:
                    print(f"{name}, cell {index}: {key} is in one only")
                    differences += 1
                elif one[key].shape != other[key].shape or one[key].tobytes() != other[key].tobytes():
                    equal = one[key].shape == other[key].shape and np.array_equal(
                        one[key], other[key], equal_nan=True
                    )
                    if not equal:
                        print(f"{name}, cell {index}: {key} differs")
                        differences += 1
                arrays += 1
        print(f"{name}: {len(ours)} cells, {arrays} arrays compared")
    print(f"{differences} differences")
    return differences


def _cells(folder: Path) -> list[dict[str, np.ndarray]]:
    """Every array of every cell, in the order of the study."""
    path = folder / "results.nc"
    if not path.exists():
        return []
    import yaml

    order = list(yaml.safe_load((folder / "config.yaml").read_text())["cells"])
    cells = []
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        for key in order:
            if key not in tree["cells"].children:
                cells.append({})
                continue
            cell = tree["cells"][key].load()
            arrays = {}
            for node in cell.subtree:
                inner = node.path.split(key, 1)[1]
                for variable, values in node.to_dataset(inherit=False).variables.items():
                    arrays[f"{inner}/{RENAMED.get(str(variable), variable)}"] = np.asarray(values.values)
            cells.append(arrays)
    return cells


if __name__ == "__main__":
    verb, first, second, *rest = sys.argv[1:]
    if verb == "play":
        play(Path(first), Path(second), dict(rename.split("=") for rename in rest))
    else:
        sys.exit(1 if compare(Path(first), Path(second)) else 0)
