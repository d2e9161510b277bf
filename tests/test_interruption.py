"""A study that is killed in the middle, again and again, ends with the numbers of one that was not."""

import contextlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray as xr

from experiments.store import digest

WORDS = (
    "environment=sparse",
    "sampler=exact,mala",
    "environment.dim=3",
    "rounds=120",
    "runs=6",
    "diagnostics.runs=0",
)
KILLS = 4
PROGRAM = """
import sys
from experiments import runner
runner.SAVE_EVERY = 0.0
from experiments.cli import main
sys.argv = ["fgtsva", "run", *sys.argv[1:]]
main()
"""


def command(folder):
    return [sys.executable, "-c", PROGRAM, *WORDS, f"output={folder}"]


def finish(folder):
    done = subprocess.run(command(folder), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def killed(folder, patience):
    """Whether a process was killed after it had written so many files; it may have been through before that."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    before = written(folder)
    with subprocess.Popen(command(folder), **quiet) as process:
        seen: set = set()  # one file is written again and again
        while len(seen) < patience and process.poll() is None:
            seen |= written(folder) - before
            time.sleep(0.005)
        process.kill()
        return process.wait() == -signal.SIGKILL


def written(folder):
    """Every file that was completed, each time that it was."""
    found = set()
    for path in folder.rglob("*.nc"):
        with contextlib.suppress(FileNotFoundError):
            found.add((path, path.stat().st_mtime_ns))
    return found


def results(folder):
    with xr.open_datatree(Path(folder) / "results.nc", engine="h5netcdf") as tree:
        return {name: digest(cell.load()) for name, cell in tree["cells"].children.items()}


@pytest.mark.slow
def test_killed_at_random_points_a_study_ends_with_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[1])
    finish(tmp_path / "whole")
    luck, folder = random.Random(0), tmp_path / "cut"
    kills = [killed(folder, luck.randint(1, 4)) for _ in range(KILLS)]
    assert sum(kills) >= 2
    finish(folder)
    assert results(folder) == results(tmp_path / "whole")
    left = [path.name for path in (folder / "cells").iterdir()]
    assert sorted(left) == sorted(path.name for path in (tmp_path / "whole" / "cells").iterdir()), left
