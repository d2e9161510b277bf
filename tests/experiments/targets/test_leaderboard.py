"""The leaderboard: a table, a figure and a page, whatever samplers and files do."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.browser import Page, chromium
from typer.testing import CliRunner

import samplers
from experiments.cli.commands import app
from experiments.targets import leaderboard, page
from experiments.targets.error_figure import COSTS, error_figure
from experiments.targets.measure import Budget, calls_up_to, floor
from experiments.targets.worker import load_sampler, work
from samplers import InputError

MINE = """
import jax.numpy as jnp, os, time
from samplers import MALA
from samplers.settings import settings

@settings
class Raises(MALA):
    def sample(self, key, target, state):
        raise RuntimeError("not <today>")

@settings
class NaNs(MALA):
    def sample(self, key, target, state):
        state, draw = super().sample(key, target, state)
        return state, draw._replace(position=draw.position * jnp.nan)

@settings
class Hangs(MALA):
    def sample(self, key, target, state):
        time.sleep(600)

@settings
class Dies(MALA):
    def sample(self, key, target, state):
        os._exit(3)

@settings
class WrongShape(MALA):
    def sample(self, key, target, state):
        state, draw = super().sample(key, target, state)
        return state, draw._replace(position=draw.position[:1])

class NoSampler:
    pass
