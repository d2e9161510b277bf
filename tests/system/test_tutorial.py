"""The tutorial runs unchanged."""

import runpy

import matplotlib as mpl
import pytest


@pytest.mark.slow
def test_the_tutorial_runs_and_draws_its_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    runpy.run_module("experiments.tutorial", run_name="__main__")
    drawn = {path.name for path in (tmp_path / "tutorial").iterdir()}
    assert drawn == {"one_round.png", "actions.png", "thousand_rounds.png"}
    output = capsys.readouterr().out
    assert output.count("total variation to exact") == 4
    assert " modes: " in output
    assert "the floor" in output
    assert output.count("gradients a round") == 5
