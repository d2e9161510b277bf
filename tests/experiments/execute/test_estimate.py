"""The estimate of `--dry-run` against the minutes that the studies took."""

import re
from pathlib import Path

import pytest

from experiments.config.compose import compose
from experiments.config.study_files import claim_names, study_names
from experiments.execute import estimate

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
