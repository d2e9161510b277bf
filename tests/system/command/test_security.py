"""Nothing that is read is executed: not a setting, not a config, not a stranger's results."""

import ast
import csv
import io
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers.stored_study import seal, store

from experiments.cli import commands
from samplers import SAMPLERS
from samplers.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("experiments", "fgtsva_ppl", "samplers")
NAMES = {"eval", "exec", "__import__", "compile"}
ATTRIBUTES = {
    "import_module", "instantiate", "get_class", "get_method", "unsafe_load", "full_load", "system", "popen",
}  # fmt: skip
# Imports registered classes on first use, by module names that are literals in our code (tested below).
IMPORTS_LITERALS = ROOT / "samplers" / "registry.py"
MODULES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "importlib", "runpy"}

# Files that do one of these on purpose. None of them takes a name or code from a setting, a config or a stored file.
REVIEWED = {
    "experiments/notebooks.py": "executes our own scripts, to write their notebooks",
    "experiments/studies/claims/__init__.py": "imports our own folders of claims",
    "experiments/targets/worker.py": "imports the sampler's file that the user names on the command line",
    "experiments/cli/evaluate_command.py": "asks whether a package is installed, and imports nothing",
    "fgtsva_ppl/environments/literature.py": "asks whether a package is installed, and imports nothing",
}


@pytest.fixture
def fgtsva(capsys, monkeypatch, tmp_path):
    """Calls the command in an empty folder where nothing may be started or unpickled."""
    monkeypatch.chdir(tmp_path)

    def forbidden(*args, **kwargs):
        raise AssertionError(f"called with {args}")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["fgtsva", *arguments])
        started = [(os, "system"), (os, "popen"), (subprocess, "Popen"), (pickle, "load"), (pickle, "loads")]
        with monkeypatch.context() as patch:
            for module, name in started:
                patch.setattr(module, name, forbidden)
            with pytest.raises(SystemExit) as stop:
                commands.main()
        return stop.value.code, *capsys.readouterr()

    return call


@pytest.mark.parametrize("package", PACKAGES)
def test_our_code_never_evaluates_unpickles_or_imports_by_name(package):
    violations = []
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES
            dotted = isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            imported = any(m.split(".")[0] in MODULES and m != "importlib.metadata" for m in modules)
            pickles = (
                isinstance(node, ast.keyword) and node.arg == "allow_pickle" and node.value.value is not False
            )
            if path == IMPORTS_LITERALS and (imported or dotted) and "import_module" in ast.unparse(node):
                continue
            if path.relative_to(ROOT).as_posix() in REVIEWED:
                continue
            if named or dotted or imported or pickles:
                violations.append(f"{path}:{node.lineno if hasattr(node, 'lineno') else node.value.lineno}")
    assert not violations


def test_classes_that_are_imported_by_name_are_literals_of_our_packages():
    """`register("mala", "samplers.mcmc.mala:MALA")`: no setting, config or stored file affects it."""
    tree = ast.parse(IMPORTS_LITERALS.read_text())
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "import_module"]
    assert len(uses) == 1
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "register":
                    cls = node.args[1] if len(node.args) > 1 else None
                    if isinstance(cls, ast.JoinedStr | ast.BinOp | ast.Constant):
                        assert re.fullmatch(r"(samplers|fgtsva_ppl)\.[\w.]+:\w+", ast.literal_eval(cls))


def test_names_on_the_command_line_are_never_imported():
    """Only keys of the registry are, so a module's name is an unknown sampler."""
    for name in ("os:system", "samplers.mcmc.mala:MALA", "this:d"):
        with pytest.raises(InputError, match="unknown sampler"):
            SAMPLERS[name]


@pytest.mark.parametrize(
    "override",
    [
        "_target_=os.system",
        "sampler._target_=os.system",
        "+sampler._target_=os.system",
        "++sampler.name=os.system",
        "~sampler",
        "sampler={_target_:os.system}",
        "sampler=[mala]",
        "sampler=../../x",
        "sampler=/etc/passwd",
        "sampler@environment=mala",
        "environment/sub=x",
        "study=../../x",
        "study=/etc/passwd",
        "hydra.run.dir=x",
        "hydra/launcher=joblib",
        "hydra.searchpath=[pkg://os]",
        "output=${oc.env:HOME}",
        "posterior.c=${oc.env:HOME}",
        "posterior.c=${oc.decode:1}",
        "sampler=${oc.env:HOME}",
        "environment.path=${oc.env:HOME}",
        "name=x",
        "sampler.name=exact",
        "--config-dir=/etc",
        "--multirun",
    ],
)
def test_settings_cannot_refer_to_code_files_or_variables(fgtsva, override):
    code, out, err = fgtsva("run", "sampler=mala", override)
    assert code == 2
    assert os.environ["HOME"] not in out + err
    assert "Traceback" not in out + err
    assert list(Path.cwd().iterdir()) == []


def test_unknown_study_names_are_rejected():
    from experiments.config.study_files import read_study

    for name in ("../config", "default.yaml", "", ".", "default\0"):
        with pytest.raises(InputError, match="unknown study"):
            read_study(name)


