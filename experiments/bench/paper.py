"""The paper's SGLD cell against a NumPy loop and a C loop of the same algorithm."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from experiments.bench import c_baseline, numpy_baseline
from experiments.bench.timing import Measure, at_least, at_most, fastest
from fgtsva_ppl import FGTSVA, SGLD, Sparse, Thompson, simulate
from fgtsva_ppl.environments.linear import hypercube

PART = "paper"
DIM, STEPS, STEP, C, P = 5, 20, 0.5, 0.003, 0.1
TURNS = 5
NUMPY_RUNS = 2  # runs of the NumPy loop, one after the other on one core


def settings(runs: int, rounds: int, seed: int = 0) -> dict[str, Any]:
    """Arguments of the baseline loops."""
    return {"runs": runs, "rounds": rounds, "steps": STEPS, "size": STEP, "c": C, "p": P, "seed": seed}


def arms() -> Float[np.ndarray, "arms dim"]:
    """All vertices of the hypercube."""
    return np.ascontiguousarray(hypercube(DIM))


def ours(runs: int, rounds: int, seed: int = 0) -> Float[np.ndarray, " runs"]:
    """Final regrets of all runs, by this library."""
    agent = Thompson(posterior=FGTSVA(c=C), sampler=SGLD(num_steps=STEPS, step_size=STEP))
    return simulate(Sparse(dim=DIM, p=P), agent, rounds=rounds, runs=runs, seed=seed).cumulative_regret[:, -1]


def measure(quick: bool) -> list[Measure]:
    """Times of the same cell, compilation excluded."""
    runs, rounds = (100, 100) if quick else (100, 1000)
    few, share = settings(NUMPY_RUNS, rounds), runs / NUMPY_RUNS
    works: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours(runs, rounds),
        "NumPy": lambda: numpy_baseline.langevin(arms(), **few),
    }
    if c_baseline.library() is not None:
        works["C"] = lambda: c_baseline.langevin(arms(), **settings(runs, rounds))
    for work in works.values():
        work()
    times = fastest(works, TURNS)
    loop = times["NumPy"].seconds * share
    measures = [
        Measure(PART, f"{name}, {runs} runs of {rounds} rounds", times[name].seconds, "s")
        for name in ("ours", "C")
        if name in times
    ]
    measures.append(Measure(PART, f"NumPy, one core, from {NUMPY_RUNS} runs", loop, "s"))
    if "C" in times:
        measures += [
            at_most(PART, "ours / C, clock", times["ours"].seconds / times["C"].seconds, 1.5),
            at_most(PART, "ours / C, all cores", times["ours"].cpu / times["C"].cpu, 1.5),
        ]
    else:
        measures.append(Measure(PART, "C: no compiler with OpenMP here", None, ""))
    measures.append(at_least(PART, "NumPy / ours, clock", loop / times["ours"].seconds, 50))
    return measures
