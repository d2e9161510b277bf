"""What a person waits for: a question to an agent, a diagnosis, a compilation; and how much memory a long run takes."""

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

from experiments.bench.timing import Measure, at_least, at_most, once
from experiments.config.compose import resolve
from experiments.execute.diagnose import diagnose
from fgtsva_ppl import FGTSVA, MALA, Linear, ThompsonAgent, simulate

MANY = 1_000_000
RUNS, PROBES = 100, 12  # of a diagnosis that is to take minutes
COMPILING = """
import json
from jax import monitoring
from fgtsva_ppl import FGTSVA, Sparse, Thompson, simulate
from fgtsva_ppl.simulation import play_rounds
events = []
monitoring.register_event_listener(lambda event, **_: events.append(event.rpartition("/")[2]))
agents = [Thompson(posterior=FGTSVA(c=c)) for c in (0, 1, 2, 3)]
seconds = [simulate(Sparse(), agent, rounds=50, runs=1).seconds.compiling for agent in agents]
kept, found = (events.count(name) for name in ("cache_misses", "cache_hits"))
print(json.dumps([seconds[0], sum(seconds[1:]), play_rounds._cache_size(), kept, found]))
"""
MEMORY = """
import sys
from pathlib import Path
from fgtsva_ppl import FGTSVA, SGLD, Contextual, Linear, Logistic, Thompson, simulate
rounds, minibatch = map(int, sys.argv[1:])
reward = Logistic() if minibatch else Linear()  # keeps rows, or sums
agent = Thompson(reward, FGTSVA(variance="estimated"), SGLD(num_steps=1, batch_size=minibatch))
played = simulate(Contextual(arms=8), agent, rounds=rounds, runs=1, record_every=rounds // 1000)
assert played.regret.shape == (1, 1000)
# Not ru_maxrss, which begins with the peak of the process that started this one.
(peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(peak.split()[1])
"""


def asking(quick: bool) -> list[Measure]:
    """The time between a question and its answer, and between a reward and the next question."""
    rounds, warm = 100 if quick else 500, 20
    agent, rng = ThompsonAgent(Linear(), FGTSVA(), MALA(), horizon=rounds), np.random.default_rng(0)
    asked, told = [], []
    for _ in range(rounds):
        features = rng.normal(size=(50, 20)) / 20**0.5
        begin = time.perf_counter()
        agent.ask(features, 0.5)
        answered = time.perf_counter()
        agent.tell(rng.normal())
        asked.append(answered - begin)
        told.append(time.perf_counter() - answered)
    return [
        Measure("asking", f"{what}, median", 1e3 * statistics.median(times[warm:]), "ms")
        for what, times in (("ask (d=20, 50 arms, 20 MALA steps)", asked), ("tell", told))
    ]


def diagnosing(quick: bool) -> list[Measure]:
    """Looking into rounds of the default study's samplers, and what that comes to for a hundred runs at 12 rounds."""
    runs, probes = (2, (50,)) if quick else (10, (10, 100, 200))
    measures, first, each = [], 0.0, 0.0
    for cell in resolve(["environment=sparse", "rounds=200", f"runs={runs}"]).cells:
        played = simulate(cell.environment, cell.agent, rounds=200, runs=runs, probes=probes)
        looks = [once(partial(diagnose, cell, played.snapshots, runs, _nothing)).seconds for _ in range(2)]
        one = looks[1] / (runs * len(probes))
        first, each = first + looks[0] - looks[1], each + one
        name = f"a probed round of one run, {cell.flat['sampler']}"
        measures.append(Measure("diagnosing", name, 1e3 * one, "ms"))
    what = f"{RUNS} runs x {PROBES} rounds x {len(measures)} samplers, from these and with compiling"
    return [*measures, Measure("diagnosing", what, (first + RUNS * PROBES * each) / 60, "minutes")]


def _nothing() -> None:
    """Nobody is told."""


def compiling(quick: bool) -> list[Measure]:
    """A first process, a second one that finds its programs on disk, and three more settings in the same program."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (json.loads(_python(COMPILING, FGTSVA_CACHE=cache)) for _ in range(2))
    return [
        Measure("compiling", "MALA cell, nothing on disk", cold[0], "s"),
        Measure("compiling", "the same, programs on disk", warm[0], "s"),
        Measure("compiling", "saved by the cache", cold[0] / warm[0], "ratio"),
        Measure("compiling", "programs kept on disk, first process", cold[3], "programs"),
        at_least("compiling", "programs found on disk, second process", warm[4], cold[3], "programs"),
        at_most("compiling", "three more values of c", warm[1], 0.0, "s"),
        at_most("compiling", "programs for four values of c", warm[2], 1, "programs"),
    ]


def memory(quick: bool) -> list[Measure]:
    """Peak memory of long runs that tell a thousand points: one that keeps sums, and one that keeps every datum."""
    if not Path("/proc/self/status").exists():
        return [Measure("memory", "peak: only Linux tells", float("nan"), "MB")]
    many = MANY // 10 if quick else MANY
    short, long = (_peak(rounds) for rounds in (many // 10, many))
    kept = [_peak(rounds, minibatch=1) for rounds in (many // 20, many // 10, many // 5)]
    growth = (kept[2] - kept[1]) / max(kept[1] - kept[0], 1.0)
    return [
        Measure("memory", f"sums: peak, {many // 10} rounds", short, "MB"),
        Measure("memory", f"sums: peak, {many} rounds", long, "MB"),
        at_most("memory", "sums: ten times the rounds", long / short, 1.1),
        Measure("memory", f"rows: peak, {many // 10} rounds", kept[1], "MB"),
        Measure("memory", f"rows: peak, {many // 5} rounds", kept[2], "MB"),
        at_most("memory", "rows: what the second doubling adds, over the first", growth, 2.5),
    ]


def _peak(rounds: int, minibatch: int = 0) -> float:
    """With nothing on disk: compiling takes memory too, and one that finds its program would seem to need less."""
    with tempfile.TemporaryDirectory() as nothing:
        return float(_python(MEMORY, str(rounds), str(minibatch), FGTSVA_CACHE=nothing)) / 1024


def _python(program: str, *words: str, **variables: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables},
    )
    return done.stdout.splitlines()[-1]
