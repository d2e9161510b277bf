"""Measures samplers in processes of their own, each with a time limit, and collects one table."""

import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments.targets.sequences import stored_names
from experiments.targets.worker import REFERENCE
from samplers.errors import InputError
from samplers.registry import SAMPLERS

COLUMNS = (
    "target",
    "sampler",
    "mode",
    "calls",
    "gradients",
    "seconds",
    "action_tv",
    "action_tv_floor",
    "sliced_wasserstein",
    "sliced_wasserstein_se",
    "mean_error",
    "covariance_error",
    "mmd",
    "stein_discrepancy",
    "classifier_accuracy",
    "pareto_khat",
    "status",
    "reason",
)
ERRORS = {
    "sliced_wasserstein": "sliced Wasserstein distance, sd",
    "action_tv": "total variation of actions",
    "mean_error": "error of the mean, sd",
    "covariance_error": "error of the covariance, sd",
    "mmd": "MMD",
}
NOT_COMPARED = ("exact", "control")  # families: the reference itself, and negative controls
POLL_SECONDS = 0.05
STARTUP_SECONDS = 120.0  # to import JAX, before the time limit counts


class Limits(NamedTuple):
    """What every sampler gets: chains, draws, and seconds per target (compilation included)."""

    num_chains: int
    calls: tuple[int, ...]
    seconds: float


def check_spec(spec: str) -> str:
    """Raises InputError if a sampler is neither registered nor in a file that exists."""
    if ":" in spec:
        path = spec.rpartition(":")[0]
        if not Path(path).is_file():
            raise InputError(f"--sampler {spec}: there is no file {path}; the form is path/to/file.py:Class")
        return spec
    SAMPLERS[spec]  # raises with the valid names
    return spec


def registered_samplers() -> list[str]:
    """The names of all samplers that are compared."""
    return [name for name, cls in SAMPLERS if cls.info.family not in NOT_COMPARED]


def run(
    folder: Path, samplers: list[str], limits: Limits, progress: Callable[[str], None] = lambda line: None
) -> pd.DataFrame:
    """Measures every sampler on every target of a folder.

    Args:
        folder: Of `export`.
        samplers: Registered names, or `file.py:Class`.
        limits: What every sampler gets.
        progress: Called with a line per sampler and target.

    Returns:
        A row per point. A sampler that raises, hangs, crashes or returns NaN, and a target that cannot be read, have
        one row with `status` failed and a `reason`.
    """
    names = stored_names(folder)
    cores: SimpleQueue[int] = SimpleQueue()
    for core in available_cores():
        cores.put(core)

    stop = threading.Event()

    def one(sampler: str) -> list[dict[str, Any]]:
        core, shown = cores.get(), sampler.rpartition(":")[2]
        rows: list[dict[str, Any]] = []
        try:
            for line in _measured(folder, sampler, names, limits, core, stop):
                common = {"target": line["target"], "sampler": shown}
                if "rows" in line:
                    rows += [{**common, "status": "done", "reason": "", **row} for row in line["rows"]]
                else:
                    rows.append({**common, "mode": "", "status": "failed", "reason": line["reason"]})
                progress(f"{shown} on {line['target']}: {line.get('reason', 'done')}")
        finally:
            cores.put(core)
        return rows

    with ThreadPoolExecutor(len(available_cores())) as pool:
        try:
            rows = [row for rows in pool.map(one, [REFERENCE, *samplers]) for row in rows]
        finally:  # interrupted: the processes end, and no further one is started
            stop.set()
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS))


def described(folder: Path) -> dict[str, dict[str, Any]]:
    """What is said about each target of a folder; nothing about one whose facts cannot be read."""
    found = {}
    for name in stored_names(folder):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            facts = json.loads((folder / f"{name}.json").read_text())
            kinds = Counter(one["kind"] for one in facts["references"])
            size = sum(math.prod(site["shape"]) for site in facts["sites"])
            references = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
            found[name] = {"parameters": size, "title": facts["title"], "references": references}
    return found


