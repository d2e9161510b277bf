"""Random input: a command either runs or is rejected in one line, and never leaves partial results."""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from helpers.stored_study import store
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from experiments.cli import commands
from experiments.config.cell import GROUPS
from experiments.config.keys import OPTIONS
from experiments.execute import job
from experiments.figures.draw import Drawn
from fgtsva_ppl import Simulation
from fgtsva_ppl.simulation import Record, check
from fgtsva_ppl.timing import Seconds

TINY = ("study=default", "environment=sparse", "sampler=mala", "rounds=2", "runs=2", "diagnostics.runs=0")
MEMBERS = {group: [name for name, _ in registry] for group, registry in GROUPS.items()}
KEYS = [
    f"{group}.{key}"
    for group, registry in GROUPS.items()
    for name in registry.names()
    for key in registry.all_keys(name)
]
# Not included: valid settings that take long, such as many steps.
PLAIN = [key for key in KEYS if not key.endswith(".path")]

ODD = [
    "nan", "inf", "-inf", "-1", "0", "1", "2", "0.5", "1e-300", "1e400", "null", "true", "false", "1_0", "''",
    "\"", "'", "\\", "[1,2]", "{a:1}", "{", "]", "${x}", "${oc.env:HOME}", "a=b", "%", "range(1,3)",
    "range(0,1,0)", "range(1,10**12)", "range(1,1e12)", "choice(1,2)", "choice()", "glob(*)", "interval(0,1)",
    "sort(2,1)", "shuffle(1,2)", "int(3)", "str(3)", "float(x)", "cast(1)", "tag(a,1)", "99999999999999999999",
    "-99999999999999999999", "1e18", "0x10", "07", "1,2", "1,,2", ",", "1,x",
]  # fmt: skip
WRONG = [
    "hydra.run.dir", "_target_", "sampler._target_", "+rounds", "~sampler", "a@b", "rounds.x", ".", "=",
    "backend", "backend.workers", "launcher",
]  # fmt: skip

values = st.one_of(
    st.sampled_from(["", "'a b'", "\0", *ODD]),
    st.floats().map(str),
    st.integers(-3, 5).map(str),
    st.text(max_size=8),
    st.sampled_from([name for names in MEMBERS.values() for name in names]),
)
keys = st.one_of(
    st.sampled_from(PLAIN),
    st.sampled_from([*MEMBERS, "rounds", "runs", "seed", "diagnostics.rounds", "diagnostics.runs"]),
    st.sampled_from([key for key in OPTIONS if not key.startswith(("backend", "output"))]),
    st.text(max_size=8),
    st.sampled_from(WRONG),
)
chosen = st.sampled_from([(group, name) for group, names in MEMBERS.items() for name in names]).map("=".join)
studies = st.sampled_from([f"study={name}" for name in ("default", "warmstart", "defaul", "", "../x")])
overrides = st.lists(
    st.one_of(st.tuples(keys, values).map("=".join), chosen, st.text(max_size=6), studies), max_size=5
)


def called(*command: str) -> tuple[int, str]:
    """Exit code and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "argv", ["fgtsva", *command])
        try:
            commands.main()
        except SystemExit as stop:
            return int(stop.code or 0), err.getvalue()
    return 0, err.getvalue()


def assert_complete_or_rejected(arguments: list[str], diagnosed: int = 0) -> None:
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        # Sizes stay small: a later override of a key replaces an earlier one.
        sizes = (*TINY[3:-1], f"diagnostics.runs={diagnosed}", "output=here")
        code, err = called("run", "--quiet", "--", *TINY, *arguments, *sizes)
        assert "Traceback" not in err
        if code == 2:
            assert err.strip().count("\n") == 0, err
            assert err.startswith(("fgtsva: ", "\nfgtsva: ", "Usage")), err
            assert os.listdir() == []
        else:
            assert code in (0, 1), err
            files = {path.name for path in Path("here").iterdir()}
            assert {"config.yaml", "results.nc", "summary.csv", "report.html", "cells", "figures"} <= files
            assert not list(Path("here").rglob("*.part"))
            assert called("report", "here")[0] == 0


def pretended(environment, agent, *, rounds, runs, seed, **kwargs):
    """A simulation that compiles nothing."""
    check(environment, agent, rounds)
    regret = np.random.default_rng(seed).gamma(1.0, size=(runs, rounds))
    record = Record.from_arrays(dict.fromkeys(Record.fields(), np.zeros((runs, rounds))) | {"regret": regret})
    return Simulation(record, np.zeros(runs, bool), Seconds(0.0, 0.0))


NO_LIMIT = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "derandomize": True,
    "database": None,
}


def undrawn(folder, *_):
    folder.mkdir(exist_ok=True)
    return Drawn([], {}, [])


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(job, "simulate", pretended)
    monkeypatch.setattr("experiments.report.analyse.draw", undrawn)


@pytest.mark.slow
@settings(max_examples=40, **NO_LIMIT)
@given(overrides)
@example(["posterior.c=range(1,1e12)"])
@example(["seed=99999999999999999999"])
@example(["sampler=glob(*)"])
@example(["environment=table"])
@example(["diagnostics.rounds=1,2", "diagnostics.runs=0"])
@example(["study=warmstart", "agent=epsilon_greedy"])
@example(["study=figure2", "agent=uniform", "environment=sparse", "seed=0"])
def test_a_study_runs_or_is_rejected_in_one_line(quick, arguments):
    assert_complete_or_rejected(arguments)


@pytest.mark.slow
@settings(max_examples=1500, **NO_LIMIT)
@given(overrides)
def test_many_studies_run_or_are_rejected_in_one_line(quick, arguments):
    assert_complete_or_rejected(arguments)


@pytest.mark.slow
@settings(max_examples=40, **NO_LIMIT)
@given(
    st.lists(st.one_of(chosen, st.tuples(st.sampled_from(PLAIN), values).map("=".join)), max_size=4),
    st.sampled_from([0, 0, 0, 0, 1]),
)
@example(["sampler=sgld"], 1)
@example(["environment=contextual", "agent=oful"], 1)
def test_simulated_studies_are_complete(arguments, diagnosed):
    if not any(argument.partition("=")[0].endswith(("steps", "adaptation")) for argument in arguments):
        assert_complete_or_rejected(arguments, diagnosed)


plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=30, **NO_LIMIT)
@given(
    st.sampled_from(
        ["fgtsva", "title", "cells", "versions", "algorithm_runs", "sweep", "choices", "study", "bounds"]
    ),
    plain,
)
def test_any_config_is_reported_or_rejected_in_one_line(quick, key, value):
    with tempfile.TemporaryDirectory() as directory:
        folder = store(Path(directory) / "study", diagnosed=False)
        config = yaml.safe_load((folder / "config.yaml").read_text())
        (folder / "config.yaml").write_text(yaml.safe_dump(config | {key: value}))
        code, err = called("report", str(folder))
        assert code in (0, 2)
        assert err.strip().count("\n") == 0, err
        assert (folder / "report.html").exists() == (code == 0)