@pytest.mark.parametrize("where", ["title", "cells", "top"])
def test_yaml_tags_in_a_config_are_not_executed(fgtsva, where):
    folder = store(Path("theirs"), diagnosed=False)
    payload = "!!python/object/apply:os.system ['touch pwned']"
    text = (folder / "config.yaml").read_text()
    text = {
        "title": text.replace("title:", f"title: {payload}\nother:"),
        "cells": text.replace("cells:", f"cells: {payload}\nother:"),
        "top": f"{payload}\n",
    }[where]
    (folder / "config.yaml").write_text(text)
    code, _, err = fgtsva("report", "theirs")
    assert code == 2
    assert err.count("\n") == 1
    assert not Path("pwned").exists()


def test_a_config_cannot_read_environment_variables(fgtsva):
    folder = store(Path("theirs"), diagnosed=False, title="${oc.env:HOME}", question="${oc.env:HOME}")
    assert fgtsva("report", "theirs")[0] == 0
    page = (folder / "report.html").read_text()
    assert "${oc.env:HOME}" in page
    assert f"{os.environ['HOME']}<" not in page


class Bomb:
    def __reduce__(self):
        return os.system, ("touch pwned",)


def hostile(folder, how):
    """Malicious content of results.nc."""
    with h5py.File(folder / "results.nc", "r+") as file:
        (name, *_) = file["cells"]
        cell = file["cells"][name]
        match how:
            case "pickled attributes":
                file.attrs["reading"] = np.void(pickle.dumps(Bomb()))
                cell.attrs["settings"] = np.void(pickle.dumps(Bomb()))
            case "numbers where there are lists":
                file.attrs["verdicts"] = '[{"evidence": 3}]'
            case "markup in attributes":
                file.attrs["reading"] = '["<script>alert(1)</script>"]'
                file.attrs["verdicts"] = (
                    '[{"verdict": "<img src=x onerror=alert(2)>", "claim": "<b>", "evidence": ["<i>"]}]'
                )
            case "odd attributes":
                file.attrs["reading"], file.attrs["verdicts"] = "[[[", "{}"
            case "strings":
                del cell["regret"]
                kind = h5py.string_dtype()
                cell.create_dataset("regret", data=np.full((3, 4), "__import__('os')", object), dtype=kind)
            case "pickled objects":
                del cell["regret"]
                data = np.empty((2, 2), object)
                data.fill(np.frombuffer(pickle.dumps(Bomb()), np.uint8))
                cell.create_dataset("regret", data=data, dtype=h5py.vlen_dtype(np.uint8))
            case "references":
                del cell["regret"]
                cell.create_dataset("regret", data=np.full((2, 2), file.ref), dtype=h5py.ref_dtype)
            case "another file's group":
                del file["cells"][name]
                file["cells"][name] = h5py.ExternalLink(str(folder / "secret.nc"), "/")
            case "another file's bytes":
                del cell["regret"]
                secret = [(str(folder / "secret.nc"), 0, 96)]
                cell.create_dataset("regret", (3, 4), "float64", external=secret)
            case "a ring":
                cell["round_1"] = file["cells"]
    seal(folder / "results.nc")  # an attacker can do that too


@pytest.mark.parametrize(
    "how",
    [
        "pickled attributes", "markup in attributes", "odd attributes", "numbers where there are lists",
        "strings", "pickled objects", "references",
        "another file's group", "another file's bytes", "a ring",
    ],
)  # fmt: skip
def test_untrusted_results_are_not_executed(fgtsva, how):
    folder = store(Path("theirs"), diagnosed=False)
    (folder / "secret.nc").write_bytes(b"secret  " * 12)
    hostile(folder, how)
    code, out, err = fgtsva("report", "theirs")
    assert code in (0, 2)
    assert "Traceback" not in out + err
    assert err.count("\n") == (code == 2)
    assert not Path("pwned").exists()
    if code == 0:
        page = (folder / "report.html").read_text()
        assert "<script>alert" not in page
        assert "<img" not in page
    else:
        assert not (folder / "report.html").exists()
    if how.startswith("another"):
        assert code == 2


def test_continuing_in_an_untrusted_folder_executes_nothing(fgtsva):
    """The folder of a run of ours, whose cells were replaced by a pickle and by a link to another file."""
    arguments = (
        "environment=sparse",
        "sampler=exact,mala",
        "rounds=3",
        "runs=1",
        "diagnostics.runs=0",
        "output=ours",
    )
    assert fgtsva("run", *arguments)[0] == 0
    pickled, linked = sorted(Path("ours/cells").glob("*.nc"))
    before = Path("ours/summary.csv").read_text()
    pickled.write_bytes(pickle.dumps(Bomb()))
    seal(pickled)
    Path("secret.nc").write_bytes(linked.read_bytes())
    with h5py.File(linked, "w") as file:
        file["regret"] = h5py.ExternalLink(str(Path("secret.nc").resolve()), "/regret")
    seal(linked)
    code, _, err = fgtsva("run", *arguments)
    assert code == 0, err
    message = err.replace("\n", "")
    assert f"{pickled.name} cannot be read" in message
    assert f"{linked.name} cannot be read (regret points to another file)" in message
    assert "Traceback" not in err
    assert not Path("pwned").exists()
    assert numbers(Path("ours/summary.csv").read_text()) == numbers(before)


def numbers(table):
    """A table without the times."""
    return [
        {key: row[key] for key in row if "seconds" not in key} for row in csv.DictReader(io.StringIO(table))
    ]
