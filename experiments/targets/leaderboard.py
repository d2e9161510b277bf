"""Measures samplers in processes of their own, each with a time limit, and collects one table."""

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

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
    "mean_error",
    "covariance_error",
    "mmd",
    "status",
    "reason",
)
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
    rows: list[dict[str, Any]] = []
    for sampler in [REFERENCE, *samplers]:
        for line in _measured(folder, sampler, names, limits):
            shown = sampler.rpartition(":")[2]
            common = {"target": line["target"], "sampler": shown}
            if "rows" in line:
                rows += [{**common, "status": "done", "reason": "", **row} for row in line["rows"]]
            else:
                rows.append({**common, "mode": "", "status": "failed", "reason": line["reason"]})
            progress(f"{shown} on {line['target']}: {line.get('reason', 'done')}")
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS))


def standings(table: pd.DataFrame) -> pd.DataFrame:
    """Best first: for each sampler the mean over targets of log2(error / error of reference draws), following.

    A failed target counts as the worst error that any sampler has on it.
    """
    error = "sliced_wasserstein"
    floors = table[table["sampler"] == REFERENCE].set_index("target")[error]
    entries = []
    for sampler, group in table[table["sampler"] != REFERENCE].groupby("sampler", sort=False):
        done = group[group["mode"] == "following"].set_index("target")
        worst = table[table["mode"] == "following"].groupby("target")[error].max()
        ratios = [
            math.log2(max((done[error].get(name, worst.get(name, math.nan))) / floors[name], 1e-3))
            for name in floors.index
            if floors[name] > 0
        ]
        entries.append(
            {
                "sampler": sampler,
                "score": sum(ratios) / len(ratios) if ratios else math.nan,
                "gradients": done["gradients"].mean(),
                "seconds": done["seconds"].mean(),
                "num_failed": int((group["status"] == "failed").sum()),
            }
        )
    return pd.DataFrame(entries).sort_values(["num_failed", "score"], ignore_index=True)


def _measured(folder: Path, sampler: str, names: list[str], limits: Limits) -> Iterator[dict[str, Any]]:
    """A line per target. A process that is too slow or dies is started again for the targets after that."""
    left = list(names)
    while left:
        with tempfile.TemporaryDirectory() as scratch:
            output = Path(scratch) / "rows.jsonl"
            request = {
                "folder": str(folder),
                "sampler": sampler,
                "targets": left,
                "output": str(output),
                "num_chains": limits.num_chains,
                "calls": limits.calls,
            }
            command = [sys.executable, "-m", "experiments.targets.worker", json.dumps(request)]
            with open(Path(scratch) / "stderr", "w+") as log:
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
                try:
                    for line in _lines(process, output, limits.seconds):
                        left.remove(line["target"])
                        yield line
                finally:
                    process.kill()
                    process.wait()
                if left:
                    log.seek(0)
                    last = (log.read().strip().splitlines() or ["no message"])[-1][:300]
                    hangs = process.returncode == -9
                    why = (
                        f"no answer within {limits.seconds:g} seconds" if hangs else f"process ended: {last}"
                    )
                    yield {"target": left.pop(0), "reason": why}


def _lines(process: "subprocess.Popen[bytes]", output: Path, seconds: float) -> Iterator[dict[str, Any]]:
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
        if ended or time.monotonic() > deadline:
            return
        time.sleep(POLL_SECONDS)
