"""Help, completion, lists and misspelt names need no JAX; they read the registries from a file."""

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from experiments.cli.completion import BENCHMARKS, complete_override
from experiments.config import catalogue as catalogue_module
from experiments.config.catalogue import FILE, from_file, from_registries, load_catalogue, to_json
from experiments.config.cell import GROUPS
from experiments.config.request import parse_request
from samplers.errors import InputError
from samplers.settings import settings, traced_float

ROOT = Path(__file__).parents[3]
HEAVY = ("jax", "numpyro", "blackjax", "arviz", "xarray", "matplotlib", "numpy", "pandas", "scipy")
PROGRAM = """
import json, sys
from experiments.cli import main
sys.argv = ["fgtsva", *sys.argv[1:]]
code = 0
try:
    main()
except SystemExit as stop:
    code = stop.code
print(json.dumps([code or 0, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def call(*arguments, **variables):
    """Exit code, output, errors and imported packages of a command in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, last = done.stdout.splitlines()
    code, modules = json.loads(last)
    return code, "\n".join(lines), done.stderr, modules


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--help"], 0, ["Example: fgtsva run"]),
        (["run", "--help"], 0, ["KEY=VALUE"]),
        (["list"], 0, ["nuts", "fgts_va", "figure1"]),
        (["list", "samplers"], 0, ["Metropolis-adjusted"]),
        (["list", "studies"], 0, ["figure1"]),
        (["list", "posteriors"], 0, ["fgts_va"]),
        (
            ["list", "posteriors", "fgts_va"],
            0,
            ["posterior.variance", "modelled_by_context", "initial_sigma"],
        ),
        (["run", "posterior.C=1"], 2, ["did you mean 'posterior.c'"]),
        (
            ["run", "sampler=mala", "sampler=sgld", "rounds=x"],
            2,
            ["given 2 times", "as a grid: sampler=mala,sgld"],
        ),
        (["list", "sampels"], 2, ["did you mean 'samplers'"]),
        (["run", "sampler=malla"], 2, ["did you mean 'mala'", "nuts"]),
        (["run", "study=figure0"], 2, ["did you mean 'figure"]),
        (["run", "study=figure1", "environment=spars"], 2, ["did you mean 'sparse'"]),
        (["run", "posterior.cc=1"], 2, ["did you mean 'posterior.c'"]),
        (["run", "rouds=3"], 2, ["did you mean 'rounds'"]),
        (["run", "posterior.variance=estimate"], 2, ["did you mean 'estimated'", "revealed"]),
        (["run", "posterior.variance.initial_sigma=1"], 2, ["no selected posterior.variance", "estimated"]),
        (["run", "agent=oful", "sampler=mala"], 2, ["no selected agent has a sampler"]),
        (["run", "+rounds=3"], 2, ["key=value"]),
    ],
)
def test_help_lists_and_misspelt_names_need_no_jax(arguments, code, expected):
    exit_code, out, err, modules = call(*arguments)
    assert exit_code == code
    for fragment in expected:
        assert fragment in out + err
    assert not {*modules} & {*HEAVY}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fgtsva run sampler=nu", "sampler=nuts"),
        ("fgtsva run posterior.al", "posterior.alpha="),
        ("fgtsva run study=fig", "study=figure1"),
        ("fgtsva list sam", "samplers"),
        ("fgtsva bench ex", "exact_draws"),
    ],
)
def test_completion_needs_no_jax(line, expected):
    variables = {
        "_FGTSVA_COMPLETE": "complete_zsh",
        "_TYPER_COMPLETE_ARGS": line,
        "COMP_WORDS": line,
        "COMP_CWORD": "2",
    }
    _, out, err, modules = call(**variables)
    assert expected in out, err
    assert not {*modules} & {*HEAVY}


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("sampler.preconditioner", ["dense", "diagonal", "none"]),
        ("sampler.adaptation", ["automatic", "none", "dual_averaging", "window"]),
        (
            "posterior.variance",
            ["revealed", "revealed_after", "estimated", "modelled", "modelled_by_context"],
        ),
        ("posterior.maximum", ["hard", "logsumexp", "softplus"]),
        ("agent.warm_start", ["true", "false"]),
        ("precision", ["float64", "float32"]),
        ("backend", ["local", "dask"]),
        ("sampler.num_steps", []),
        ("nothing", []),
    ],
)
def test_choices_of_a_setting_are_completed(key, expected):
    assert complete_override([], f"{key}=") == [f"{key}={name}" for name in expected]
    assert complete_override([key, "="], "") == expected


