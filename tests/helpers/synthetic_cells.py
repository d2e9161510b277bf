"""Cells with synthetic regret and diagnostics, whose findings are known; nothing is simulated."""

import json

import numpy as np
import xarray as xr

from experiments.analysis.results import StudyResults
from experiments.config.compose import compose
from fgtsva_ppl.diagnostics import METRICS

RUNS, ROUNDS, PROBES, DIAGNOSED = 40, 50, (5, 20, 50), 4
LEVELS = {"exact": 0.0, "sgld": 2.0, "psgld": 0.05, "mala": 0.0, "hmc": 0.001, "nuts": 0.5}  # regret a round


def synthetic_cell(cell, level, usual, num_gradients=20.0, seed=0, **metrics):
    """A cell with a known regret a round, and diagnostics that are as usual unless they are named.

    Runs share a random factor, as with common random numbers.
    """
    shared = np.random.default_rng(1).gamma(2.0, 1.0, size=(RUNS, 1))
    own = np.random.default_rng(seed).normal(scale=0.01, size=(RUNS, ROUNDS))
    tree = played(cell, shared + level + own, num_gradients)
    return diagnosed(tree, {**dict.fromkeys(METRICS, np.full((DIAGNOSED, 1), usual)), **metrics})


def played(cell, regret, num_gradients=20.0):
    """A cell whose runs and rounds have this regret."""
    both = ("run", "round")
    variables = {
        "regret": (both, regret),
        "acceptance_rate": (both, np.full((RUNS, ROUNDS), 0.8)),
        "num_gradients": (both, np.full((RUNS, ROUNDS), num_gradients)),
        "num_divergent": (both, np.zeros((RUNS, ROUNDS), int)),
        "num_resets": (both, np.zeros((RUNS, ROUNDS), int)),
        "num_repeats": (both, np.zeros((RUNS, ROUNDS), int)),
    }
    attrs = {"seconds": 1.0, "compile_seconds": 2.0, "settings": json.dumps(cell.settings)}
    return xr.DataTree(xr.Dataset(variables, {"run": np.arange(RUNS), "round": 1 + np.arange(ROUNDS)}, attrs))


def diagnosed(tree, metrics):
    """The tree with diagnostics: a number each, or (runs, probes) of them."""
    shape = np.broadcast_shapes((1, len(PROBES)), *(np.shape(values) for values in metrics.values()))
    variables = {
        name: (("probed_run", "probe"), np.array(np.broadcast_to(value, shape)))
        for name, value in metrics.items()
    }
    tree["diagnostics"] = xr.DataTree(xr.Dataset(variables, {"probe": list(PROBES)}))
    return tree


def compared(*overrides, study="default", **metrics):
    """All of `LEVELS` on sparse, with TV in the order of regret; `metrics` maps a diagnostic to samplers' values."""
    numbers = [f"rounds={ROUNDS}", f"runs={RUNS}"]
    cells = compose([f"sampler={','.join(LEVELS)}", "environment=sparse", *numbers, *overrides]).cells
    data = {}
    for seed, cell in enumerate(cells):
        name = cell.flat["sampler"]
        known = {key: values[name] for key, values in metrics.items()}
        data[cell.id] = synthetic_cell(cell, LEVELS[name], LEVELS[name] / 10, seed=seed, **known)
    return StudyResults.from_cells(study, cells, data)
