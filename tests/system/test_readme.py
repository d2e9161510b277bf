"""What the README shows, runs."""

import csv
import re
import runpy
import sys
from pathlib import Path

import pytest

from fgtsva_ppl import ENVIRONMENTS, NOISES, SAMPLERS

README = Path(__file__).parents[2] / "README.md"


def examples():
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_python_example_runs_and_is_about_ten_lines(capsys):
    (example, *_) = examples()
    assert len(example.strip().splitlines()) <= 12
    exec(compile(example.replace("rounds=200", "rounds=12"), str(README), "exec"), {})
    assert capsys.readouterr().out.count("\n") == 3


def test_readme_starts_with_the_two_commands():
    commands = re.findall(r"^    (make \w+)", README.read_text(), re.MULTILINE)
    assert commands[:2] == ["make demo", "make test"]


@pytest.mark.parametrize("registry", [SAMPLERS, ENVIRONMENTS, NOISES], ids=lambda registry: registry.kind)
def test_readme_tables_have_every_name(registry):
    page = README.read_text()
    for name in registry.names():
        assert f"`{name}`" in page or f"`{registry.kind}={name}`" in page or name == "default"


def test_readme_example_of_a_custom_environment_runs(tmp_path, monkeypatch):
    example = next(text for text in examples() if "my_world.py" in text)
    assert len(example.splitlines()) < 25
    monkeypatch.setattr(ENVIRONMENTS, "_classes", dict(ENVIRONMENTS))
    file, out = tmp_path / "my_world.py", tmp_path / "out"
    file.write_text(example)
    overrides = (
        "environment=circle",
        "environment.arms=5",
        "sampler=exact",
        "rounds=6",
        "runs=2",
        "diagnostics.runs=0",
    )
    monkeypatch.setattr(sys, "argv", [str(file), "run", *overrides, f"output={out}", "--quiet"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(file), run_name="__main__")
    with open(out / "summary.csv", newline="") as table:
        (row,) = csv.DictReader(table)
    assert (row["environment"], row["status"]) == ("circle", "done")


def test_readme_example_of_a_custom_reward_runs(capsys):
    example = next(text for text in examples() if "def click_rate" in text)
    assert len(example.splitlines()) < 25
    exec(compile(example.replace("range(120)", "range(6)"), str(README), "exec"), {})
    clicks, probabilities = capsys.readouterr().out.split(maxsplit=1)
    assert 0 <= int(clicks) <= 6
    assert sum(map(float, probabilities.strip(" []\n").split())) == pytest.approx(1)
