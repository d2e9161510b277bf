"""Diagnostics of negative controls: where a sampler's error is known in closed form, the measured one must match it."""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean
from scipy import stats

from fgtsva_ppl import FGTSVA, Sparse, Thompson, simulate
from fgtsva_ppl.diagnostics import ProbeSizes, probe, quality
from fgtsva_ppl.simulation import ENVIRONMENT, reveal, run_keys
from samplers import SAMPLERS
from samplers.reference.control import Control

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-5  # of each comparison below, two-sided
Z = stats.norm.ppf(1 - FALSE_ALARM / 2)

RUNS, ROUNDS = 4, 30
SIZES = ProbeSizes(num_replicas=2048, num_reference=8192)
SUPERCHAIN_SIZE = SIZES.num_replicas // SIZES.num_superchains
REPETITIONS = 24  # simulated samples of the same size, for the scatter of one
BANDIT = Sparse()


class RunPosterior(NamedTuple):
    """A run's posterior N(mean, root root'), and the arms to choose from."""

    mean: np.ndarray
    root: np.ndarray
    actions: np.ndarray

    def action_probabilities(self, positions):
        """The frequency of each arm among the draws."""
        best = np.argmax(positions @ self.actions.T, axis=-1)
        return np.bincount(best, minlength=len(self.actions)) / best.size


@lru_cache
def measured(**errors):
    """Diagnostics of a control after a few rounds without a feel-good term, and each run's posterior."""
    agent = Thompson(posterior=FGTSVA(c=0.0), sampler=Control(**errors)).for_horizon(ROUNDS)
    (snapshot,) = simulate(BANDIT, agent, rounds=ROUNDS, runs=RUNS, probes=[ROUNDS]).snapshots
    diagnosed = quality(probe(BANDIT, agent, snapshot, runs=RUNS, seed=0, sizes=SIZES))

    def actions_of(key):
        instance = BANDIT.start(jax.random.fold_in(key, ENVIRONMENT))
        return reveal(BANDIT, key, instance, jnp.asarray(ROUNDS - 1))[0].actions

    data, posteriors = snapshot.states.history.data, []
    for run, actions in enumerate(jax.vmap(actions_of)(run_keys(0, np.arange(RUNS)))):
        gram, moment = np.asarray(data.gram[run]), np.asarray(data.moment[run])
        precision = len(moment) * np.eye(len(moment)) + 2 * gram
        root = np.linalg.inv(np.linalg.cholesky(precision)).T
        posteriors.append(RunPosterior(np.linalg.solve(precision, 2 * moment), root, np.asarray(actions)))
    return diagnosed, posteriors


def control_draws(rng, posterior, n, spread=1.0, contamination=0.0, stuck=0.0, starts=None):
    """An independent implementation of the control."""
    dim = posterior.mean.size
    exact = posterior.mean + spread * rng.normal(size=(n, dim)) @ posterior.root.T
    prior = rng.normal(size=(n, dim)) / np.sqrt(dim)
    draws = np.where(rng.uniform(size=(n, 1)) < contamination, prior, exact)
    return draws if starts is None else np.where(rng.uniform(size=(n, 1)) < stuck, starts, draws)


def textbook(draws, reference):
    """Errors of mean and covariance and the ratio of standard deviations, computed directly."""
    values, vectors = np.linalg.eigh(np.cov(reference.T))
    white = (draws - reference.mean(0)) @ vectors / np.sqrt(values)
    excess = np.linalg.eigvalsh(np.cov(white.T)) - 1
    mean_error = np.linalg.norm(white.mean(0)) / np.sqrt(len(values))
    return mean_error, np.sqrt(np.mean(excess**2)), np.sqrt(np.mean(excess) + 1)


