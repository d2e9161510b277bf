"""The page of examples runs, and its draws are right."""

import re
from pathlib import Path

import numpy as np
import pytest

import samplers

PAGE = Path(samplers.__file__).with_name("EXAMPLES.md")


def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_page_imports_nothing_of_bandits():
    text = "\n".join(blocks())
    assert "fgtsva" not in text
    assert "experiments" not in text
    for name in ("SGLD", "PSGLD", "SGNHT", "from_blackjax", "to_blackjax", "follow"):
        assert f"samplers.{name}" in text


@pytest.mark.slow
def test_every_example_runs(capsys):
    names: dict = {}
    for number, block in enumerate(blocks()):
        exec(compile(block, f"{PAGE}, block {number}", "exec"), names)
    assert np.allclose(np.cov(names["chain"].position.T), np.linalg.inv(names["precision"]), atol=0.3)
    for ratio in names[
        "ratios"
    ].values():  # 400 chains: a relative error of 0.07 in a variance, and a bias of O(step)
        assert np.all(np.abs(np.diag(ratio) - 1) < 0.5)
    assert not names["follower"].reports[-1].lost
    theta = names["theta"].mean((0, 1))
    assert np.allclose(theta, [1.0, -1.0], atol=5 * 0.5 / 40**0.5)
    assert np.allclose(
        names["states"].position.std(0), np.sqrt(np.diag(np.linalg.inv(names["precision"]))), rtol=0.3
    )
    assert capsys.readouterr().out
