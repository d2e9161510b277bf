"""Worker processes compute cells of the same study, with identical results, and end with the main process."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray as xr

from experiments.config.compose import compose
from experiments.execute import local_workers, runner
from experiments.execute.estimate import Estimate
from experiments.execute.local_workers import COMMAND, num_processes
from samplers.errors import InputError

ROOT = Path(__file__).parents[3]
OVERRIDES = ("environment=sparse", "environment.dim=2", "sampler=exact,psgld,mala", "rounds=30", "runs=4")


def test_long_studies_get_worker_processes_and_short_ones_do_not(monkeypatch):
    monkeypatch.setenv("FGTSVA_PROCESSES", "8")
    study = compose(["sampler=exact,mala", "environment=sparse"])
    long, short = (Estimate(2, 0, 2, 1000, seconds) for seconds in (600.0, 5.0))
    assert num_processes(study, long, cores=2) == 2
    assert num_processes(study, long, cores=8) == 2  # no more than cells
    assert num_processes(study, long, cores=1) == 1
    assert num_processes(study, short, cores=2) == 1
    assert num_processes(compose(["devices=1", "sampler=exact"]), long, cores=2) == 1
    assert (
        num_processes(compose(["processes=3", "sampler=exact"]), Estimate(5, 1, 4, 1000, 5.0), cores=2) == 3
    )


def test_invalid_fgtsva_processes_is_rejected(monkeypatch):
    study, long = compose(["sampler=exact,mala", "environment=sparse"]), Estimate(2, 0, 2, 1000, 600.0)
    for invalid in ("two", "0", "-1"):
        monkeypatch.setenv("FGTSVA_PROCESSES", invalid)
        with pytest.raises(InputError, match="FGTSVA_PROCESSES"):
            num_processes(study, long, cores=2)
    monkeypatch.setenv("FGTSVA_PROCESSES", "")
    assert num_processes(study, long, cores=2) == 2


def test_worker_command_is_that_of_the_main_process(monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", ["python", "mine.py", "run", "rounds=3"])
    monkeypatch.setattr(sys, "argv", ["mine.py", "run", "rounds=3"])
    assert local_workers.worker_command() == [sys.executable, "mine.py"]
    monkeypatch.setattr(sys, "argv", ["fgtsva", "run", "rounds=4"])  # not what the process was called with
    assert local_workers.worker_command() == [sys.executable, "-c", local_workers.COMMAND]


def test_worker_computes_cells_that_are_not_stored(tmp_path):
    overrides = (
        *OVERRIDES,
        "sampler=psgld",
        "diagnostics.runs=0",
        f"output={tmp_path / 'here'}",
        "devices=1",
    )
    study = compose(overrides)
    folder = runner.prepare(study)
    runner.run_worker(study, folder)
    assert all(folder.holds(cell) for cell in study.cells)
    before = {path: path.stat().st_mtime_ns for path in folder.cells.glob("*.nc")}
    runner.run_worker(study, folder)
    assert before == {path: path.stat().st_mtime_ns for path in folder.cells.glob("*.nc")}


def command(folder, *overrides):
    return [sys.executable, "-c", COMMAND, "run", *OVERRIDES, f"output={folder}", *overrides]


@pytest.mark.slow
def test_results_with_worker_processes_are_identical(tmp_path):
    for folder, processes in (("alone", 1), ("together", 3)):
        overrides = (f"processes={processes}", "diagnostics.runs=1", "diagnostics.rounds=3")
        subprocess.run(command(tmp_path / folder, *overrides), check=True, cwd=ROOT, capture_output=True)
    alone, together = (xr.open_datatree(tmp_path / name / "results.nc") for name in ("alone", "together"))
    for node in alone.subtree:
        assert (
            node.to_dataset()
            .drop_vars("seconds", errors="ignore")
            .equals(together[node.path].to_dataset().drop_vars("seconds", errors="ignore"))
        )


@pytest.mark.slow
def test_worker_exits_with_its_main_process(tmp_path):
    long = ("processes=2", "rounds=200000", "diagnostics.runs=0")
    called = subprocess.Popen(
        command(tmp_path / "here", *long), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        pids = []
        while not pids:
            time.sleep(0.2)
            assert called.poll() is None
            pids = workers_of(called.pid)
    finally:
        called.kill()
        called.wait()
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return
        time.sleep(0.2)
    raise AssertionError("the worker is still running")


def workers_of(parent):
    """Worker processes of a main process."""
    if not os.path.isdir("/proc"):
        pytest.skip("no /proc")
    command_lines = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command_lines[path.parent.name] = path.read_bytes().split(b"\0")
        except OSError:
            continue
    return [
        pid
        for pid, arguments in command_lines.items()
        if b"--worker-of" in arguments and str(parent).encode() in arguments
    ]
