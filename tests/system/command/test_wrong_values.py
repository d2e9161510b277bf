"""Wrong values and old names: one line that names the right ones, without importing JAX."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.config.catalogue import from_file
from experiments.config.keys import DIAGNOSTICS, NUMBERS, OPTIONS
from experiments.config.request import parse_request
from fgtsva_ppl.diagnostics import METRICS
from samplers.errors import RENAMED, InputError

ROOT = Path(__file__).parents[3]
HEAVY = ("jax", "numpyro", "blackjax", "arviz", "xarray", "matplotlib", "numpy", "pandas", "scipy")
OLD_KEYS = {
    "every": "record_every",
    "launcher": "backend",
    "launcher.address": "backend.address",
    "launcher.workers": "backend.workers",
    "launcher.slice": "backend.runs_per_task",
    "diagnostics.every": "diagnostics.rounds",
    "agent.warm": "agent.warm_start",
    "posterior.sigma": "posterior.variance",
    "posterior.guess": "posterior.variance.initial_sigma",
}
WRONG_VALUES = [
    (["run", "posterior.maximum=hrd"], ["posterior 'fgts_va': maximum='hrd'", "did you mean 'hard'"]),
    (["run", "posterior.c=-1"], ["posterior 'fgts_va': c=-1.0 must be a number, at least 0"]),
    (["run", "sampler.num_steps=many", "sampler=mala"], ["must be a whole number, at least 1"]),
    (
        ["run", "sampler.preconditioner=true"],
        ["'true' (did you mean 'dense'?); valid: dense, diagonal"],
    ),
    (
        ["run", "sampler.preconditioner=false"],
        ["'false' (did you mean 'none'?); valid: dense, diagonal"],
    ),
    (["run", "backend=dsk"], ["backend='dsk' is not one of: local, dask (did you mean 'dask'?)"]),
    (["run", "precision=float46"], ["precision='float46' is not one of", "did you mean 'float64'"]),
    (["run", "rounds=abc"], ["rounds='abc' must be a whole number, at least 1"]),
    (["run", "devices=0"], ["devices=0 must be a whole number, at least 1"]),
    (["run", "diagnostics.runs=x"], ["diagnostics.runs='x' must be a whole number"]),
    (["run", "bounds=maybe"], ["bounds='maybe' must be true or false"]),
    (["bench", "nosuch"], ["unknown part 'nosuch'", "exact_draws"]),
    (["bench", "papr"], ["did you mean 'paper'"]),
    (["report", "/nonexistent"], ["/nonexistent is not a folder"]),
    (["report", "tests"], ["tests has no config.yaml"]),
]
SEVERAL = """
import io, json, sys
from experiments.cli import commands
results = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["fgtsva", *arguments]
    commands.errors.file = io.StringIO()
    try:
        commands.main()
        code = 0
    except SystemExit as stop:
        code = stop.code
    results.append([code, commands.errors.file.getvalue()])
print(json.dumps([results, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def test_wrong_values_need_no_jax():
    """One process for all: a command that imports JAX shows in the modules at the end."""
    commands = json.dumps([arguments for arguments, _ in WRONG_VALUES])
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, commands], cwd=ROOT, capture_output=True, text=True, check=True
    )
    results, modules = json.loads(done.stdout.splitlines()[-1])
    for (arguments, expected), (code, message) in zip(WRONG_VALUES, results, strict=True):
        assert code == 2, arguments
        assert message.count("\n") == 1
        for fragment in expected:
            assert fragment in message
    assert not {*modules} & {*HEAVY}


def test_old_keys_are_rejected_with_the_current_key():
    catalogue = from_file()
    plain = {*OPTIONS, *DIAGNOSTICS, *NUMBERS, *catalogue}
    settings_ = {
        f"{group}.{key}"
        for group, members in catalogue.items()
        for member in members.values()
        for key in member.settings or ()
    }
    for old, new in OLD_KEYS.items():
        assert new in plain | settings_
        assert old not in plain | settings_
        with pytest.raises(InputError, match=f"^unknown key '{old}' .did you mean '{new}'") as error:
            parse_request([f"{old}=1"])
        assert ("valid" in str(error.value)) == (
            old.partition(".")[0] in catalogue
        )  # else the new key is enough


def test_every_old_name_has_a_new_one_that_exists():
    """A name that is suggested is a key, an option of a setting, a member of a group or a diagnostic."""
    catalogue = from_file()
    members = [member for group in catalogue.values() for member in group.values()]
    settings_ = {key: setting for member in members for key, setting in (member.settings or {}).items()}
    known = {*OPTIONS, *DIAGNOSTICS, *NUMBERS, *settings_, *METRICS}
    known |= {option for setting in settings_.values() for option in setting.options}
    known |= {name for group in catalogue.values() for name in group}
    for old, new in RENAMED.items():
        assert {*new} <= known, (old, new)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "launcher.foo=1",
            "unknown key 'launcher.foo'; valid after backend.: address, runs_per_task, workers",
        ),
        ("diagnostics.fuu=1", "unknown key 'diagnostics.fuu'; valid after diagnostics.: rounds, runs"),
        (
            "diagnostics.round=1",
            "unknown key 'diagnostics.round' (did you mean 'diagnostics.rounds'?); valid after ",
        ),
    ],
)
def test_an_unknown_key_after_a_known_word_names_the_keys_after_it(override, message):
    with pytest.raises(InputError) as error:
        parse_request([override])
    assert str(error.value).startswith(message)
