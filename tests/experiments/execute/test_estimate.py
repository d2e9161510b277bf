"""The estimate of `--dry-run` against the minutes that the studies took."""

import re
from pathlib import Path

import jax
import pytest

from experiments.config.compose import compose
from experiments.config.study_files import claim_names, study_names
from experiments.execute import estimate
from fgtsva_ppl.simulation.loop import _capacity

PAGE = (Path(estimate.__file__).parents[1] / "README.md").read_text()
FACTOR = 2.0
NOT_RUN = "This study has not been run at full size yet."  # instead of its minutes


def entry(name):
    """A study's part of the gallery."""
    return PAGE.partition(f"### `{name}`: ")[2].partition("\n### `")[0]


RUN = [name for name in sorted(set(study_names()) - set(claim_names())) if NOT_RUN not in entry(name)]


def minutes(name):
    """The minutes in the gallery; `a minute` is the least."""
    (stated,) = re.findall(rf"fgtsva run study={name} +# (a|\d+) minute", PAGE)
    return 1.0 if stated == "a" else float(stated)


@pytest.mark.parametrize("name", RUN)
def test_estimated_time_is_close_to_the_gallery(name):
    ahead = estimate.estimate(compose([f"study={name}"]), lambda _: False)
    assert 1 / FACTOR <= max(1.0, ahead.seconds / 60) / minutes(name) <= FACTOR


def test_the_remaining_time_follows_the_pace():
    """Cells weigh what they are expected to take; the pace replaces the expectation as work is done."""
    ahead = estimate.Estimate(2, 0, 2, 100, 40.0, {"cheap": 10.0, "dear": 30.0})
    assert ahead.seconds_left(0.0, {}) == 40.0
    assert ahead.seconds_left(5.0, {"cheap": 0.0}) == 35.0  # still compiling
    assert ahead.seconds_left(50.0, {"cheap": 1.0}) == pytest.approx(150.0)  # five times slower than expected
    assert ahead.seconds_left(2.5, {"cheap": 1.0, "stored elsewhere": 1.0}) == pytest.approx(7.5)
    assert ahead.seconds_left(50.0, {"cheap": 0.1}) > 40.0  # late, though little is done
    assert ahead.seconds_left(60.0, {"cheap": 1.0, "dear": 1.0}) == 0.0


@pytest.mark.parametrize("rounds", [1, 100, 512, 1000])
def test_mean_capacity_is_that_of_the_simulation(rounds):
    expected = sum(_capacity(done + 1) for done in range(rounds)) / rounds
    assert estimate.mean_capacity(rounds) == pytest.approx(expected)


LOGISTIC = [
    "environment=logistic",
    "environment.dim=20",
    "environment.arms=50",
    "reward=logistic",
    "rounds=2000",
]


def seconds(*overrides):
    ahead = estimate.estimate(compose([*LOGISTIC, *overrides, "sampler=sgld"]), lambda _: False)
    return sum(ahead.cell_seconds.values())


def test_past_action_sets_count():
    """FGTS-A goes through the action sets of all past rounds: 50 arms where the likelihood has one."""
    assert seconds("posterior=fgts_a", "runs=50") > 8 * seconds("posterior=ts", "runs=50")


def test_cells_side_by_side_are_padded_for_one_device():
    """Ten runs fill a block of one device, and the other devices have cells of their own."""
    blocks = -(-50 // (25 * len(jax.devices())))
    one = seconds("runs=10", "seed=1", "rounds=200")
    assert one == pytest.approx(seconds("runs=50", "seed=1", "rounds=200") / blocks)
    many = seconds("runs=10", "posterior=fgts_a,ts", "rounds=20000")
    assert many == pytest.approx(seconds("runs=25", "posterior=fgts_a,ts", "rounds=20000"))
