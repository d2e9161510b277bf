"""Stored sequences of posteriors and their errors: closed forms, bits, and damaged files."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import potential_energy

from experiments.storage.errors import DamagedError
from experiments.targets import read_targets
from experiments.targets.export import export
from experiments.targets.measure import compare
from experiments.targets.sequences import SEQUENCES, chosen, stored_names
from experiments.targets.stored import load_sequence
from samplers import InputError

DIM = 2


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


def test_every_yardstick_of_the_table_sees_a_wrong_spread(sequence):
    """Columns of exact draws, and of draws with half and with twice the spread."""
    reference = sequence.reference[1]
    centre = reference.mean(0)
    exact, narrow, wide = (
        compare(sequence, 1, centre + factor * (reference[::2] - centre), reference[1::2])
        for factor in (1.0, 0.5, 2.0)
    )
    assert exact["stein_discrepancy"] < min(narrow["stein_discrepancy"], wide["stein_discrepancy"])
    assert (
        exact["classifier_accuracy"] < 0.6 < min(narrow["classifier_accuracy"], wide["classifier_accuracy"])
    )
    assert exact["pareto_khat"] < 0.5 < narrow["pareto_khat"]
    assert 0 < exact["sliced_wasserstein_se"] < exact["sliced_wasserstein"] < wide["sliced_wasserstein"]


@pytest.mark.slow
def test_export_is_deterministic_and_its_checks_hold(tmp_path):
    """Once in this process, with two devices, and once in another one, with one core."""
    names = ["modes-5", "logistic-5"]  # exact references, and gated ones
    first = export(tmp_path / "a", names, quick=True)
    arguments = ["targets", "export", str(tmp_path / "b"), "--quick"]
    arguments += [word for name in names for word in ("--target", name)]
    one_core = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"
    code = f"{one_core}\nfrom experiments.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
    second = json.loads((tmp_path / "b" / "index.json").read_text())["sequences"]
    assert first == second == json.loads((tmp_path / "a" / "index.json").read_text())["sequences"]
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == sorted(
        [*(f"{n}.{s}" for n in names for s in ("json", "nc")), "index.json", "read_targets.py"]
    )
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    for name in names:
        read_targets.load(name, tmp_path / "a").check(
            rtol=1e-9
        )  # another implementation of the same densities
        references = load_sequence(tmp_path / "a" / name).facts["references"]
        assert {one["kind"] for one in references} <= {"exact" if name == "modes-5" else "gated"}
