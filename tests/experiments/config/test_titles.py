"""Titles describe what is compared, and the report shows the command."""

import sys

import pytest
from omegaconf import OmegaConf

from experiments.cli import commands
from experiments.config.compose import compose
from experiments.config.study_files import read_study
from experiments.config.titles import command
from experiments.report.analyse import analyse

DEFAULT = read_study("default")


@pytest.mark.parametrize(
    "overrides",
    [[], ["study=default"], ["rounds=50", "runs=8", "seed=3", "output=here"], ["posterior.c=0.003"]],
)
def test_the_same_comparison_keeps_its_title(overrides):
    study = compose(overrides)
    assert (study.title, study.question) == (DEFAULT["title"], DEFAULT["question"])


@pytest.mark.parametrize(
    ("overrides", "title"),
    [
        (["environment=sparse"], "Samplers compared: sparse"),
        (["study=default", "sampler=exact,mala", "environment=finite", "reward=finite"], "Samplers compared: finite"),
        (["sampler=exact", "environment=finite", "reward=finite"], "Regret of exact draws: finite"),
        (["sampler=mala"], "Regret of mala: sparse, dense"),
        (["agent=oful"], "Regret of oful: sparse, dense"),
        (["agent=thompson,oful", "sampler=mala", "environment=sparse"], "Agents compared: sparse"),
        (["posterior=ts,fgts_va", "environment=sparse"], "Posteriors and samplers compared: sparse"),
        (["sampler=mala", "posterior.c=0,1", "environment=dense"], "Values of posterior.c compared: dense"),
        (["sampler=mala", "environment.p=0.1,0.2"], "Regret of mala: sparse p=0.1, sparse p=0.2, dense"),
        (["sampler=mala", "environment=sparse", "environment.p=0.1,0.2,0.3,0.4"], "Regret of mala: 4 environments"),
    ],
)  # fmt: skip
def test_another_comparison_has_its_own_title(overrides, title):
    assert compose(overrides).title == title


@pytest.mark.parametrize(
    ("overrides", "question"),
    [
        (["sampler=exact,mala"], DEFAULT["question"]),
        (["sampler=sgld,mala"], "Which of these has the least regret?"),
        (["agent=thompson,oful", "sampler=exact"], "Which of these has the least regret?"),
        (["sampler=exact"], "How much regret does it have?"),
    ],
)
def test_question_mentions_exact_draws_only_if_they_are_compared(overrides, question):
    assert compose(overrides).question == question


def test_title_of_a_named_study_has_the_overrides():
    title = read_study("samplers")["title"]
    assert compose(["study=samplers", "rounds=50"]).title == title
    changed = compose(["study=samplers", "sampler=exact,mala", "posterior.alpha=null,0.1"])
    assert changed.title == f"{title}, with sampler=exact,mala posterior.alpha=null,0.1"


def test_stored_command_omits_the_output_folder():
    overrides = ["environment=table", "environment.path=a b.csv", "output=here"]
    assert compose(["sampler=mala", "rounds=7", "output=here"]).command == "fgtsva run sampler=mala rounds=7"
    assert compose([]).command == "fgtsva run"
    assert command(overrides) == "fgtsva run environment=table 'environment.path=a b.csv'"


def test_report_shows_the_command_and_is_rebuilt_to_the_byte(tmp_path, monkeypatch, capsys):
    overrides = [
        "sampler=exact",
        "environment=finite",
        "reward=finite",
        "rounds=5",
        "runs=2",
        "diagnostics.runs=0",
    ]
    monkeypatch.setattr(sys, "argv", ["fgtsva", "run", *overrides, f"output={tmp_path / 'here'}"])
    with pytest.raises(SystemExit) as stop:
        commands.main()
    assert not stop.value.code, capsys.readouterr().err
    assert "Regret of exact draws: finite: 1 cell\n" in capsys.readouterr().out
    folder = tmp_path / "here"
    stored = OmegaConf.to_container(OmegaConf.load(folder / "config.yaml"))
    assert stored["command"] == f"fgtsva run {' '.join(overrides)}"
    before = (folder / "report.html").read_bytes()
    assert f'<p class="command">{stored["command"]}</p>' in before.decode()
    assert "<h1>Regret of exact draws: finite</h1>" in before.decode()
    (folder / "report.html").unlink()
    analyse(folder)
    assert (folder / "report.html").read_bytes() == before