"""


def test_samplers_are_loaded_from_files(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    assert type(load_sampler(f"{file}:Raises")).__name__ == "Raises"
    with pytest.raises(InputError, match="defines no Other"):
        load_sampler(f"{file}:Other")
    with pytest.raises(InputError, match=r"not a samplers\.Sampler"):
        load_sampler(f"{file}:NoSampler")
    with pytest.raises(InputError, match="there is no file"):
        leaderboard.check_spec(f"{tmp_path / 'other.py'}:Mine")
    with pytest.raises(InputError, match="unknown sampler"):
        leaderboard.check_spec("mela")


def readme_sampler():
    """The file that the README of `samplers` shows to whoever writes a sampler."""
    page = Path(samplers.__file__).with_name("README.md").read_text()
    (block,) = [
        one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if one.startswith("# my_file.py")
    ]
    return block


@pytest.fixture(scope="module")
def rows(sequence, tmp_path_factory):
    """What a worker writes: a sampler that raises, one that works, and a damaged file."""
    folder = tmp_path_factory.mktemp("targets")
    sequence.save(folder)
    shutil.copy(folder / "by-hand.nc", folder / "damaged.nc")
    (folder / "damaged.json").write_text("{}")
    file = folder / "mine.py"
    file.write_text(MINE)
    own = folder / "my_file.py"
    own.write_text(readme_sampler())
    lines = {}
    for sampler in ("reference", "laplace", f"{own}:RandomWalk", f"{file}:Raises", f"{file}:WrongShape"):
        output = folder / f"{sampler.rpartition(':')[2]}.jsonl"
        request = {"folder": str(folder), "sampler": sampler, "targets": ["by-hand", "damaged"]}
        work({**request, "output": str(output), "num_chains": 50, "calls": [1, 2]})
        lines[sampler.rpartition(":")[2]] = [json.loads(line) for line in output.read_text().splitlines()][1:]
    return lines


def test_a_worker_writes_a_line_per_target_whatever_happens(rows):
    done, damaged = rows["laplace"]
    assert [(row["mode"], row["calls"]) for row in done["rows"]] == [
        ("cold", 1),
        ("cold", 2),
        ("following", 2),
    ]
    assert all(row["sliced_wasserstein"] < 0.5 for row in done["rows"])  # exact for a Gaussian
    assert damaged["reason"].startswith("DamagedError")
    assert rows["RandomWalk"][0]["rows"][1]["sliced_wasserstein"] < 0.5
    assert rows["Raises"][0]["reason"] == "RuntimeError: not <today>"
    assert rows["WrongShape"][0]["reason"] == "ValueError: a draw has the shape (1,) instead of (2,)"
    assert rows["reference"][0]["rows"][0]["mode"] == "reference"


def test_numbers_of_draws_are_powers_of_four_up_to_the_last():
    assert calls_up_to(1) == (1,)
    assert calls_up_to(16) == (1, 4, 16)
    assert calls_up_to(20) == (1, 4, 16, 20)


def test_too_few_reference_draws_are_told(sequence):
    with pytest.raises(ValueError, match="400 reference draws are enough for 200 chains"):
        floor(sequence, Budget(300, (1,)))


def test_table_figure_and_page_have_failures_with_their_reason(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(leaderboard, "_measured", lambda folder, sampler, *rest: iter(rows[sampler]))
    monkeypatch.setattr(leaderboard, "stored_names", lambda folder: ["by-hand", "damaged"])
    table = leaderboard.run(tmp_path, ["laplace", "Raises"], leaderboard.Limits(50, (1, 2), 1.0))
    assert list(table.columns) == list(leaderboard.COLUMNS)
    assert list(table["status"]).count("failed") == 4
    standing = leaderboard.standings(table)
    assert list(standing["sampler"]) == ["laplace", "Raises"]
    assert list(standing["num_failed"]) == [1, 2]
    paths = page.write(tmp_path, table, {"by-hand": {"title": "Gaussian"}})
    assert all(path.stat().st_size > 500 for path in paths)
    text = paths[2].read_text()
    assert "not &lt;today&gt;" in text
    assert "not <today>" not in text
    assert "<td>Gaussian</td>" in text
    axes = error_figure(table).axes
    assert {ax.get_xlabel() for ax in axes} == {*COSTS.values()}
    assert {ax.get_ylabel() for ax in axes} >= {*leaderboard.ERRORS.values()}
    assert len(pd.read_csv(paths[0])) == len(table)
    only_failures = table[table["status"] == "failed"]
    page.write(tmp_path, only_failures)  # nothing to draw is no reason to fail


@pytest.mark.slow
def test_page_works_in_a_browser_on_a_desk_and_on_a_phone(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(leaderboard, "_measured", lambda folder, sampler, *rest: iter(rows[sampler]))
    monkeypatch.setattr(leaderboard, "stored_names", lambda folder: ["by-hand", "damaged"])
    table = leaderboard.run(
        tmp_path, ["laplace", "RandomWalk", "Raises"], leaderboard.Limits(50, (1, 2), 1.0)
    )
    path = page.write(tmp_path, table)[-1]
    with chromium(tmp_path / "profile") as browser:
        for width in (1280, 375):
            tab = Page(browser, path, width)
            assert tab.run("document.documentElement.scrollWidth <= innerWidth")
            assert tab.run("document.querySelectorAll('#chart polyline').length") == 2
            assert tab.run("document.querySelectorAll('#chart circle').length") == 4  # cold
            assert tab.run("document.querySelectorAll('#chart path').length") == 2  # following
            tab.run("document.querySelector('#legend button:nth-child(2)').click()")
            said = tab.run("document.getElementById('told').textContent")
            assert said.startswith("RandomWalk: cold ")
            tab.run("document.getElementById('axis').value = 'seconds'; draw()")
            assert tab.run("document.getElementById('told').textContent") != said
            assert tab.complaints() == []
            assert {url.rpartition("/")[2] for url in tab.fetched()} == {"leaderboard.svg"}
            tab.close()


def test_score_is_the_mean_log_ratio_and_a_failure_costs_the_worst():
    def row(sampler, target, mode, error, **rest):
        values = {"sliced_wasserstein": error, "sliced_wasserstein_se": 0.1 * error, "gradients": 10.0}
        return {"target": target, "sampler": sampler, "mode": mode, "status": "done", **values, **rest}

    table = pd.DataFrame(
        [row("reference", target, "reference", 0.1) for target in "ab"]
        + [row("good", target, "following", 0.2) for target in "ab"]
        + [row("good", "a", "cold", 0.3), row("good", "a", "cold", 0.2, gradients=40.0)]
        + [row("half", "a", "following", 0.1), row("half", "b", "", np.nan, status="failed")]
        + [row("bad", target, "following", 0.8) for target in "ab"]
    ).reindex(columns=list(leaderboard.COLUMNS))
    standing = leaderboard.standings(table).set_index("sampler")
    assert list(standing.index) == ["good", "half", "bad"]
    np.testing.assert_allclose(standing["score"], [1.0, 1.5, 3.0])  # log2 of 2; of 1 and 8; of 8
    np.testing.assert_allclose(standing["score_se"]["good"], np.sqrt(0.02) / np.log(2) / 2)
    assert list(standing["within_2x"]) == [1, 0, 0]
    assert standing["gradients_to_2x"]["good"] == 40
    assert list(standing["num_failed"]) == [0, 1, 0]


def test_wrong_command_is_one_line(tmp_path):
    run = CliRunner().invoke
    result = run(app, ["targets", "export", str(tmp_path / "out"), "--target", "nothing"])
    assert isinstance(result.exception, InputError)
    result = run(app, ["targets", "run", str(tmp_path), "--sampler", "nothing.py:Mine", "--beside", "none"])
    assert isinstance(result.exception, InputError)
    result = run(app, ["targets", "run", str(tmp_path), "--beside", "mala"])
    assert "no targets in" in str(result.exception)
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
def test_the_command_measures_good_and_bad_samplers(sequence, tmp_path):
    """Processes of their own: a sampler that works, returns NaN, dies or hangs, and a file that is no Python."""
    (tmp_path / "targets").mkdir()
    sequence.save(tmp_path / "targets")
    file, broken = tmp_path / "mine.py", tmp_path / "broken.py"
    file.write_text(MINE)
    broken.write_text("class Mine(:")
    specs = ["mala", f"{file}:NaNs", f"{file}:Dies", f"{broken}:Mine"]
    limits = leaderboard.Limits(20, (1, 2), 300.0)
    folder = tmp_path / "targets"
    table = leaderboard.run(folder, specs, limits)
    hung = leaderboard.run(folder, [f"{file}:Hangs"], limits._replace(seconds=8.0))
    assert list(table[table["sampler"] == "mala"]["status"].unique()) == ["done"]
    reasons = table[table["status"] == "failed"].set_index("sampler")["reason"]
    assert list(reasons.index) == ["NaNs", "Dies", "Mine"]  # one row each
    assert "not finite" in reasons["NaNs"]
    assert "process ended with status 3" in reasons["Dies"]
    assert "SyntaxError" in reasons["Mine"]
    (reason,) = hung[hung["sampler"] == "Hangs"]["reason"]
    assert reason == "no answer within 8 seconds"
    assert list(hung[hung["sampler"] == "reference"]["status"]) == ["done"]
