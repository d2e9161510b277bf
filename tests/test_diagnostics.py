"""Diagnostics against closed forms: where the error of a sampler is known, the measured one must match it."""

import jax
import numpy as np
import pytest
from scipy import stats

from fgtsva_ppl import FGTSVA, MALA, Sparse, Thompson, simulate
from fgtsva_ppl.diagnostics import Effort, Samples, probe, quality
from fgtsva_ppl.diagnostics.accuracy import (
    action_probabilities,
    directions,
    moment_errors,
    nested_rhat,
    sliced_wasserstein,
    total_variation,
    total_variation_floor,
)
from fgtsva_ppl.diagnostics.mixing import mixing
from fgtsva_ppl.diagnostics.quality import gate
from samplers import Draw
from samplers.control import Control

FALSE_ALARM = 1e-5  # of each comparison below, two-sided
Z = stats.norm.ppf(1 - FALSE_ALARM / 2)

RUNS = 6


EFFORT = Effort(replicas=2048, reference=8192)


def measured(sampler, c=0.0, rounds=30):
    """Diagnostics of the last of a few rounds, a dict a run."""
    agent = Thompson(posterior=FGTSVA(c=c), sampler=sampler).for_horizon(rounds)
    played = simulate(Sparse(), agent, rounds=rounds, runs=RUNS, probes=[rounds])
    samples = probe(Sparse(), agent, played.snapshots[0], runs=RUNS, seed=0, effort=EFFORT)
    return [quality(jax.tree.map(lambda x, i=i: x[i], samples)) for i in range(RUNS)]


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_spread_and_covariance_error_of_scaled_exact_draws_are_the_known_ones(spread):
    effort = EFFORT
    for metrics, *_ in measured(Control(spread=spread)):
        dim = 5
        # a sample variance of n normal draws has relative error sqrt(2/n); the mean over 5 independent ones less
        error = spread**2 * np.sqrt(2 / dim * (1 / effort.replicas + 1 / effort.reference))
        assert abs(metrics["spread"] ** 2 - spread**2) < Z * error
        # E||C - I||_F^2 / d = (k - 1)^2 + k^2 (d + 1)/n and the like: a bound from both ends
        noise = spread**2 * np.sqrt((dim + 1) * (1 / effort.replicas + 1 / effort.reference))
        assert abs(metrics["covariance_error"] - abs(spread**2 - 1)) < Z * noise
        # the mean is right: d * error^2 is chi-squared with d degrees of freedom
        scale = spread**2 / effort.replicas + 1 / effort.reference
        assert dim * metrics["mean_error"] ** 2 / scale < stats.chi2.ppf(1 - FALSE_ALARM, dim)


def test_total_variation_of_contaminated_draws_is_the_share_times_that_of_the_contamination():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(8))
    share, n = 0.3, 200_000
    mixed = np.where(rng.uniform(size=n) < share, rng.choice(8, n, p=q), rng.choice(8, n, p=p))
    found = total_variation(action_probabilities(mixed, 8), p)
    assert abs(found - share * total_variation(p, q)) < Z * np.sqrt(8 / (4 * n))


def test_total_variation_of_equal_laws_is_its_floor_on_average():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(16))
    n, m, repeats = 500, 2000, 400
    found = [total_variation(rng.multinomial(n, p) / n, rng.multinomial(m, p) / m) for _ in range(repeats)]
    error = np.std(found, ddof=1) / np.sqrt(repeats)
    # the floor is a normal approximation: a hundredth of it is allowed for that
    floor = total_variation_floor(p, n, m)
    assert abs(np.mean(found) - floor) < Z * error + 0.01 * floor


def test_sliced_wasserstein_of_a_shift_and_of_a_scaling_are_the_known_ones():
    rng = np.random.default_rng(2)
    reference, draws = rng.normal(size=(200_000, 3)), rng.normal(size=(50_000, 3))
    # along u a shift moves everything by <u, shift>
    known = 2 * np.abs(directions(3)[:, 0]).mean()
    assert sliced_wasserstein(draws + np.array([2.0, 0, 0]), reference) == pytest.approx(known, rel=0.02)
    # N(0, k^2) is (k - 1) E|x| from N(0, 1), whatever the direction
    assert sliced_wasserstein(3 * draws, reference) == pytest.approx(2 * np.sqrt(2 / np.pi), rel=0.02)
    assert sliced_wasserstein(draws, reference) < 0.02


def test_errors_do_not_depend_on_the_scale_or_the_correlation_of_the_posterior():
    rng = np.random.default_rng(3)
    reference, draws = rng.normal(size=(4000, 4)), 1.3 * rng.normal(size=(1000, 4)) + 0.2
    stretch = rng.normal(size=(4, 4)) @ np.diag([1e-3, 1, 10, 1e3])
    for found, again in zip(
        (*moment_errors(draws, reference),),
        (*moment_errors(draws @ stretch, reference @ stretch),),
        strict=True,
    ):
        assert found == pytest.approx(again, rel=1e-6)


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.9])
def test_nested_rhat_at_one_draw_per_chain_matches_its_closed_form(memory):
    """x = memory * start + sqrt(1 - memory^2) z: B = 4 memory^2 + W/M for starts with variance 4, W = 1 - memory^2."""
    superchains, chains, repeats = 16, 32, 200
    rng = np.random.default_rng(4)
    ratio = []
    for _ in range(repeats):
        starts = 2 * rng.normal(size=(superchains, 1, 1))
        x = memory * starts + np.sqrt(1 - memory**2) * rng.normal(size=(superchains, chains, 1))
        ratio.append(nested_rhat(x) ** 2 - 1)
    within = 1 - memory**2
    known = (4 * memory**2 + within / chains) / within
    error = np.std(ratio, ddof=1) / np.sqrt(repeats)
    bias = known * 2 / (superchains * chains)  # of a ratio whose denominator is a sample variance
    assert abs(np.mean(ratio) - known) < Z * error + bias


