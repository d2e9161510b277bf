"""Studies of algorithms with synthetic regret, so that the right verdict is known; nothing is simulated."""

import json
import zlib
from functools import lru_cache

import numpy as np
import xarray as xr

from experiments import studies
from experiments.analysis.results import StudyResults
from experiments.config.compose import compose
from fgtsva_ppl.simulation import Record, Simulation
from fgtsva_ppl.timing import Seconds

RUNS, ROUNDS = 40, 64


def shape(growth: float, rounds: int = ROUNDS) -> np.ndarray:
    """Regret of each round that sums to 1 and grows like rounds^growth."""
    total = np.arange(rounds + 1) ** growth if growth else np.minimum(np.arange(rounds + 1), 1.0)
    return np.diff(total / total[-1])


def shared_factor(seed: int) -> np.ndarray:
    """A random factor of each run that all algorithms share."""
    return np.random.default_rng(seed).gamma(4.0, 0.25, size=(RUNS, 1))


def tree(cell, total, growth: float = 0.3, spread: float = 0.02) -> xr.DataTree:
    """A cell whose runs have this final regret, times the run's shared factor and a little noise of its own."""
    settings = json.dumps(cell.settings, sort_keys=True)
    own = np.random.default_rng(zlib.crc32(settings.encode())).normal(1, spread, size=(RUNS, 1))
    regret = total * shared_factor(cell.seed) * own * shape(growth, cell.rounds)
    attrs = {"settings": settings, "seconds": 0.0, "compile_seconds": 0.0}
    coords = {"run": np.arange(RUNS), "round": 1 + np.arange(cell.rounds)}
    return xr.DataTree(xr.Dataset({"regret": (("run", "round"), regret)}, coords, attrs))


@lru_cache
def study(name: str, *overrides: str):
    return compose(
        [f"study={name}", f"rounds={ROUNDS}", f"runs={RUNS}", *overrides]
    )  # a later override replaces an earlier one


def simulation(environment, agent, *, rounds, runs, seed, progress, probes=(), **_) -> Simulation:
    """Replaces `simulate`."""
    regret = np.random.default_rng(seed).gamma(2.0, size=(runs, rounds)) / (1 + np.arange(rounds))
    nothing = dict.fromkeys(Record.fields(), np.zeros((runs, rounds)))
    progress(rounds)
    accepted = np.full((runs, rounds), np.nan)  # no proposals, so none that is rejected
    record = Record.from_arrays(nothing | {"regret": regret, "acceptance_rate": accepted})
    return Simulation(record, np.zeros(runs, bool), Seconds(0.0, 0.0))


def verdicts_of(name, composed, data):
    """The verdicts of a study whose cells have these data."""
    return studies.verdicts(StudyResults.from_cells(name, composed.cells, data, composed.comparison))