def closed_form(posterior, spread, contamination):
    """The same for (1 - e) N(m, k^2 S) + e N(0, I/d), in coordinates in which the posterior is N(0, I)."""
    dim, e = posterior.mean.size, contamination
    whiten = np.linalg.inv(posterior.root)
    prior_mean = -whiten @ posterior.mean
    covariance = (1 - e) * spread**2 * np.eye(dim) + e * whiten @ whiten.T / dim
    covariance += e * (1 - e) * np.outer(prior_mean, prior_mean)
    mean_error = e * np.linalg.norm(prior_mean) / np.sqrt(dim)
    covariance_error = np.linalg.norm(covariance - np.eye(dim)) / np.sqrt(dim)
    return mean_error, covariance_error, np.sqrt(np.trace(covariance) / dim)


CONTROLS = (
    {"spread": 0.5},
    {"spread": 2.0},
    {"contamination": 0.05},
    {"contamination": 0.5},
    {"spread": 1.0},
)


@pytest.mark.parametrize("errors", CONTROLS, ids=str)
def test_moment_errors_of_a_control_are_the_known_ones(errors):
    """Z standard deviations of the scatter of samples of this size about the closed form, their bias included."""
    diagnosed, posteriors = measured(**errors)
    rng = np.random.default_rng(SEED)
    for run, posterior in enumerate(posteriors):
        known = np.array(closed_form(posterior, errors.get("spread", 1.0), errors.get("contamination", 0.0)))
        simulated = [
            textbook(
                control_draws(rng, posterior, SIZES.num_replicas, **errors),
                control_draws(rng, posterior, SIZES.num_reference),
            )
            for _ in range(REPETITIONS)
        ]
        bias, scatter = np.mean(simulated, axis=0) - known, np.std(simulated, axis=0, ddof=1)
        # the scatter is about the closed form, except for the norm of the noise itself
        assert np.all(np.abs(bias) < 0.1 + 0.05 * known)
        names = ("mean_error", "covariance_error", "sd_ratio")
        ours = np.array([diagnosed.metrics[name][run] for name in names])
        z = (ours - known - bias) / scatter
        limit = stats.t.ppf(1 - FALSE_ALARM / 2, REPETITIONS - 1) * np.sqrt(1 + 1 / REPETITIONS)
        assert np.all(np.abs(z) < limit), z


@pytest.mark.parametrize("errors", CONTROLS, ids=str)
def test_total_variation_of_a_control_is_the_known_one(errors):
    """Between action distributions: e times that of prior and posterior, where draws are mixed with the prior.

    The expected distance of finite samples of two known distributions is a sum of folded normal means, which is the
    floor where the distributions are equal.
    """
    diagnosed, posteriors = measured(**errors)
    rng = np.random.default_rng(SEED)
    n, m, many = SIZES.num_replicas, SIZES.num_reference, 100_000
    gaps, scatter = [], []
    for run, posterior in enumerate(posteriors):
        q = posterior.action_probabilities(control_draws(rng, posterior, many))
        prior = np.full(len(posterior.actions), 1 / len(posterior.actions))
        e = errors.get("contamination", 0.0)
        spread = posterior.action_probabilities(
            control_draws(rng, posterior, many, spread=errors.get("spread", 1.0))
        )
        p = (1 - e) * (q if e else spread) + e * prior  # the prior has no favourite among the cube's vertices
        gap, sd = p - q, np.sqrt(p * (1 - p) / n + q * (1 - q) / m) + 1e-12
        folded = np.sqrt(2 / np.pi) * sd * np.exp(-(gap**2) / sd**2 / 2) + gap * (
            1 - 2 * stats.norm.cdf(-gap / sd)
        )
        if e:
            assert np.abs(gap).sum() / 2 == pytest.approx(e * np.abs(prior - q).sum() / 2)
        gaps.append(diagnosed.metrics["total_variation"][run] - folded.sum() / 2)
        # TV is half a sum of signs: a replica moves it by 1/n at most, and one of many by less
        scatter.append(np.sqrt(1 / n + 1 / m + 2 / many) / 2)
    assert abs(np.mean(gaps)) < Z * np.linalg.norm(scatter) / RUNS
    assert np.all(np.abs(gaps) < Z * np.array(scatter))


