"""Every asymptotically exact sampler against exact draws, on every target of the validation.

A cell raises a false alarm with probability 1e-4 (validation.FALSE_ALARM); the seeds are fixed.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from samplers import MALA, SAMPLERS, validation

EXACT = [name for name, cls in SAMPLERS if "exact" in cls.info.exactness]
CANNOT_CROSS = "separated modes"  # no chain leaves the mode it is in; exact draws need no chain
HARD = "small lambda, d=20, 50 arms"
MOVING = ["isotropic", "condition 1e6", "prior, one round old", "2000 sparse rounds"]


@pytest.mark.slow
@pytest.mark.parametrize("case", [*MOVING, HARD])
@pytest.mark.parametrize("name", EXACT)
def test_agrees_with_exact_draws(name, case):
    outcome = validation.validate_sampler(name, case)
    assert outcome.mixes, outcome
    assert outcome.agrees, outcome
    # Power of the test: an error of a tenth of a standard deviation would have been seen.
    assert outcome.mean_error < 0.1, outcome


def test_mala_agrees_after_2000_sparse_rounds():
    """One cell of the table above, which is not marked slow."""
    assert validation.validate_sampler("mala", "2000 sparse rounds").agrees


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXACT if name != "exact"])
def test_rhat_detects_chains_that_do_not_cross_between_modes(name):
    assert not validation.validate_sampler(name, CANNOT_CROSS).mixes


@pytest.mark.slow
def test_exact_draws_cover_separated_modes():
    assert validation.validate_sampler("exact", CANNOT_CROSS).agrees


def test_a_wrong_sampler_is_caught():
    """Power: exact draws with 15% too much spread, and exact draws moved by a fifth of a deviation."""
    exact = validation.reference_draws("isotropic")[: 64 * 100].reshape(64, 100, -1)
    centre = exact.mean((0, 1))
    assert validation.compare_with_exact(exact, "isotropic").agrees
    assert validation.compare_with_exact(centre + 1.15 * (exact - centre), "isotropic").max_t_over_bound > 1
    assert validation.compare_with_exact(exact + 0.2 * exact.std((0, 1)), "isotropic").max_t_over_bound > 1


def test_a_non_finite_chain_does_not_agree():
    broken = np.full((4, 10, 5), np.nan)
    assert not validation.compare_with_exact(broken, "isotropic").mixes


def test_a_constant_chain_does_not_count_as_mixed():
    """ArviZ would report an effective size of all draws."""
    assert not validation.compare_with_exact(np.zeros((4, 10, 5)), "isotropic").mixes


def test_plain_langevin_is_reported_as_stuck():
    """Condition 1e6 in plain coordinates: the step that the stiffest axis allows goes nowhere along the others."""
    assert not validation.validate_sampler("mala", "condition 1e6", sampler=MALA(preconditioner="none")).mixes


def test_cases_match_their_names():
    targets = validation.cases()
    spread = np.linalg.eigvalsh(targets["condition 1e6"].gaussian.precision)
    assert spread[-1] / spread[0] == pytest.approx(1e6, rel=1e-6)
    assert targets[HARD].actions.shape == (50, 20)
    sparse = np.linalg.eigvalsh(targets["2000 sparse rounds"].gaussian.precision)
    assert sparse[-1] > 1e6
    # Modes: at the middle between two neighbours the density is far below both.
    target = validation.as_target(targets[CANNOT_CROSS])
    arms = targets[CANNOT_CROSS].actions
    tops = [5.0 * arm for arm in (arms[0], arms[1])]  # lam S a
    middle = target.logdensity((tops[0] + tops[1]) / 2)
    assert all(target.logdensity(top) > middle + 10 for top in tops)


def test_update_keeps_the_rows_of_other_samplers(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(f"before\n{validation.BEGIN}\n| mala | old |\n| exact | old |\n{validation.END}\nafter\n")
    validation.update_table(page, {"mala": "| mala | new |"})
    lines = page.read_text().splitlines()
    assert lines[0] == "before"
    assert lines[-1] == "after"
    assert lines[4:6] == ["| exact | old |", "| mala | new |"]


def test_outcomes_are_formatted():
    good = validation.Outcome(1.0, 0.5, 0.01, (0.98, 1.02), 0.02, 0.8, 20.0, 0)
    assert validation.format_outcome(good, exact=True) == "agrees"
    assert validation.format_outcome(good._replace(max_t_over_bound=2.0), exact=True).startswith("DIFFERS")
    assert validation.format_outcome(good._replace(rhat=1.7), exact=True) == "stuck, R-hat 1.7"
    assert validation.format_outcome(good._replace(rhat=jnp.inf), exact=False) == "stuck"
    assert validation.format_outcome(good, exact=False) == "(mean 0.01, var 0.98-1.02, TV 0.02)"
