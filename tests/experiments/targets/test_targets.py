"""Stored sequences of posteriors, their references, and the leaderboard: closed forms, bits, and what goes wrong."""

import json
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from helpers.montecarlo import SEED
from numpyro.infer.util import potential_energy
from typer.testing import CliRunner

from experiments.cli.commands import app
from experiments.storage.errors import DamagedError
from experiments.targets import leaderboard, page
from experiments.targets.export import export
from experiments.targets.measure import Budget, compare
from experiments.targets.reference import gate
from experiments.targets.sequences import SEQUENCES, chosen, stored_names
from experiments.targets.stored import StoredSequence, load_sequence
from experiments.targets.worker import load_sampler, work
from samplers import InputError

DIM, ARMS, STEPS, DRAWS = 2, 3, 2, 400


@pytest.fixture(scope="module")
def sequence():
    """Two Gaussian posteriors, by hand: precision d I + 2 gram, shift 2 moment."""
    rng = np.random.default_rng(SEED)
    rows = rng.normal(size=(STEPS, 5, DIM))
    gram, moment = np.einsum("sni,snj->sij", rows, rows), rng.normal(size=(STEPS, DIM))
    precision = DIM * np.eye(DIM) + 2 * gram
    mean = np.linalg.solve(precision, 2 * moment[..., None])[..., 0]
    root = np.linalg.inv(np.linalg.cholesky(precision)).swapaxes(-1, -2)
    draws = mean[:, None] + rng.normal(size=(STEPS, DRAWS, DIM)) @ root.swapaxes(-1, -2)
    arrays = {
        "round": np.array([3, 6]),
        "actions": rng.normal(size=(STEPS, ARMS, DIM)),
        "sigma": np.ones(STEPS),
        "total_variance": np.ones(STEPS),
        "num_rows": np.array([5, 5]),
        "gram": gram,
        "moment": moment,
        "square": np.ones(STEPS),
        "metric": precision,
        "reference": draws,
    }
    facts = {
        "reward": ["linear", {}],
        "posterior": ["ts", {"eta": 1.0}],
        "compared": "parameters",
        "references": [{"kind": "exact"}, {"kind": "exact"}],
    }
    return StoredSequence("by-hand", arrays, facts)


def test_density_is_the_closed_form_and_that_of_the_numpyro_program(sequence):
    precision = DIM * np.eye(DIM) + 2 * sequence.arrays["gram"][1]
    x = jnp.asarray([0.3, -0.8])
    expected = 2 * sequence.arrays["moment"][1] - precision @ x
    np.testing.assert_allclose(jax.grad(sequence.target(1).logdensity)(x), expected, rtol=1e-12)
    program = -potential_energy(sequence.program(1), (), {}, {"theta": x})
    np.testing.assert_allclose(sequence.target(1).logdensity(x), program, rtol=1e-12)


def test_files_are_read_back_and_damage_is_noticed(sequence, tmp_path):
    digest = sequence.save(tmp_path)
    again = load_sequence(tmp_path / "by-hand.nc")
    assert again.digest() == digest == json.loads((tmp_path / "by-hand.json").read_text())["digest"]
    assert stored_names(tmp_path) == ["by-hand"]
    data = tmp_path / "by-hand.nc"
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(bytes(content))
    with pytest.raises(DamagedError):
        load_sequence(tmp_path / "by-hand")
    sequence.save(tmp_path)
    facts = tmp_path / "by-hand.json"
    facts.write_text(facts.read_text().replace('"eta": 1.0', '"eta": 2.0'))
    with pytest.raises(DamagedError, match="digest"):
        load_sequence(tmp_path / "by-hand")
    facts.write_text("not json")
    with pytest.raises(DamagedError, match="cannot be read"):
        load_sequence(tmp_path / "by-hand")
    with pytest.raises(InputError, match="does not exist"):
        load_sequence(tmp_path / "nothing")


def test_names_are_checked():
    assert {*chosen(None, quick=True)} < {*chosen(None, quick=False)} == {*SEQUENCES}
    with pytest.raises(InputError, match="did you mean 'modes-5'"):
        chosen(["modes5"], quick=True)


def test_errors_are_small_for_exact_draws_and_known_for_wrong_ones(sequence):
    reference = sequence.reference[1]
    same = compare(sequence, 1, reference[::2], reference[1::2])
    assert same["mean_error"] < 0.4
    assert same["action_tv"] < 0.2
    centre = reference.mean(0)
    wide = compare(sequence, 1, centre + 2 * (reference - centre))
    assert wide["covariance_error"] == pytest.approx(3, abs=1e-6)  # whitened, C - I = 3 I
    shifted = compare(sequence, 1, reference + reference.std(0) * np.array([10.0, 0.0]))
    assert shifted["mmd"] > 0.5
    with pytest.raises(ValueError, match="not finite"):
        compare(sequence, 1, np.full((4, DIM), np.nan))