def available_cores() -> list[int]:
    """The cores that this process may use; each measures one sampler at a time."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]


def standings(table: pd.DataFrame) -> pd.DataFrame:
    """Best first: for each sampler the mean over targets of log2(error / error of reference draws), following.

    A failed target counts as the worst error that any sampler has on it. `score_se` has the chains' share of the
    uncertainty, by the delta method; `within_2x` and `gradients_to_2x` are of cold chains.
    """
    error = "sliced_wasserstein"
    floors = table[table["sampler"] == REFERENCE].set_index("target")[error]
    floors = floors[floors > 0]
    worst = table[table["mode"] == "following"].groupby("target")[error].max()
    entries = []
    for sampler, group in table[table["sampler"] != REFERENCE].groupby("sampler", sort=False):
        done = group[group["mode"] == "following"].set_index("target")
        errors = pd.Series({name: done[error].get(name, worst.get(name, math.nan)) for name in floors.index})
        ratios = np.log2(np.maximum(errors / floors, 1e-3))
        relative = (done["sliced_wasserstein_se"] / done[error]).reindex(floors.index).fillna(0.0)
        cold = group[group["mode"] == "cold"]
        enough = cold[error] <= 2 * cold["target"].map(floors).astype(float)
        near = cold[enough].groupby("target")["gradients"].min()
        entries.append(
            {
                "sampler": sampler,
                "score": float(ratios.mean()) if len(ratios) else math.nan,
                "score_se": float(np.sqrt(np.sum(relative**2)) / math.log(2) / max(len(floors), 1)),
                "gradients": done["gradients"].mean(),
                "seconds": done["seconds"].mean(),
                "within_2x": len(near),
                "gradients_to_2x": near.median(),
                "num_failed": int((group["status"] == "failed").sum()),
            }
        )
    return pd.DataFrame(entries).sort_values(["score", "num_failed"], ignore_index=True)


def _measured(
    folder: Path, sampler: str, names: list[str], limits: Limits, core: int, stop: threading.Event
) -> Iterator[dict[str, Any]]:
    """A line per target. A process that is too slow or dies is started again for the targets after that."""
    left = list(names)
    while left and not stop.is_set():
        with tempfile.TemporaryDirectory() as scratch:
            output = Path(scratch) / "rows.jsonl"
            request = {
                "folder": str(folder),
                "sampler": sampler,
                "targets": left,
                "output": str(output),
                "num_chains": limits.num_chains,
                "calls": limits.calls,
                "core": core,
            }
            command = [sys.executable, "-m", "experiments.targets.worker", json.dumps(request)]
            with open(Path(scratch) / "stderr", "w+") as log:
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
                try:
                    for line in _lines(process, output, limits.seconds, stop):
                        left.remove(line["target"])
                        yield line
                finally:
                    hangs = process.poll() is None
                    process.kill()
                    process.wait()
                if left:
                    log.seek(0)
                    last = (log.read().strip().splitlines() or ["no message"])[-1][:300]
                    why = f"process ended with status {process.returncode}: {last}"
                    if hangs:
                        why = f"no answer within {limits.seconds:g} seconds"
                    yield {"target": left.pop(0), "reason": why}


def _lines(
    process: "subprocess.Popen[bytes]", output: Path, seconds: float, stop: threading.Event
) -> Iterator[dict[str, Any]]:
    """The lines that a process writes, until it ends or takes too long for one."""
    num_seen, deadline = 0, time.monotonic() + STARTUP_SECONDS
    while True:
        ended = process.poll() is not None
        complete = output.read_text().split("\n")[:-1] if output.exists() else []
        for line in complete[num_seen:]:
            num_seen, deadline = num_seen + 1, time.monotonic() + seconds
            content = json.loads(line)
            if "target" in content:
                yield content
        if ended or stop.is_set() or time.monotonic() > deadline:
            return
        time.sleep(POLL_SECONDS)
