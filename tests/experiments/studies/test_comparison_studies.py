"""Studies that compare algorithms: their files, and a run from the command to the report."""

import csv
import sys
from pathlib import Path

import pytest
from helpers.synthetic_comparison import simulation

from experiments.analysis.verdicts import (
    BASELINES,
    OURS,
)
from experiments.cli import commands
from experiments.config.compose import compose
from experiments.config.study_files import read_study
from experiments.execute import job
from experiments.report.analyse import analyse
from experiments.studies.table1.scaling import THEORY


@pytest.mark.parametrize("name", ["figure1", "table1"])
def test_claims_name_algorithms_of_the_studies(name):
    named = {algorithm["name"] for algorithm in read_study(name)["algorithms"]}
    spoken = {*OURS, *(form for forms in BASELINES.values() for form in forms)}
    assert spoken <= named
    assert set(THEORY) <= {*named}


def test_comparison_studies_tune_every_algorithm_on_two_seeds():
    for name in ("figure1", "figure2", "table1"):
        composed = compose([f"study={name}"])
        seeds = list(dict.fromkeys(cell.seed for cell in composed.cells))
        assert len(seeds) == 2
        for seed in seeds:
            entries = [
                composed.comparison.algorithm_runs[cell.id] for cell in composed.cells if cell.seed == seed
            ]
            tuned = {entry.name for entry in entries if not entry.textbook}
            assert tuned >= {entry.name for entry in entries}


# One or two settings per algorithm: writing cells takes most of the time.
FEW = ("posterior.alpha=null", "posterior.eta=0.25", "agent.radius=1")


def run(*overrides, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fgtsva", "run", *overrides])
    with pytest.raises(SystemExit) as stop:
        commands.main()
    assert not stop.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "overrides", "figures"),
    [
        ("figure1", ["environment=sparse", "bounds=true", *FEW], ["regret"]),
        pytest.param(
            "figure2",
            ["environment=sparse", "posterior.c=0,0.1", "bounds=true"],
            ["regret", "sweep"],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "table1",
            ["environment.dim=2,5", "environment.p=0.1", "environment.scale=1", *FEW],
            ["exponents", "scaling"],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_comparison_of_algorithms_from_command_to_report(
    name, overrides, figures, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(job, "simulate", simulation)
    monkeypatch.chdir(tmp_path)
    out = run(
        f"study={name}",
        *overrides,
        "rounds=16",
        "runs=3",
        "output=here",
        monkeypatch=monkeypatch,
        capsys=capsys,
    )
    assert "verdicts.md" in out
    here = Path("here")
    assert sorted(path.stem for path in (here / "figures").glob("*.png")) == figures
    text = (here / "verdicts.md").read_text()
    assert text.count("**Verdict: ") == text.count("\n## ") - 1  # the last heading is that of the choices
    page = (here / "report.html").read_text()
    for heading in (
        "Verdicts on published claims",
        "Choices that the paper leaves open",
        "Textbook and tuned settings",
    ):
        assert heading in page
    assert ("<summary>Exponents</summary>" in page) == (name == "table1")
    with open(here / "standings.csv", newline="") as file:
        assert {row["level"] for row in csv.DictReader(file)} == {"textbook", "tuned"}
    for figure in (here / "figures").iterdir():
        figure.unlink()
    analyse(here)
    assert (here / "report.html").read_text() == page  # from the stored cells alone


@pytest.mark.slow
def test_theorem_study_draws_its_bound(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run("study=theorem", "rounds=1000", "runs=4", "output=here", monkeypatch=monkeypatch, capsys=capsys)
    text = Path("here/verdicts.md").read_text()
    assert text.count("**Verdict: reproduced.**") == 2  # of p=1 the bounds are above so few rounds
    assert "bound of the proof" in Path("here/figures/regret.svg").read_text()
