"""A user's sampler: the example of the README, registered by hand and by an entry point."""

import csv
import importlib
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.config.compose import compose
from fgtsva_ppl import Sparse, Thompson, simulate
from samplers import SAMPLERS, InputError, Registry, Sampler, validation
from samplers.settings import settings

README = Path(__file__).parents[2] / "README.md"
VALIDATION = Path(validation.__file__).with_name("VALIDATION.md")


def example() -> str:
    """The file that the README shows."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    return next(block for block in blocks if "from_blackjax" in block)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with the example in it, as pip would leave it."""
    (tmp_path / "my_samplers.py").write_text(example().split("samplers.register")[0])
    info = tmp_path / "my_samplers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-samplers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[fgtsva.samplers]\nmultinomial_hmc = my_samplers:MultinomialHMC\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield tmp_path
    sys.modules.pop("my_samplers", None)


def test_the_example_is_short():
    assert len(example().splitlines()) < 25


@pytest.fixture
def restored(monkeypatch):
    """Restores the registry after a test, and makes it load entry points again."""
    monkeypatch.setattr(SAMPLERS, "_classes", dict(SAMPLERS))
    monkeypatch.setattr(SAMPLERS, "_entry_points_loaded", False)


def test_example_adds_a_sampler_to_the_command(restored, tmp_path, monkeypatch):
    file, out = tmp_path / "my_samplers.py", tmp_path / "out"
    file.write_text(example())
    overrides = ("sampler=multinomial_hmc", "environment=sparse", "environment.dim=2", "sampler.num_steps=2")
    small = ("rounds=4", "runs=2", "diagnostics.runs=0", f"output={out}", "--quiet")
    monkeypatch.setattr(sys, "argv", [str(file), "run", *overrides, *small])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(file), run_name="__main__")
    with open(out / "summary.csv", newline="") as table:
        (row,) = csv.DictReader(table)
    assert row["sampler"] == "multinomial_hmc"
    assert float(row["gradients_per_round"]) == 4 * 2 + 1


def test_an_entry_point_is_known_to_the_command(restored, installed):
    study = compose(["sampler=multinomial_hmc", "sampler.num_steps=4", "environment=sparse"])
    (cell,) = study.cells
    before = cell.id
    assert cell.flat["sampler"] == "multinomial_hmc"
    assert cell.agent.sampler.num_steps == 4
    for line, same in (("# a comment\n", True), ("VERSION = 2\n", False)):
        with open(installed / "my_samplers.py", "a") as file:
            file.write(line)
        (again,) = compose(["sampler=multinomial_hmc", "sampler.num_steps=4", "environment=sparse"]).cells
        assert (again.id == before) is same
    with pytest.raises(InputError, match="did you mean 'multinomial_hmc'"):
        compose(["sampler=multinomal_hmc"])


def test_an_entry_point_is_loaded_by_name(installed):
    registry: Registry[Sampler] = Registry("sampler", "fgtsva.samplers")
    assert "multinomial_hmc" in registry.names()
    assert set(registry.defaults("multinomial_hmc")) >= {
        "num_steps",
        "step_size",
        "preconditioner",
        "adaptation",
    }
    sampler = registry.build("multinomial_hmc", {"num_steps": 4})
    assert sampler.info.family == "Metropolis-adjusted"
    played = simulate(Sparse(dim=2), Thompson(sampler=sampler), rounds=5, runs=2)
    assert np.all(played.num_gradients == 4 * 4 + 1)
    assert np.all(played.acceptance_rate > 0.3)
    with pytest.raises(InputError, match="step_size=-1"):
        registry.build("multinomial_hmc", {"step_size": -1})


def test_a_name_can_be_registered_once():
    @settings
    class Mine:
        pass

    with pytest.raises(InputError, match="registered already"):
        SAMPLERS.register("mala", Mine)


@pytest.mark.slow
def test_the_example_samples_its_target(installed):
    from my_samplers import MultinomialHMC

    assert validation.validate_sampler("multinomial_hmc", "condition 1e6", sampler=MultinomialHMC()).agrees


def test_the_validation_page_has_every_sampler_in_both_tables():
    page = VALIDATION.read_text()
    infos, outcomes = page.split(validation.BEGIN)
    for name, cls in SAMPLERS:
        assert f"| `{name}` | {' | '.join(cls.info)} |" in infos
    for name in validation.validated_samplers():
        assert f"| {name} |" in outcomes
    assert "DIFFERS" not in outcomes
