"""A study that is killed in the middle, again and again, ends with the numbers of one that was not."""

import contextlib
import os
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


def begin(*words):
    command = [sys.executable, "-c", PROGRAM, *WORDS, *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ)


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
    assert begin(f"output={tmp_path / 'whole'}").wait() == 0
    luck, folder = random.Random(0), tmp_path / "cut"
    for _ in range(KILLS):
        process = begin(f"output={folder}")
        before, patience = written(folder), luck.randint(1, 6)  # files written before it is killed
        while len(written(folder) - before) < patience and process.poll() is None:
            time.sleep(0.02)
        process.kill()
        assert process.wait() == -signal.SIGKILL, process.stderr.read().decode()
    process = begin(f"output={folder}")
    assert process.wait() == 0, process.stderr.read().decode()
    assert results(folder) == results(tmp_path / "whole")
    left = [path.name for path in (tmp_path / "cut" / "cells").iterdir()]
    assert sorted(left) == sorted(path.name for path in (tmp_path / "whole" / "cells").iterdir()), left
