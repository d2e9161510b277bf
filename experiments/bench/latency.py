"""Latency of ask/tell, diagnostics and compilation, and peak memory of long runs."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from experiments.bench.timing import Measure, at_least, at_most, time_once
from experiments.config.compose import compose
from experiments.execute.diagnose import diagnose
from fgtsva_ppl import FGTSVA, MALA, Linear, ThompsonAgent, simulate

MANY = 1_000_000
RUNS, PROBES = 100, 12  # of the diagnosed study whose time is extrapolated
COMPILING = """
import json
from jax import monitoring
from fgtsva_ppl import FGTSVA, Sparse, Thompson, simulate
from fgtsva_ppl.simulation import play_rounds
events = []
monitoring.register_event_listener(lambda event, **_: events.append(event.rpartition("/")[2]))
agents = [Thompson(posterior=FGTSVA(c=c)) for c in (0, 1, 2, 3)]
seconds = [simulate(Sparse(), agent, rounds=50, runs=1).seconds.compiling for agent in agents]
misses, hits = (events.count(name) for name in ("cache_misses", "cache_hits"))
print(json.dumps([seconds[0], sum(seconds[1:]), play_rounds._cache_size(), misses, hits]))
"""
MEMORY = """
import sys
from pathlib import Path
from fgtsva_ppl import FGTSVA, SGLD, Contextual, Linear, Logistic, Thompson, simulate
rounds, minibatch = map(int, sys.argv[1:])
reward = Logistic() if minibatch else Linear()  # replay buffer, or sufficient statistics
agent = Thompson(reward, FGTSVA(variance="estimated"), SGLD(num_steps=1, batch_size=minibatch))
simulation = simulate(Contextual(arms=8), agent, rounds=rounds, runs=1, record_every=rounds // 1000)
assert simulation.regret.shape == (1, 1000)
# Not ru_maxrss, which includes the peak of the parent process.
(peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(peak.split()[1])
"""


def asking(quick: bool) -> list[Measure]:
    """Time of `ask` and of `tell`."""
    rounds, warm = 100 if quick else 500, 20
    agent, rng = ThompsonAgent(Linear(), FGTSVA(), MALA(), horizon=rounds), np.random.default_rng(0)
    ask_times, tell_times = [], []
    for _ in range(rounds):
        features = rng.normal(size=(50, 20)) / 20**0.5
        begin = time.perf_counter()
        agent.ask(features, 0.5)
        answered = time.perf_counter()
        agent.tell(rng.normal())
        ask_times.append(answered - begin)
        tell_times.append(time.perf_counter() - answered)
    return [
        Measure("asking", f"{what}, median", 1e3 * statistics.median(times[warm:]), "ms")
        for what, times in (("ask (d=20, 50 arms, 20 MALA steps)", ask_times), ("tell", tell_times))
    ]


def diagnosing(quick: bool) -> list[Measure]:
    """Time to diagnose a round per sampler of the default study, extrapolated to 100 runs at 12 rounds."""
    runs, probes = (2, (50,)) if quick else (10, (10, 100, 200))
    measures, first, each = [], 0.0, 0.0
    for cell in compose(["environment=sparse", "rounds=200", f"runs={runs}"]).cells:
        simulation = simulate(cell.environment, cell.agent, rounds=200, runs=runs, probes=probes)
        times = [
            time_once(partial(diagnose, cell, simulation.snapshots, runs, _ignore_progress)).seconds
            for _ in range(2)
        ]
        per_round = times[1] / (runs * len(probes))
        first, each = first + times[0] - times[1], each + per_round
        name = f"a probed round of one run, {cell.flat['sampler']}"
        measures.append(Measure("diagnosing", name, 1e3 * per_round, "ms"))
    what = f"{RUNS} runs x {PROBES} rounds x {len(measures)} samplers, from these and with compiling"
    return [*measures, Measure("diagnosing", what, (first + RUNS * PROBES * each) / 60, "minutes")]


def _ignore_progress() -> None:
    """The benchmark shows no progress."""


def compiling(quick: bool) -> list[Measure]:
    """Compilation in a fresh process, in one that finds the cached programs, and for three more settings of c."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (json.loads(_python(COMPILING, FGTSVA_CACHE=cache)) for _ in range(2))
    return [
        Measure("compiling", "MALA cell, nothing on disk", cold[0], "s"),
        Measure("compiling", "the same, programs on disk", warm[0], "s"),
        Measure("compiling", "saved by the cache", cold[0] / warm[0], "ratio"),
        Measure("compiling", "programs written to disk, first process", cold[3], "programs"),
        at_least("compiling", "programs read from disk, second process", warm[4], cold[3], "programs"),
        at_most("compiling", "three more values of c", warm[1], 0.0, "s"),
        at_most("compiling", "programs for four values of c", warm[2], 1, "programs"),
    ]


def memory(quick: bool) -> list[Measure]:
    """Peak memory of long runs, with sufficient statistics and with a replay buffer."""
    if not Path("/proc/self/status").exists():
        return [Measure("memory", "peak: only known on Linux", float("nan"), "MB")]
    many = MANY // 10 if quick else MANY
    short, long = (_peak(rounds) for rounds in (many // 10, many))
    kept = [_peak(rounds, minibatch=1) for rounds in (many // 20, many // 10, many // 5)]
    growth = (kept[2] - kept[1]) / max(kept[1] - kept[0], 1.0)
    return [
        Measure("memory", f"sufficient statistics: peak, {many // 10} rounds", short, "MB"),
        Measure("memory", f"sufficient statistics: peak, {many} rounds", long, "MB"),
        at_most("memory", "sufficient statistics: ten times the rounds", long / short, 1.1),
        Measure("memory", f"replay buffer: peak, {many // 10} rounds", kept[1], "MB"),
        Measure("memory", f"replay buffer: peak, {many // 5} rounds", kept[2], "MB"),
        at_most("memory", "replay buffer: memory added by the second doubling over the first", growth, 2.5),
    ]


def _peak(rounds: int, minibatch: int = 0) -> float:
    """Peak memory in MB with an empty compilation cache, because compiling takes memory too."""
    with tempfile.TemporaryDirectory() as nothing:
        return float(_python(MEMORY, str(rounds), str(minibatch), FGTSVA_CACHE=nothing)) / 1024


def _python(program: str, *arguments: str, **variables: str) -> str:
    """The last line that a fresh Python process prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables},
    )
    return done.stdout.splitlines()[-1]