def test_nested_rhat_agrees_with_its_definition_at_several_draws_per_chain():
    x = np.random.default_rng(5).normal(size=(4, 3, 7, 2))
    b = x.mean(axis=(1, 2)).var(axis=0, ddof=1)
    w = np.mean(
        [x[k].mean(axis=1).var(axis=0, ddof=1) + x[k].var(axis=1, ddof=1).mean(axis=0) for k in range(4)],
        axis=0,
    )
    assert nested_rhat(x) == pytest.approx(np.sqrt(1 + b / w).max())


def test_a_frozen_chain_looks_frozen():
    rng = np.random.default_rng(6)
    still = np.broadcast_to(rng.normal(size=(4, 1, 3)), (4, 100, 3))
    found = mixing(still)
    assert found.rhat == np.inf
    assert found.ess_bulk == found.ess_tail == 4
    assert found.unique == 0
    slow = np.repeat(rng.normal(size=(4, 4, 3)), 25, axis=1)  # three moves in a hundred draws
    found = mixing(slow)
    assert found.ess_bulk <= 16
    assert found.unique == pytest.approx(3 / 99)


@pytest.mark.parametrize("where", [0.0, 0.1, np.pi / 10])
@pytest.mark.parametrize("draws", [100, 250])
def test_all_chains_stuck_at_one_point_are_not_called_converged(where, draws):
    """The standard deviation of 250 equal numbers need not be zero."""
    found = mixing(np.full((4, draws, 2), where))
    assert found.rhat == np.inf
    assert found.ess_bulk == 4


def test_independent_draws_have_as_many_effective_ones():
    found = mixing(np.random.default_rng(7).normal(size=(4, 1000, 2)))
    assert found.rhat < 1.01
    assert found.ess_bulk > 3000
    assert found.unique == 1


def test_what_is_refused_is_not_shown_as_the_truth():
    rng = np.random.default_rng(9)
    chains, stuck = (
        rng.normal(size=(4, 50, 2)),
        rng.normal(size=(4, 100, 2)) + 5 * np.arange(4)[:, None, None],
    )
    draws = Draw(chains, np.ones((4, 50)), np.zeros((4, 50)), np.ones((4, 50)), np.ones((4, 50)))
    replicas = Draw(rng.normal(size=(64, 2)), np.ones(64), np.zeros(64), np.ones(64))
    arms = rng.integers(0, 3, 400)
    samples = Samples(
        replicas, arms[:64], stuck, arms, np.zeros(()), rng.normal(size=(8, 8, 2)), draws, np.ones(()),
        np.asarray(1), np.ones(3),
    )  # fmt: skip
    metrics, p, q, refused = quality(samples)
    assert "R-hat" in refused
    assert np.isnan(q).all()
    assert np.isnan(metrics["tv"])
    assert p.sum() == pytest.approx(1)


def test_the_gate_refuses_what_posteriordb_would():
    rng = np.random.default_rng(8)
    good = rng.normal(size=(4, 1000, 2))
    assert gate(good, 0) == ""
    assert "diverged" in gate(good, 3)
    assert "R-hat" in gate(good + 5 * np.arange(4)[:, None, None], 0)
    walk = np.cumsum(rng.normal(size=(4, 1000, 2)), axis=1)
    assert gate(walk, 0) != ""


def test_a_stuck_control_shows_in_unique_draws_and_an_exact_one_in_nothing():
    for metrics, *_ in measured(Control(stuck=0.95)):
        assert metrics["unique"] < 0.1
    for metrics, *_ in measured(Control()):
        assert metrics["unique"] == 1
        assert metrics["nested_rhat"] < 1.1
        assert metrics["tv"] < 2.5 * metrics["tv_floor"] + 0.02


@pytest.mark.slow
def test_where_there_is_no_oracle_a_gated_reference_serves():
    posterior = FGTSVA(c=0.01, maximum="logsumexp")
    agent = Thompson(posterior=posterior, sampler=MALA()).for_horizon(20)
    played = simulate(Sparse(dim=3), agent, rounds=20, runs=2, probes=[20])
    samples = probe(Sparse(dim=3), agent, played.snapshots[0], runs=2, seed=0, effort=Effort(replicas=256))
    for index in range(2):
        metrics, p, q, refused = quality(jax.tree.map(lambda x, i=index: x[i], samples))
        assert refused == ""
        assert metrics["tv"] < 0.15
        assert p.sum() == pytest.approx(1)
        assert q.sum() == pytest.approx(1)