@pytest.mark.parametrize("errors", CONTROLS, ids=str)
def test_nested_rhat_of_a_control_that_forgets_its_start_has_its_known_distribution(errors):
    """For independent draws M B/W ~ F(K - 1, K (M - 1)) in each coordinate; the worst of them is reported."""
    diagnosed, posteriors = measured(**errors)
    superchains = SIZES.num_superchains
    distribution = stats.f(superchains - 1, superchains * (SUPERCHAIN_SIZE - 1))
    reported = SUPERCHAIN_SIZE * (diagnosed.metrics["nested_rhat"] ** 2 - 1)
    assert np.all(reported > distribution.ppf(FALSE_ALARM / 2))
    assert np.all(reported < distribution.isf(FALSE_ALARM / 2 / posteriors[0].mean.size))


def test_nested_rhat_of_a_control_that_remembers_its_start_has_its_known_distribution():
    """Starts are N(m, 4 S); half of the draws stay there. log B/W against simulations, all runs together."""
    diagnosed, posteriors = measured(stuck=0.5)
    rng = np.random.default_rng(SEED)
    superchains = SIZES.num_superchains
    scores = []
    for run, posterior in enumerate(posteriors):
        simulated = []
        for _ in range(200):
            starts = np.repeat(
                control_draws(rng, posterior, superchains, spread=2.0), SUPERCHAIN_SIZE, axis=0
            )
            draws = control_draws(rng, posterior, len(starts), stuck=0.5, starts=starts)
            draws = draws.reshape(superchains, SUPERCHAIN_SIZE, -1)
            between = draws.mean(axis=1).var(axis=0, ddof=1)
            simulated.append(np.log(np.max(between / draws.var(axis=1, ddof=1).mean(axis=0))))
        reported = np.log(diagnosed.metrics["nested_rhat"][run] ** 2 - 1)
        scores.append((reported - np.mean(simulated)) / np.std(simulated, ddof=1))
    assert abs(np.mean(scores)) < Z / np.sqrt(RUNS)
    assert np.mean(diagnosed.metrics["nested_rhat"]) > 1.2


def test_replicas_have_the_distribution_of_the_action_that_was_played():
    """E p(a) = sum p^2 for the action that was played; with the state after the round, p(a) would be greater."""
    agent = Thompson(posterior=FGTSVA(c=0.0), sampler=Control(stuck=0.7)).for_horizon(ROUNDS)
    simulation = simulate(BANDIT, agent, rounds=ROUNDS, runs=RUNS, probes=range(2, ROUNDS + 1))
    gaps = []
    for snapshot in simulation.snapshots:
        diagnosed = quality(probe(BANDIT, agent, snapshot, runs=RUNS, seed=0, sizes=SIZES))
        p, n = diagnosed.action_probabilities, SIZES.num_replicas
        squares = (n * (p**2).sum(axis=1) - 1) / (n - 1)  # without the bias of estimated probabilities
        gaps += [*(p[np.arange(RUNS), simulation.action[:, snapshot.round - 1]] - squares)]
    assert_mean(np.array(gaps), 0.0)


@pytest.mark.parametrize(
    ("name", "has_energy"), [("hmc", True), ("nuts", True), ("mala", False), ("laplace", False)]
)
def test_samplers_that_refresh_their_momentum_have_an_ebfmi(name, has_energy):
    agent = Thompson(posterior=FGTSVA(c=0.0), sampler=SAMPLERS[name]()).for_horizon(ROUNDS)
    (snapshot,) = simulate(BANDIT, agent, rounds=ROUNDS, runs=2, probes=[ROUNDS]).snapshots
    fraction = quality(probe(BANDIT, agent, snapshot, runs=2, seed=0)).metrics["ebfmi"]
    assert np.all(np.isfinite(fraction) == has_energy)
    assert not has_energy or np.all(fraction > 0.3)


def test_a_stuck_control_has_few_unique_draws_and_an_exact_one_passes_all_diagnostics():
    stuck, exact = measured(stuck=0.95)[0].metrics, measured(spread=1.0)[0].metrics
    assert np.all(stuck["fraction_moved"] < 0.1)
    assert np.all(exact["fraction_moved"] == 1)
    assert np.all(exact["total_variation"] < 2.5 * exact["total_variation_floor"] + 0.02)