def test_gate_of_references():
    rng = np.random.default_rng(SEED)
    first, second = rng.normal(size=(2, 4, 600, 3))
    reason, facts = gate(first, second)
    assert reason == ""
    assert facts["largest_z"] < facts["z_bound"]
    apart = first + np.arange(4)[:, None, None]
    for args, expected in [
        ((apart, second), "R-hat"),
        ((first[:, :240], second), "effective sample size"),
        ((first, second, 1), "diverged"),
        ((first, second + 0.3), "differ by"),
        ((first, 1.3 * second), "differ by"),
    ]:
        assert expected in gate(*args)[0]


MINE = """
import jax.numpy as jnp, time
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


@pytest.fixture(scope="module")
def rows(sequence, tmp_path_factory):
    """What a worker writes: a sampler that raises, one that works, and a damaged file."""
    folder = tmp_path_factory.mktemp("targets")
    sequence.save(folder)
    shutil.copy(folder / "by-hand.nc", folder / "damaged.nc")
    (folder / "damaged.json").write_text("{}")
    file = folder / "mine.py"
    file.write_text(MINE)
    lines = {}
    for sampler in ("reference", "laplace", f"{file}:Raises"):
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
    assert rows["Raises"][0]["reason"] == "RuntimeError: not <today>"
    assert rows["reference"][0]["rows"][0]["mode"] == "reference"


def test_table_figure_and_page_have_failures_with_their_reason(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(leaderboard, "_measured", lambda folder, sampler, names, limits: iter(rows[sampler]))
    monkeypatch.setattr(leaderboard, "stored_names", lambda folder: ["by-hand", "damaged"])
    table = leaderboard.run(tmp_path, ["laplace", "Raises"], leaderboard.Limits(50, (1, 2), 1.0))
    assert list(table.columns) == list(leaderboard.COLUMNS)
    assert list(table["status"]).count("failed") == 4
    standing = leaderboard.standings(table)
    assert list(standing["sampler"]) == ["laplace", "Raises"]
    assert list(standing["num_failed"]) == [1, 2]
    paths = page.write(tmp_path, table)
    assert all(path.stat().st_size > 500 for path in paths)
    assert "not &lt;today&gt;" in paths[2].read_text()
    assert len(pd.read_csv(paths[0])) == len(table)
    only_failures = table[table["status"] == "failed"]
    page.write(tmp_path, only_failures)  # nothing to draw is no reason to fail


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
def test_export_is_deterministic_and_its_checks_hold(tmp_path):
    first = export(tmp_path / "a", ["modes-5"], quick=True)
    second = export(tmp_path / "b", ["modes-5"], quick=True)
    assert first == second == json.loads((tmp_path / "a" / "index.json").read_text())["sequences"]
    for name in ("modes-5.nc", "modes-5.json", "index.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    stored = load_sequence(tmp_path / "a" / "modes-5")
    for step in range(len(stored)):
        target, x = stored.target(step), jnp.asarray(stored.arrays["check_positions"][step, 0])
        np.testing.assert_allclose(
            target.logdensity(x), stored.arrays["check_logdensity"][step, 0], rtol=1e-10
        )
        gradient = stored.arrays["check_gradient"][step, 0]
        for i, shift in enumerate(1e-5 * np.eye(stored.size)):  # finite differences
            slope = (target.logdensity(x + shift) - target.logdensity(x - shift)) / 2e-5
            np.testing.assert_allclose(slope, gradient[i], rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_the_command_measures_good_and_bad_samplers(sequence, tmp_path):
    (tmp_path / "targets").mkdir()
    sequence.save(tmp_path / "targets")
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    limits = leaderboard.Limits(20, (1, 2), 300.0)
    folder = tmp_path / "targets"
    table = leaderboard.run(folder, ["mala", f"{file}:NaNs"], limits)
    hung = leaderboard.run(folder, [f"{file}:Hangs"], limits._replace(seconds=8.0))
    assert list(table[table["sampler"] == "mala"]["status"].unique()) == ["done"]
    (reason,) = table[table["sampler"] == "NaNs"]["reason"]
    assert "not finite" in reason
    (reason,) = hung[hung["sampler"] == "Hangs"]["reason"]
    assert reason == "no answer within 8 seconds"
    assert Budget().num_chains > 20
