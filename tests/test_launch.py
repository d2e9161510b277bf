"""A study on a Dask cluster: the same bits as in one process, whatever happens to the workers."""

import os
import signal
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from stored_bits import results

from experiments import cli, runner
from experiments.config import resolve
from experiments.launch import cluster, distribute, joined
from fgtsva_ppl import SGLD, Sparse, Thompson, simulate
from samplers.settings import InputError

SMALL = (
    "environment=sparse",
    "environment.dim=2",
    "rounds=20",
    "runs=6",
    "diagnostics.rounds=20",
    "diagnostics.runs=2",
)
DASK = ("launcher=dask", "launcher.workers=2", "launcher.slice=2", "devices=1")


def test_slices_of_runs_are_the_cell_to_the_bit():
    world, agent = Sparse(dim=2), Thompson(sampler=SGLD(steps=2))
    whole = simulate(world, agent, rounds=20, runs=5, probes=[7, 20])
    parts = [
        simulate(world, agent, rounds=20, runs=runs, first_run=first, probes=[7, 20])
        for first, runs in ((0, 2), (2, 2), (4, 1))
    ]
    made = joined(parts)
    for name in ("regret", "action", "acceptance", "diverged", "gradients", "restored", "impossible"):
        np.testing.assert_array_equal(getattr(made, name), getattr(whole, name))
    assert [kept.round for kept in made.snapshots] == [7, 20]
    for ours, theirs in zip(made.snapshots, whole.snapshots, strict=True):
        jax.tree.map(np.testing.assert_array_equal, ours.states, theirs.states)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["launcher=slurm"], "launcher='slurm' is not one of: here, dask"),
        (["launcher.workers=2"], "launcher.workers is a setting of launcher=dask"),
        (["launcher=dask", "launcher.workers=0"], "launcher.workers=0 must be a whole number, at least 1"),
        (["launcher=dask", "launcher.slice=x"], "launcher.slice='x' must be a whole number, at least 1"),
        (["devices=0"], "devices=0 must be a whole number, at least 1"),
        (["devices=1,2"], "devices takes one value, not 2"),
    ],
)
def test_a_launcher_that_cannot_be_is_one_line(words, said):
    with pytest.raises(InputError) as error:
        resolve([*SMALL, *words])
    assert str(error.value) == said


def test_more_devices_than_there_are_is_one_line(tmp_path):
    study = resolve([*SMALL, "devices=3", f"output={tmp_path / 'x'}"])
    with pytest.raises(InputError, match=r"^devices=3: this process has 2$"):
        runner.prepare(study)
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_one_line(monkeypatch):
    monkeypatch.setattr("experiments.launch.PATIENCE", 0.2)
    launcher = resolve([*SMALL, "launcher=dask", "launcher.address=tcp://127.0.0.1:9"]).launcher
    with (
        pytest.raises(InputError, match=r"^launcher.address=tcp://127.0.0.1:9 does not answer"),
        cluster(launcher),
    ):
        pass


@pytest.mark.slow
def test_a_killed_worker_costs_time_and_a_failing_cell_itself(tmp_path, monkeypatch, capfd):
    """Two worker processes, one of which is killed when the first cell is there; a cell whose data are gone."""
    monkeypatch.chdir(tmp_path)
    Path("here.csv").write_text("a,b,kind\n1,2,x\n3,4,y\n2,2,x\n5,1,y\n")
    words = (*SMALL, "diagnostics.runs=2", "sampler=exact,mala", "output=spread")
    monkeypatch.setattr(sys, "argv", ["fgtsva", "run", *words[:-1], "output=alone"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0

    study = resolve([*words, *DASK])
    folder, killed, warned = runner.prepare(study), [], []
    with cluster(study.launcher) as client:

        def kill(cell, rounds, diagnosed):
            if not killed:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        def launch(job, cells):
            return distribute(job, cells, client, study.launcher)

        outcome = runner.run(study, folder, kill, warned.append, launch)
        assert not outcome.failed
        assert killed
        assert killed[0] not in client.run(os.getpid).values()

        broken = resolve(
            [*SMALL, "diagnostics.runs=2", "environment=sparse,table", "environment.path=here.csv",
             "environment.label=kind", "reward=linear", "posterior=ts", "sampler=mala", "output=broken", *DASK]
        )  # fmt: skip
        place = runner.prepare(broken)
        Path("here.csv").unlink()
        outcome = runner.run(broken, place, runner._quiet, warned.append, launch)
    assert results("spread") == results("alone")
    (line,) = outcome.failed
    assert line.startswith("mala on table")
    assert "here.csv" in line
    assert {row["environment"]: row["status"] for row in outcome.rows} == {
        "sparse": "done",
        "table": "failed",
    }