def test_completed_benchmarks_are_all_that_exist():
    from experiments.bench import PARTS

    assert tuple(PARTS) == BENCHMARKS


def test_the_catalogue_is_that_of_the_registries(monkeypatch):
    """After a change of the registries: python -m experiments.config.catalogue"""
    monkeypatch.setattr(catalogue_module, "entry_points", lambda: EntryPoints([]))
    ours = from_registries()
    assert FILE.read_text() == to_json(ours)
    assert from_file() == ours


def test_entry_point_groups_are_those_of_the_registries():
    assert {group: registry._group for group, registry in GROUPS.items()} == {
        group: f"fgtsva.{group}s" for group in from_file()
    }


@pytest.fixture
def declared(monkeypatch):
    """A sampler of another package, which must not be loaded to learn its name; no registry was imported."""
    point = EntryPoint("theirs", "nowhere_at_all:Theirs", "fgtsva.samplers")
    monkeypatch.setattr(catalogue_module, "entry_points", lambda: EntryPoints([point]))
    monkeypatch.setattr(catalogue_module, "_registries_are_imported", lambda: False)


def test_a_member_of_another_package_is_known_by_name(declared):
    assert load_catalogue().member("sampler", "theirs").settings is None
    assert complete_override([], "sampler=th") == ["sampler=theirs"]
    with pytest.raises(InputError, match=r"valid: .*, theirs"):
        parse_request(["sampler=thiers"])


def test_settings_of_a_member_of_another_package_are_checked_after_it_is_loaded(declared):
    assert parse_request(["sampler=theirs", "sampler.whatever=3"]).settings["sampler.whatever"] == [3]
    with pytest.raises(InputError, match=r"unknown key 'posterior\.whatever'"):
        parse_request(["sampler=theirs", "posterior.whatever=3"])


def test_a_member_that_a_script_registered_is_known(monkeypatch):
    @settings
    class Mine:
        """A sampler of a user's script."""

        rate: float = traced_float(default=1.0, doc="unused")

    sampler = GROUPS["sampler"]
    monkeypatch.setattr(sampler, "_classes", dict(sampler._classes))
    sampler.register("mine", Mine)
    assert parse_request(["sampler=mine", "sampler.rate=2"]).settings["sampler"] == ["mine"]
    assert complete_override([], "sampler.rat") == ["sampler.rate="]
    with pytest.raises(InputError, match=r"did you mean 'sampler\.rate'"):
        parse_request(["sampler=mine", "sampler.rat=2"])


def test_a_component_is_checked_by_name_and_by_its_keys():
    setting = catalogue_module.Setting(None, "", "")

    def component(description, keys=()):
        return catalogue_module.Component(description, keys)

    member = catalogue_module.Member(
        "a sampler",
        {"adaptation": catalogue_module.Setting("none", "", ""), "adaptation.rate": setting, "size": setting},
        {"adaptation": {"none": component("none"), "window": component("window", ("rate",))}},
    )
    assert member.keys_with({}) == {"size", "adaptation"}
    assert member.keys_with({"adaptation": ["none", "window"]}) == {"size", "adaptation", "adaptation.rate"}
    with pytest.raises(InputError, match=r"unknown adaptation 'windo' \(did you mean 'window'\?\)"):
        member.keys_with({"adaptation": ["windo"]})


def test_public_functions_of_experiments_are_imported_when_they_are_used():
    program = (
        "import sys, experiments\n"
        f"assert not {{*{HEAVY!r}}} & {{name.partition('.')[0] for name in sys.modules}}\n"
        "from experiments import analyse, compose, load_results\n"
        "from experiments.execute import execute, prepare\n"
        "assert all(map(callable, (analyse, compose, load_results, execute, prepare)))\n"
        "print(experiments.absent)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == "AttributeError: module 'experiments' has no attribute 'absent'"
