"""Mixing diagnostics: ArviZ's numbers, and stuck chains that look stuck."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from fgtsva_ppl.diagnostics import METRICS, arviz_vectorized
from fgtsva_ppl.diagnostics.mixing import ebfmi, mixing


def test_constant_chains_look_stuck():
    rng = np.random.default_rng(6)
    constant = np.broadcast_to(rng.normal(size=(4, 1, 3)), (4, 100, 3))
    diagnosed = mixing(constant)
    assert diagnosed.rhat == np.inf
    assert diagnosed.ess_bulk == diagnosed.ess_tail == 4
    assert diagnosed.fraction_moved == 0
    sticky = np.repeat(rng.normal(size=(4, 4, 3)), 25, axis=1)  # three moves in a hundred draws
    diagnosed = mixing(sticky)
    assert diagnosed.ess_bulk <= 16
    assert diagnosed.fraction_moved == pytest.approx(3 / 99)


@pytest.mark.parametrize("position", [0.0, 0.1, np.pi / 10])
@pytest.mark.parametrize("draws", [100, 250])
def test_all_chains_stuck_at_one_point_have_not_converged(position, draws):
    """The standard deviation of 250 equal numbers need not be zero."""
    diagnosed = mixing(np.full((4, draws, 2), position))
    assert diagnosed.rhat == np.inf
    assert diagnosed.ess_bulk == 4


def test_independent_draws_have_as_many_effective_ones():
    diagnosed = mixing(np.random.default_rng(7).normal(size=(4, 1000, 2)))
    assert diagnosed.rhat < 1.01
    assert diagnosed.ess_bulk > 3000
    assert diagnosed.fraction_moved == 1


KINDS = ["independent", "slow", "antithetic", "rounded", "sticky", "separated"]


def series_of(kind, chains, draws):
    """Six series of one of the kinds."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(6, chains, draws))
    for t in range(1, draws):
        memory = {"slow": 0.95, "antithetic": -0.9}.get(kind, 0.0)
        x[..., t] += memory * x[..., t - 1]
    if kind == "rounded":
        x = np.round(x, 1)
    if kind == "sticky":
        x = np.repeat(x[..., ::5], 5, axis=-1)[..., :draws]
    return x + np.arange(chains)[:, None] if kind == "separated" else x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("chains", "draws"), [(4, 250), (4, 101), (2, 40)])
def test_vectorized_diagnostics_equal_those_of_arviz(kind, chains, draws):
    x = series_of(kind, chains, draws)
    for ours, theirs in (
        (arviz_vectorized.rhat, array_stats.rhat(x, method="rank")),
        (arviz_vectorized.ess_bulk, array_stats.ess(x, method="bulk")),
        (arviz_vectorized.ess_tail, array_stats.ess(x, method="tail", prob=(0.05, 0.95))),
        (arviz_vectorized.mcse_mean, array_stats.mcse(x, method="mean")),
    ):
        np.testing.assert_allclose(ours(x), theirs, rtol=1e-10)
    for prob in ((0.1, 0.9), (0.11, 0.89), (0.05, 0.8)):
        theirs = array_stats.ess(x, method="tail", prob=prob)
        np.testing.assert_allclose(arviz_vectorized.ess_tail(x, prob=prob), theirs, rtol=1e-10)


def test_tail_ess_is_that_of_the_5_and_95_percent_quantiles():
    """Quantiles that are written out here: 10% and 90%, or ArviZ's default of 11% and 89%, have other numbers."""
    x = series_of("slow", 4, 250)
    reported = mixing(np.moveaxis(x, 0, -1)).ess_tail
    assert reported == pytest.approx(array_stats.ess(x, method="tail", prob=(0.05, 0.95)).min(), rel=1e-10)
    for other in ((0.1, 0.9), (0.11, 0.89), (0.025, 0.975)):
        assert abs(array_stats.ess(x, method="tail", prob=other).min() / reported - 1) > 0.01
    assert "5% and 95% quantiles" in METRICS["ess_tail"].doc


def test_mixing_of_several_runs_at_once_equals_that_of_each_run():
    rng = np.random.default_rng(11)
    chains = rng.normal(size=(4, 3, 50, 2))
    chains[1, 0] = chains[1, 0, :1]  # constant
    chains[2, 1, 7, 1] = np.nan
    together = mixing(chains)
    for run in range(4):
        np.testing.assert_array_equal(mixing(chains[run]), [values[run] for values in together])
    assert np.isinf(together.rhat).tolist() == [False, True, True, False]


def test_ebfmi_is_that_of_arviz_and_nan_where_there_are_no_energies():
    energies = np.random.default_rng(12).normal(size=(4, 100)).cumsum(axis=1)
    assert ebfmi(energies) == pytest.approx(np.min(array_stats.bfmi(energies)))
    for meaningless in (np.full((4, 100), np.nan), np.full(4, np.nan), np.zeros((4, 100))):
        assert np.isnan(ebfmi(meaningless))
