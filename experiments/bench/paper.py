"""The paper's SGLD cell against a plain NumPy loop and a plain C loop of the same algorithm."""

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.bench import c_baseline, numpy_baseline
from experiments.bench.timing import Measure, at_least, at_most, best
from fgtsva_ppl import FGTSVA, SGLD, Sparse, Thompson, simulate
from fgtsva_ppl.environments.linear import hypercube

PART = "paper"
DIM, STEPS, STEP, C, P = 5, 20, 0.5, 0.003, 0.1
TURNS = 5
FEW = 2  # runs of the NumPy loop, which goes through them one by one, on one core


def settings(runs: int, rounds: int, seed: int = 0) -> dict[str, Any]:
    """What the loops that are not ours are called with."""
    return {"runs": runs, "rounds": rounds, "steps": STEPS, "size": STEP, "c": C, "p": P, "seed": seed}


def arms() -> np.ndarray:
    """All vertices of the hypercube."""
    return np.ascontiguousarray(hypercube(DIM))


def ours(runs: int, rounds: int, seed: int = 0) -> np.ndarray:
    """Final regrets of all runs, by the library."""
    agent = Thompson(posterior=FGTSVA(c=C), sampler=SGLD(num_steps=STEPS, step_size=STEP))
    return simulate(Sparse(dim=DIM, p=P), agent, rounds=rounds, runs=runs, seed=seed).cumulative_regret[:, -1]


def measure(quick: bool) -> list[Measure]:
    """Times of the same cell, compilation apart."""
    runs, rounds = (100, 100) if quick else (100, 1000)
    few, share = settings(FEW, rounds), runs / FEW
    works: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours(runs, rounds),
        "NumPy": lambda: numpy_baseline.langevin(arms(), **few),
    }
    if c_baseline.library() is not None:
        works["C"] = lambda: c_baseline.langevin(arms(), **settings(runs, rounds))
    for work in works.values():
        work()
    times = best(works, TURNS)
    loop = times["NumPy"].seconds * share
    told = [
        Measure(PART, f"{name}, {runs} runs of {rounds} rounds", times[name].seconds, "s")
        for name in ("ours", "C")
        if name in times
    ]
    told.append(Measure(PART, f"NumPy, one core, from {FEW} runs", loop, "s"))
    if "C" in times:
        told += [
            at_most(PART, "ours / C, clock", times["ours"].seconds / times["C"].seconds, 2),
            at_most(PART, "ours / C, all cores", times["ours"].cpu / times["C"].cpu, 2),
        ]
    else:
        told.append(Measure(PART, "C: no compiler with OpenMP here", None, ""))
    told.append(at_least(PART, "NumPy / ours, clock", loop / times["ours"].seconds, 50))
    return told
