"""Two processes in one folder, and a disk that is full: a study ends with the same numbers."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.played_rounds import rest_is_slow
from helpers.stored_bits import OVERRIDES, results

from experiments.cli import commands
from experiments.storage import files
from experiments.storage.locks import Locks

PROGRAM = """
import sys
sys.argv = ["fgtsva", "run", *sys.argv[1:]]
from experiments.execute import checkpoint_file
checkpoint_file.SAVE_EVERY = 0.0
from experiments.cli import main
main()
"""


def command(folder, overrides=OVERRIDES):
    return [sys.executable, "-c", PROGRAM, *overrides, f"output={folder}"]


def finish(folder, overrides=OVERRIDES):
    done = subprocess.run(command(folder, overrides), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_two_processes_in_one_folder_share_the_work_and_end_with_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])
    finish(tmp_path / "alone")
    both = [
        subprocess.Popen(command(tmp_path / "shared"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(2)
    ]
    for process in both:
        output, _ = process.communicate()
        assert process.returncode == 0, output.decode()
    assert results(tmp_path / "shared") == results(tmp_path / "alone")
    assert not list((tmp_path / "shared").rglob("*.part"))
    assert not list((tmp_path / "shared").rglob("*.unfinished.nc"))


def test_a_lock_is_held_until_its_process_ends(tmp_path):
    """A child process takes one of two locks and holds it until it ends."""
    path = tmp_path / "lock"
    program = (
        "import sys; from pathlib import Path; from experiments.storage.locks import Locks\n"
        "with Locks(Path(sys.argv[1])) as locks: print(locks.acquire('a'), flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        Locks(path) as locks,
        subprocess.Popen(
            [sys.executable, "-c", program, str(path)], **pipes, cwd=Path(__file__).parents[3]
        ) as child,
    ):
        assert child.stdout.readline() == "True\n"
        assert not locks.acquire("a")
        assert locks.acquire("b")
        child.kill()
        child.wait()
        with locks.held("a"):
            pass


def run_here(*overrides):
    sys.argv = ["fgtsva", "run", *OVERRIDES, "rounds=12", "runs=3", *overrides]
    try:
        commands.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The results of the study without an error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [])
        folder = tmp_path_factory.mktemp("undisturbed")
        assert run_here(f"output={folder}") == 0
    return results(folder)


@pytest.mark.parametrize("when", rest_is_slow([0, 1, 3, 5], [3]))
def test_a_full_disk_is_one_line_and_the_same_command_continues(
    when, uninterrupted, tmp_path, monkeypatch, capsys
):
    """The n-th write fails: config, cells, tree, tables or report."""
    monkeypatch.setattr(sys, "argv", [])
    real, left = files._move, [when]

    def move(partial, path):
        left[0] -= 1
        if left[0] == -1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(partial, path)

    monkeypatch.setattr(files, "_move", move)
    capsys.readouterr()
    folder = tmp_path / "cut"
    code = run_here("--quiet", f"output={folder}")
    err = capsys.readouterr().err
    assert code == (2 if when == 0 else 1)  # the first is where the folder is claimed
    assert err.strip().count("\n") == 0, err
    assert "No space left on device" in err
    assert not list(folder.rglob("*.part"))
    assert run_here(f"output={folder}") == 0
    assert results(folder) == uninterrupted


@pytest.mark.slow
@pytest.mark.parametrize("size", [4000, 60000])
def test_a_file_size_limit_is_one_line_and_the_same_command_continues(size, tmp_path, monkeypatch):
    """The operating system stops writing in the middle of a file."""
    monkeypatch.chdir(Path(__file__).parents[3])
    folder = tmp_path / "cut"
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.RLIM_INFINITY))\n"
    interpreter, option, program, *overrides = command(folder)
    cut = subprocess.run(
        [interpreter, option, limit + program, *overrides],
        capture_output=True,
        text=True,
        env={**os.environ, "FGTSVA_CACHE": str(tmp_path / "cache")},
    )
    assert cut.returncode == 1, cut.stderr
    assert "Traceback" not in cut.stderr
    assert "cannot write to" in cut.stderr.splitlines()[-1]
    finish(folder)
    finish(tmp_path / "whole")
    assert results(folder) == results(tmp_path / "whole")
