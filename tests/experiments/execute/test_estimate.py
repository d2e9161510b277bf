"""The estimate of `--dry-run` against the minutes that the studies took."""

import re
from pathlib import Path

import pytest

from experiments.config.compose import compose
from experiments.config.study_files import study_names
from experiments.execute import estimate

PAGE = (Path(estimate.__file__).parents[1] / "README.md").read_text()
FACTOR = 2.0


def minutes(name):
    """The minutes in the gallery; `a minute` is the least."""
    (stated,) = re.findall(rf"fgtsva run study={name} +# (a|\d+) minute", PAGE)
    return 1.0 if stated == "a" else float(stated)


@pytest.mark.parametrize("name", study_names())
def test_estimated_time_is_close_to_the_gallery(name):
    ahead = estimate.estimate(compose([f"study={name}"]), lambda _: False)
    assert 1 / FACTOR <= max(1.0, ahead.seconds / 60) / minutes(name) <= FACTOR
