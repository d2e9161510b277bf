"""A study on a Dask cluster: the same bits as in one process, even if workers die."""

import os
import signal
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from distributed import Client, LocalCluster
from helpers.stored_bits import results

from experiments.cli import commands
from experiments.config.compose import compose
from experiments.execute import job, runner
from experiments.execute.cell_status import DONE
from experiments.execute.dask_backend import concatenate_runs, connect, distribute
from experiments.report.analyse import analyse
from experiments.storage import folder as store
from fgtsva_ppl import SGLD, Sparse, Thompson, simulate
from fgtsva_ppl.simulation import Record
from samplers.errors import InputError

SMALL = (
    "environment=sparse",
    "environment.dim=2",
    "rounds=20",
    "runs=6",
    "diagnostics.rounds=20",
    "diagnostics.runs=2",
)
DASK = ("backend=dask", "backend.workers=2", "backend.runs_per_task=2", "devices=1")


def test_slices_of_runs_are_the_cell_to_the_bit():
    environment, agent = Sparse(dim=2), Thompson(sampler=SGLD(num_steps=2))
    whole = simulate(environment, agent, rounds=20, runs=5, probes=[7, 20])
    parts = [
        simulate(environment, agent, rounds=20, runs=runs, first_run=first, probes=[7, 20])
        for first, runs in ((0, 2), (2, 2), (4, 1))
    ]
    joined = concatenate_runs(parts)
    for name in (*Record.fields(), "outside_support"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
    assert [kept.round for kept in joined.snapshots] == [7, 20]
    for ours, theirs in zip(joined.snapshots, whole.snapshots, strict=True):
        jax.tree.map(np.testing.assert_array_equal, ours.states, theirs.states)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["backend=slurm"], "backend='slurm' is not one of: local, dask"),
        (["backend.workers=2"], "backend.workers is a setting of backend=dask"),
        (["backend=dask", "backend.workers=0"], "backend.workers=0 must be a whole number, at least 1"),
        (
            ["backend=dask", "backend.runs_per_task=x"],
            "backend.runs_per_task='x' must be a whole number, at least 1",
        ),
        (["devices=0"], "devices=0 must be a whole number, at least 1"),
        (["devices=1,2"], "devices takes one value, not 2"),
    ],
)
def test_an_invalid_backend_is_one_line(overrides, message):
    with pytest.raises(InputError) as error:
        compose([*SMALL, *overrides])
    assert str(error.value) == message


def test_too_many_devices_is_one_line(tmp_path):
    study = compose([*SMALL, "devices=3", f"output={tmp_path / 'x'}"])
    with pytest.raises(InputError, match=r"^devices=3: this process has 2$"):
        runner.prepare(study)
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_one_line(monkeypatch):
    monkeypatch.setattr("experiments.execute.dask_backend.TIMEOUT", 0.2)
    backend = compose([*SMALL, "backend=dask", "backend.address=tcp://127.0.0.1:9"]).backend
    with (
        pytest.raises(InputError, match=r"^backend.address=tcp://127.0.0.1:9 does not answer"),
        connect(backend),
    ):
        pass


@pytest.mark.slow
def test_finished_slices_are_not_computed_again(tmp_path, monkeypatch):
    """The process that sends them out is interrupted after the first one."""
    alone = compose([*SMALL, "sampler=mala", f"output={tmp_path / 'alone'}"])
    runner.execute(alone, runner.prepare(alone))
    study = compose([*SMALL, "sampler=mala", f"output={tmp_path / 'cut'}", *DASK])
    (cell,), folder, sent, real = study.cells, runner.prepare(study), [], store.Folder.write

    def interrupted(self, cell, tree, kind=""):
        real(self, cell, tree, kind)
        raise KeyboardInterrupt

    def go(client):
        def submit(work, cell, *arguments, **settings):
            sent.append(arguments[:2])
            return client.submit(work, cell, *arguments, **settings)

        watched = SimpleNamespace(submit=submit)
        return runner.execute(
            study, folder, backend=partial(distribute, client=watched, backend=study.backend)
        )

    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        with monkeypatch.context() as patch:
            patch.setattr(store.Folder, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                go(client)
        assert sorted(sent) == [(0, 2), (2, 2), (4, 2)]
        (kept,) = folder.cells.glob("*.slice-*.nc")
        assert not folder.holds(cell)
        sent.clear()
        assert set(go(client).values()) == {DONE}
    assert len(sent) == 3  # two slices, and the diagnosis
    assert kept.name not in {f"{cell.id}.slice-{first}-{runs}.nc" for first, runs in sent[:2]}
    assert results(tmp_path / "cut") == results(tmp_path / "alone")
    assert not list(folder.cells.glob("*.slice-*.nc"))


@pytest.mark.slow
def test_the_command_uses_a_running_scheduler(tmp_path, monkeypatch):
    def call(*overrides):
        monkeypatch.setattr(
            sys, "argv", ["fgtsva", "run", *SMALL, "sampler=exact,mala", "--quiet", *overrides]
        )
        with pytest.raises(SystemExit) as stop:
            commands.main()
        return stop.value.code

    assert call(f"output={tmp_path / 'alone'}") == 0
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as there:
        monkeypatch.setattr(job, "simulate", lambda *_, **__: pytest.fail("computed here"))
        overrides = (
            "backend=dask",
            "backend.runs_per_task=2",
            "devices=1",
            f"backend.address={there.scheduler_address}",
        )
        assert call(f"output={tmp_path / 'spread'}", *overrides) == 0
    assert results(tmp_path / "spread") == results(tmp_path / "alone")


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_a_failing_cell_reported(tmp_path, monkeypatch, capfd):
    """Two worker processes, one of which is killed when the first cell is there; a cell whose data are gone."""
    monkeypatch.chdir(tmp_path)
    Path("here.csv").write_text("a,b,kind\n1,2,x\n3,4,y\n2,2,x\n5,1,y\n")
    overrides = (*SMALL, "diagnostics.runs=2", "sampler=exact,mala", "output=spread")
    monkeypatch.setattr(sys, "argv", ["fgtsva", "run", *overrides[:-1], "output=alone"])
    with pytest.raises(SystemExit) as stop:
        commands.main()
    assert stop.value.code == 0

    study = compose([*overrides, *DASK])
    folder, killed, warned = runner.prepare(study), [], []
    with connect(study.backend) as client:

        def kill(cell, rounds, diagnosed):
            if not killed:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        def launch(study_job, cells):
            return distribute(study_job, cells, client, study.backend)

        status = runner.execute(study, folder, kill, warned.append, launch)
        assert set(status.values()) == {DONE}
        assert killed
        assert killed[0] not in client.run(os.getpid).values()

        broken = compose(
            [*SMALL, "diagnostics.runs=2", "environment=sparse,table", "environment.path=here.csv",
             "environment.label=kind", "reward=linear", "posterior=ts", "sampler=mala", "output=broken", *DASK]
        )  # fmt: skip
        prepared = runner.prepare(broken)
        Path("here.csv").unlink()
        runner.execute(broken, prepared, warn=warned.append, backend=launch)
    assert results("spread") == results("alone")
    analysis = analyse(prepared.path, warned.append)
    (line,) = analysis.failures
    assert line.startswith("mala on table")
    assert "here.csv" in line
    assert {row["environment"]: row["status"] for row in analysis.rows} == {
        "sparse": "done",
        "table": "failed",
    }
