"""Interruption: a study that is killed or interrupted continues and ends with the same numbers."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.played_rounds import rest_is_slow
from helpers.stored_bits import OVERRIDES, results

from experiments.cli import signals

LONGER = (*OVERRIDES, "rounds=16000", "record_every=16")
KILLS, ENOUGH = 14, 8  # how many are tried, how many must come before the end
LONG = (
    "environment=sparse",
    "environment.dim=2",
    "sampler=sgld",
    "rounds=64000",
    "record_every=128",
    "runs=2",
    "diagnostics.runs=0",
)
HANG = 60.0  # seconds
PROGRAM = """
import sys
sys.argv = ["fgtsva", "run", *sys.argv[1:]]
from experiments.execute import checkpoint_file
checkpoint_file.SAVE_EVERY = 0.0
from experiments.cli import main
main()
"""
LOADING = """
import sys
print("loading", flush=True)
sys.argv[0] = "fgtsva"
from experiments.cli import main
main()
"""


def command(folder, overrides=OVERRIDES):
    return [sys.executable, "-c", PROGRAM, *overrides, f"output={folder}"]


@pytest.fixture(autouse=True)
def restore_sigint():
    """Processes started here receive Ctrl-C, also when the tests run in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(process, group=False):
    """The output after Ctrl-C, which a terminal sends to the whole group; a process that does not end is killed."""
    if group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=HANG)[1]
    finally:
        process.kill()


def exit_text(folder):
    return f"Interrupted. Finished results are kept in {folder}\nThe same command continues from there.\n"


def finish(folder, overrides=OVERRIDES):
    done = subprocess.run(command(folder, overrides), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def killed(folder, rng, length):
    """Whether a process was killed: at any time, or a while after it had written a file. It may have finished."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    anytime, before = rng.random() < 0.4, written(folder)
    with subprocess.Popen(command(folder, LONGER), **quiet) as process:
        while not anytime and written(folder) <= before and process.poll() is None:
            time.sleep(0.005)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0, length if anytime else 1.0))
        process.kill()
        return process.wait() == -signal.SIGKILL


def written(folder):
    """Every file that was completed, each time that it was."""
    files = set()
    for path in folder.rglob("*.nc"):
        with contextlib.suppress(FileNotFoundError):
            files.add((path, path.stat().st_mtime_ns))
    return files


@pytest.mark.slow
def test_a_study_killed_at_random_points_ends_with_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])
    started = time.monotonic()
    finish(tmp_path / "whole", LONGER)
    length, rng, folder = time.monotonic() - started, random.Random(0), tmp_path / "cut"
    assert sum(killed(folder, rng, length) for _ in range(KILLS)) >= ENOUGH
    finish(folder, LONGER)
    assert results(folder) == results(tmp_path / "whole")
    left = [path.name for path in (folder / "cells").iterdir()]
    assert sorted(left) == sorted(path.name for path in (tmp_path / "whole" / "cells").iterdir()), left


@pytest.mark.slow
def test_ctrl_c_while_computing_exits_at_once_and_the_study_continues_to_the_same_bits(tmp_path, monkeypatch):
    """What JAX has under way is not waited for: at the end of a process that can take a minute, or crash."""
    monkeypatch.chdir(Path(__file__).parents[3])
    folder = tmp_path / "cut"
    with subprocess.Popen(command(folder, LONG), stderr=subprocess.PIPE, text=True) as process:
        while not list(folder.rglob("*.unfinished.nc")):
            assert process.poll() is None
            time.sleep(0.05)
        output = interrupt(process)
    assert (process.returncode, output) == (130, exit_text(folder))
    assert list(folder.rglob("*.unfinished.nc"))
    finish(folder, LONG)
    finish(tmp_path / "whole", LONG)
    assert results(folder) == results(tmp_path / "whole")


@pytest.mark.slow
def test_ctrl_c_during_startup_exits_without_a_traceback(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])
    rng = random.Random(0)
    for _ in range(6):
        called = [sys.executable, "-c", LOADING, "run", *LONG, f"output={tmp_path / 'cut'}"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(called, **pipes) as process:
            assert process.stdout.readline() == "loading\n"
            time.sleep(rng.uniform(0.2, 4))  # not before the first line is through
            output = interrupt(process)
        assert (process.returncode, output) in ((130, "Interrupted.\n"), (130, exit_text(tmp_path / "cut")))


OTHER = "raise ValueError('Cache keys should be comparable')"
DEAF = """
import sys, time
sys.argv = ["fgtsva", "run", *sys.argv[1:]]
from experiments.execute import job
def simulate(*_, **__):
    print("computing", flush=True)
    while True:
        try:
            time.sleep(60)
        except BaseException:
            {instead}
job.simulate = simulate
from experiments.cli import main
main()
"""


@pytest.mark.parametrize("instead", rest_is_slow(["pass", OTHER], [OTHER]))
def test_libraries_cannot_swallow_ctrl_c(instead, tmp_path):
    """As JAX does, in bare excepts and where it compares what it has compiled."""
    called = [sys.executable, "-c", DEAF.format(instead=instead), *OVERRIDES, f"output={tmp_path / 'cut'}"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(called, **pipes, cwd=Path(__file__).parents[3]) as process:
        while process.stdout.readline() != "computing\n":
            assert process.poll() is None
        output = interrupt(process)
    assert (process.returncode, output) == (130, exit_text(tmp_path / "cut"))
    assert not (tmp_path / "cut" / "summary.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize("workers", ["processes=2", "backend=dask"])
def test_ctrl_c_ends_worker_processes(workers, group, tmp_path, monkeypatch):
    """On a terminal the others are interrupted too; elsewhere they go when this process is gone."""
    monkeypatch.chdir(Path(__file__).parents[3])
    alone = (*OVERRIDES, "runs=8", "rounds=3200", "record_every=16")
    overrides = (*alone, workers, *(["backend.runs_per_task=2"] if workers == "backend=dask" else []))
    folder, mark = tmp_path / "cut", f"fgtsva-test-{os.getpid()}"
    script = tmp_path / "fgtsva"  # as it is installed: a worker process reads its file again
    script.write_text("from experiments.cli import main\nif __name__ == '__main__':\n    main()\n")
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    own = {
        "env": {**os.environ, "PYTHONPATH": str(Path.cwd()), "FGTSVA_MARK": mark},
        "start_new_session": True,
    }
    called = [sys.executable, str(script), "run", *overrides, f"output={folder}"]
    with subprocess.Popen(called, **pipes, **own) as process:
        while not list(folder.rglob("cells/*.nc")):
            assert process.poll() is None
            time.sleep(0.05)
        assert len(marked(mark)) > 1
        output = interrupt(process, group)
    assert (process.returncode, output) == (130, exit_text(folder))
    for _ in range(100):
        if not marked(mark):
            break
        time.sleep(0.1)
    assert not marked(mark)
    finish(folder, overrides)
    finish(tmp_path / "whole", alone)
    assert results(folder) == results(tmp_path / "whole")


def test_exit_message_replaces_the_progress_lines():
    with signals.exit_message("kept", "go on"), signals.replacing_lines(2):
        assert signals._exit_text(terminal=False) == "kept\ngo on\n"
        assert signals._exit_text(terminal=True) == "\x1b[1A\r\x1b[J\x1b[?25hkept\ngo on\n"
    assert signals._exit_text(terminal=False) == "Interrupted.\n"


def marked(mark):
    """Processes that have a mark in their environment."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            pids += [path.parent.name] if mark.encode() in path.read_bytes() else []
    return pids
