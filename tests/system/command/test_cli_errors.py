"""Mistakes on the command line: one clear line, exit code 2, and nothing written or overwritten."""

import errno
import os
from pathlib import Path

import pytest

from experiments.config.compose import compose
from experiments.execute import job
from samplers.errors import InputError

SMALL = ("environment=sparse", "sampler=exact,mala", "rounds=12", "runs=3", "diagnostics.runs=0")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["sampler=malla"], ["mala", "nuts"]),
        (["environment=spars"], ["sparse", "contextual"]),
        (["posterior=fgts"], ["fgts_va", "ts"]),
        (["agent=tompson"], ["thompson"]),
        (["study=figure0"], ["default"]),
        (["sampler.num_stpes=3"], ["did you mean 'sampler.num_steps'"]),
        (["posterior.cc=1"], ["did you mean 'posterior.c'"]),
        (["sampler.batch_size=8", "sampler=mala"], ["batch_size", "sgld, psgld"]),
        (
            ["sampler.adaptation=dual_averaging", "agent.warm_start=false", "sampler=hmc"],
            ["sampler.adaptation", "warm_start=false"],
        ),
        (["output="], ["path"]),
        (["study=budget", "bounds=true"], ["bounds=true", "sampler.num_steps"]),
        (["smapler=mala"], ["sampler"]),
        (["rounds=0"], ["rounds", "at least 1"]),
        (["rounds=1.5"], ["rounds", "whole number"]),
        (["runs=-1"], ["runs", "at least 1"]),
        (["seed=-1"], ["seed", "at least 0"]),
        (["posterior.c=-0.1"], ["c=", "at least 0"]),
        (["posterior.c=nan"], ["c="]),
        (["posterior.alpha=0"], ["alpha", "above 0"]),
        (["environment.p=1.5"], ["p=", "at most 1"]),
        (["environment.p=-0.5"], ["p=", "at least 0"]),
        (["environment.dim=0"], ["dim", "at least 1"]),
        (["environment.arms=33"], ["arms", "32"]),
        (["sampler.step_size=0", "sampler=mala"], ["step_size", "above 0"]),
        (["sampler.preconditioner=sideways", "sampler=mala"], ["preconditioner", "dense"]),
        (["posterior.maximum=softplus", "sampler=mala"], ["cap"]),
        (["posterior.maximum=logsumexp", "sampler=exact"], ["exact"]),
        (["precision=float16"], ["float64"]),
        (["record_every=0", "diagnostics.runs=0"], ["record_every", "at least 1"]),
        (["record_every=7", "diagnostics.runs=0"], ["record_every", "multiple"]),
        (["record_every=10", "diagnostics.runs=2"], ["record_every", "diagnostics.runs=0"]),
        (["rounds=1000000000", "diagnostics.runs=0"], ["rounds", "record_every"]),
        (["every=10"], ["did you mean 'record_every'"]),
        (["launcher=dask"], ["did you mean 'backend'"]),
        (["launcher.slice=5"], ["did you mean 'backend.runs_per_task'"]),
        (["seed=4294967296"], ["seed", "at most"]),
        (["posterior.c=range(1,20000)"], ["10000", "posterior.c"]),
        (["+rounds=3"], ["key=value"]),
        (["rounds"], ["key=value"]),
        (["rounds="], ["rounds"]),
        (["posterior.c=${oc.env:HOME}"], ["a name, a number"]),
        (["study=default,default"], ["one value"]),
    ],
)
def test_invalid_input_is_one_line_with_exit_code_2_and_writes_nothing(fgtsva, arguments, named):
    code, out, err = fgtsva("run", *arguments)
    assert code == 2
    assert err.count("\n") == 1
    assert "Traceback" not in out + err
    for fragment in named:
        assert fragment in err
    assert list(Path.cwd().iterdir()) == []


def test_a_setting_that_no_selected_member_has_is_an_error():
    with pytest.raises(InputError, match=r"sampler\.num_integration_steps: .* sghmc, hmc"):
        compose(["sampler=exact,mala", "sampler.num_integration_steps=3"])


def test_probe_rounds_past_the_end_are_rejected():
    with pytest.raises(InputError, match=r"^diagnostics\.rounds=2000 is past the last round, 1000$"):
        compose(["rounds=1000", "diagnostics.rounds=10,2000"])


def test_an_unwritable_folder_is_one_line(fgtsva):
    Path("file").write_text("")
    Path("readonly").mkdir()
    Path("readonly").chmod(0o555)
    beyond = ("readonly/below",) if os.geteuid() else ()  # to root nothing is read-only
    for output in ("file", "file/below", *beyond):
        code, _, err = fgtsva("run", *SMALL, f"output={output}")
        assert code == 2
        assert err.count("\n") == 1


def test_a_read_only_file_system_is_one_line(fgtsva, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "mkdir", refuse)
    code, _, err = fgtsva("run", *SMALL, "output=here")
    assert code == 2
    assert "Read-only" in err
    assert err.count("\n") == 1


def test_a_folder_with_other_files_is_rejected(fgtsva):
    Path("mine").mkdir()
    (Path("mine") / "thesis.tex").write_text("precious")
    code, _, err = fgtsva("run", *SMALL, "output=mine")
    assert code == 2
    assert "something else" in err
    assert [p.name for p in Path("mine").iterdir()] == ["thesis.tex"]


def test_a_config_of_another_program_is_rejected(fgtsva):
    Path("mine").mkdir()
    (Path("mine") / "config.yaml").write_text("a: [1, 2]\n")
    assert fgtsva("run", *SMALL, "output=mine")[0] == 2
    (Path("mine") / "config.yaml").write_text("{{{ not yaml")
    assert fgtsva("run", *SMALL, "output=mine")[0] == 2


def test_results_of_other_settings_are_not_overwritten(fgtsva):
    fgtsva("run", *SMALL, "output=here")
    before = (Path("here") / "results.nc").read_bytes()
    code, _, err = fgtsva("run", *SMALL, "seed=7", "output=here")
    assert code == 2
    assert "other settings" in err
    assert (Path("here") / "results.nc").read_bytes() == before


@pytest.mark.parametrize("left", [0.0, 0.3, 0.99])
def test_a_truncated_config_is_reported_and_written_again(fgtsva, left, monkeypatch):
    fgtsva("run", *SMALL, "output=here")
    config = Path("here") / "config.yaml"
    before = config.read_bytes()
    config.write_bytes(before[: int(left * len(before))])
    code, _, err = fgtsva("run", *SMALL, "seed=7", "output=here")  # whose cells are not there
    assert code == 2, err
    monkeypatch.delattr(job, "simulate")
    code, _, err = fgtsva("run", *SMALL, "output=here")
    assert code == 0, err
    assert "config.yaml is not what was written; writing it again" in err
    assert config.read_bytes() == before
    code, _, err = fgtsva("run", *SMALL, "sampler=exact", "output=here")  # one of whose cells is there
    assert code == 2
    assert "other settings" in err


def test_a_path_is_not_parsed():
    assert compose(["output=a[b], c", "sampler=exact"]).output == "a[b], c"
    assert compose(["output='quoted'", "sampler=exact"]).output == "quoted"
