"""Diagnostics against closed forms: where the error of a sampler is known, the measured one must match it."""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers.montecarlo import SEED, assert_mean, moments
from helpers.worlds import quick_jit, rest_is_slow
from scipy import stats

from experiments.config.compose import resolve
from experiments.execute import diagnose
from fgtsva_ppl import FGTSVA, MALA, Sparse, Thompson, simulate
from fgtsva_ppl.diagnostics import Samples, Sizes, arviz_vectorized, probe, quality
from fgtsva_ppl.diagnostics.accuracy import (
    action_probabilities,
    directions,
    moment_errors,
    nested_rhat,
    sliced_wasserstein,
    total_variation,
    total_variation_floor,
)
from fgtsva_ppl.diagnostics.mixing import energy_fraction, mixing
from fgtsva_ppl.diagnostics.probe import climb, elsewhere, overdispersed
from fgtsva_ppl.diagnostics.quality import gate
from fgtsva_ppl.simulation import ENVIRONMENT, Snapshot, reveal, run_keys
from samplers import SAMPLERS, SVGD, Draw, Gaussian, Target
from samplers.reference.control import Control

FALSE_ALARM = 1e-5  # of each comparison below, two-sided
Z = stats.norm.ppf(1 - FALSE_ALARM / 2)

RUNS, ROUNDS = 4, 30
SIZES = Sizes(replicas=2048, reference=8192)
AGAIN = 24  # samples of the same size that say how far one scatters
WORLD = Sparse()


class Law(NamedTuple):
    """A run's posterior N(mean, S) with S = root root', and the arms to choose from."""

    mean: np.ndarray
    root: np.ndarray
    actions: np.ndarray

    def chosen(self, positions):
        """The share of each arm."""
        best = np.argmax(positions @ self.actions.T, axis=-1)
        return np.bincount(best, minlength=len(self.actions)) / best.size


@lru_cache
def measured(**wrong):
    """Diagnostics of a control after a few rounds without a feel-good term, and each run's posterior."""
    agent = Thompson(posterior=FGTSVA(c=0.0), sampler=Control(**wrong)).for_horizon(ROUNDS)
    played = simulate(WORLD, agent, rounds=ROUNDS, runs=RUNS, probes=[ROUNDS])
    (snapshot,) = played.snapshots
    found = quality(probe(WORLD, agent, snapshot, runs=RUNS, seed=0, sizes=SIZES))

    def seen(key):
        instance = WORLD.start(jax.random.fold_in(key, ENVIRONMENT))
        return reveal(WORLD, key, instance, jnp.asarray(ROUNDS - 1))[0].actions

    data, laws = snapshot.states.history.data, []
    for run, actions in enumerate(jax.vmap(seen)(run_keys(0, np.arange(RUNS)))):
        gram, moment = np.asarray(data.gram[run]), np.asarray(data.moment[run])
        precision = len(moment) * np.eye(len(moment)) + 2 * gram
        root = np.linalg.inv(np.linalg.cholesky(precision)).T
        laws.append(Law(np.linalg.solve(precision, 2 * moment), root, np.asarray(actions)))
    return found, laws


def control_draws(rng, law, n, spread=1.0, contamination=0.0, stuck=0.0, starts=None):
    """What a control draws, written down once more."""
    dim = law.mean.size
    exact = law.mean + spread * rng.normal(size=(n, dim)) @ law.root.T
    prior = rng.normal(size=(n, dim)) / np.sqrt(dim)
    drawn = np.where(rng.uniform(size=(n, 1)) < contamination, prior, exact)
    return drawn if starts is None else np.where(rng.uniform(size=(n, 1)) < stuck, starts, drawn)


def textbook(draws, reference):
    """Errors of mean and covariance and the spread, the direct way."""
    values, vectors = np.linalg.eigh(np.cov(reference.T))
    white = (draws - reference.mean(0)) @ vectors / np.sqrt(values)
    excess = np.linalg.eigvalsh(np.cov(white.T)) - 1
    mean_error = np.linalg.norm(white.mean(0)) / np.sqrt(len(values))
    return mean_error, np.sqrt(np.mean(excess**2)), np.sqrt(np.mean(excess) + 1)


def closed_form(law, spread, contamination):
    """The same of (1 - e) N(m, k^2 S) + e N(0, I/d), in coordinates in which the posterior is N(0, I)."""
    dim, e = law.mean.size, contamination
    from_target = np.linalg.inv(law.root)
    far = -from_target @ law.mean
    covariance = (1 - e) * spread**2 * np.eye(dim) + e * from_target @ from_target.T / dim
    covariance += e * (1 - e) * np.outer(far, far)
    mean_error = e * np.linalg.norm(far) / np.sqrt(dim)
    covariance_error = np.linalg.norm(covariance - np.eye(dim)) / np.sqrt(dim)
    return mean_error, covariance_error, np.sqrt(np.trace(covariance) / dim)


WRONG = ({"spread": 0.5}, {"spread": 2.0}, {"contamination": 0.05}, {"contamination": 0.5}, {"spread": 1.0})


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_moment_errors_of_a_control_are_the_known_ones(wrong):
    """Z standard deviations of what samples of this size scatter about the closed form, their bias included."""
    found, laws = measured(**wrong)
    rng = np.random.default_rng(SEED)
    for run, law in enumerate(laws):
        known = np.array(closed_form(law, wrong.get("spread", 1.0), wrong.get("contamination", 0.0)))
        again = [
            textbook(
                control_draws(rng, law, SIZES.replicas, **wrong), control_draws(rng, law, SIZES.reference)
            )
            for _ in range(AGAIN)
        ]
        bias, scatter = np.mean(again, axis=0) - known, np.std(again, axis=0, ddof=1)
        # what is scattered about is the closed form, but for the norm that noise has of itself
        assert np.all(np.abs(bias) < 0.1 + 0.05 * known)
        names = ("mean_error", "covariance_error", "spread")
        ours = np.array([found.metrics[name][run] for name in names])
        z = (ours - known - bias) / scatter
        assert np.all(np.abs(z) < stats.t.ppf(1 - FALSE_ALARM / 2, AGAIN - 1) * np.sqrt(1 + 1 / AGAIN)), z


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_total_variation_of_a_control_is_the_known_one(wrong):
    """Of the laws of the arms: e times that between prior and posterior, where draws are mixed with the prior.

    What finite samples of two known laws show is a sum of folded normal means, the floor where the laws are equal.
    """
    found, laws = measured(**wrong)
    rng = np.random.default_rng(SEED)
    n, m, many = SIZES.replicas, SIZES.reference, 100_000
    gaps, scatter = [], []
    for run, law in enumerate(laws):
        q, prior = law.chosen(control_draws(rng, law, many)), np.full(len(law.actions), 1 / len(law.actions))
        e = wrong.get("contamination", 0.0)
        spread = law.chosen(control_draws(rng, law, many, spread=wrong.get("spread", 1.0)))
        p = (1 - e) * (q if e else spread) + e * prior  # the prior has no favourite among the cube's corners
        gap, sd = p - q, np.sqrt(p * (1 - p) / n + q * (1 - q) / m) + 1e-12
        folded = np.sqrt(2 / np.pi) * sd * np.exp(-(gap**2) / sd**2 / 2) + gap * (
            1 - 2 * stats.norm.cdf(-gap / sd)
        )
        if e:
            assert np.abs(gap).sum() / 2 == pytest.approx(e * np.abs(prior - q).sum() / 2)
        gaps.append(found.metrics["tv"][run] - folded.sum() / 2)
        # TV is half a sum of signs: a replica moves it by 1/n at most, and one of many by less
        scatter.append(np.sqrt(1 / n + 1 / m + 2 / many) / 2)
    assert abs(np.mean(gaps)) < Z * np.linalg.norm(scatter) / RUNS
    assert np.all(np.abs(gaps) < Z * np.array(scatter))


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_nested_rhat_of_a_control_that_forgets_its_start_has_its_known_law(wrong):
    """For independent draws M B/W has the law F(K - 1, K (M - 1)) in each coordinate; the worst of them is shown."""
    found, laws = measured(**wrong)
    superchains, each = SIZES.superchains, SIZES.replicas // SIZES.superchains
    law = stats.f(superchains - 1, superchains * (each - 1))
    shown = each * (found.metrics["nested_rhat"] ** 2 - 1)
    assert np.all(shown > law.ppf(FALSE_ALARM / 2))
    assert np.all(shown < law.isf(FALSE_ALARM / 2 / laws[0].mean.size))


@pytest.mark.slow
def test_nested_rhat_of_a_control_that_is_held_back_has_its_known_law():
    """Starts are N(m, 4 S); half of the draws stay there. The log of B/W against its law, all runs together."""
    found, laws = measured(stuck=0.5)
    rng = np.random.default_rng(SEED)
    superchains, each = SIZES.superchains, SIZES.replicas // SIZES.superchains
    scores = []
    for run, law in enumerate(laws):
        again = []
        for _ in range(200):
            starts = np.repeat(control_draws(rng, law, superchains, spread=2.0), each, axis=0)
            drawn = control_draws(rng, law, len(starts), stuck=0.5, starts=starts)
            drawn = drawn.reshape(superchains, each, -1)
            between = drawn.mean(axis=1).var(axis=0, ddof=1)
            again.append(np.log(np.max(between / drawn.var(axis=1, ddof=1).mean(axis=0))))
        shown = np.log(found.metrics["nested_rhat"][run] ** 2 - 1)
        scores.append((shown - np.mean(again)) / np.std(again, ddof=1))
    assert abs(np.mean(scores)) < Z / np.sqrt(RUNS)
    assert np.mean(found.metrics["nested_rhat"]) > 1.2


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
        ratio.append(nested_rhat(x[:, :, None]) ** 2 - 1)
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
    found = quality(jax.tree.map(lambda x: np.asarray(x)[None], samples))
    assert "R-hat" in found.refused[0]
    assert np.isnan(found.exact).all()
    assert np.isnan(found.metrics["tv"])
    assert found.actions.sum() == pytest.approx(1)


def shaped(kind, chains, draws):
    """Series of several kinds: independent, slow, antithetic, rounded, held back, apart."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(6, chains, draws))
    for t in range(1, draws):
        memory = {"slow": 0.95, "antithetic": -0.9}.get(kind, 0.0)
        x[..., t] += memory * x[..., t - 1]
    if kind == "rounded":
        x = np.round(x, 1)
    if kind == "held back":
        x = np.repeat(x[..., ::5], 5, axis=-1)[..., :draws]
    return x + np.arange(chains)[:, None] if kind == "apart" else x


@pytest.mark.parametrize("kind", ["independent", "slow", "antithetic", "rounded", "held back", "apart"])
@pytest.mark.parametrize(("chains", "draws"), [(4, 250), (4, 101), (2, 40)])
def test_many_series_at_once_have_the_numbers_of_arviz(kind, chains, draws):
    x = shaped(kind, chains, draws)
    for ours, theirs in (
        (arviz_vectorized.rhat, array_stats.rhat(x, method="rank")),
        (arviz_vectorized.ess_bulk, array_stats.ess(x, method="bulk")),
        (arviz_vectorized.ess_tail, array_stats.ess(x, method="tail", prob=arviz_vectorized.TAILS)),
        (arviz_vectorized.mcse_mean, array_stats.mcse(x, method="mean")),
    ):
        np.testing.assert_allclose(ours(x), theirs, rtol=1e-10)


def test_runs_side_by_side_have_the_numbers_that_they_have_alone():
    rng = np.random.default_rng(11)
    chains = rng.normal(size=(4, 3, 50, 2))
    chains[1, 0] = chains[1, 0, :1]  # stands still
    chains[2, 1, 7, 1] = np.nan
    together = mixing(chains)
    for run in range(4):
        np.testing.assert_array_equal(mixing(chains[run]), [one[run] for one in together])
    assert np.isinf(together.rhat).tolist() == [False, True, True, False]
    draws, reference = rng.normal(size=(3, 200, 2)), rng.normal(size=(3, 400, 2))
    for metric in (moment_errors, sliced_wasserstein):
        alone = np.stack([metric(d, r) for d, r in zip(draws, reference, strict=True)], axis=-1)
        np.testing.assert_allclose(metric(draws, reference), alone, rtol=1e-12)


PRECISION = np.array([[4.0, 1.0], [1.0, 0.5]])
HERE = np.array([1.0, -2.0])


def gaussian_prior(key):
    return 3 * jax.random.normal(key, (2,))


def test_starts_have_four_times_the_variance_of_the_curvature_and_clouds_share_three_quarters():
    target = Target(lambda x: -(x - HERE) @ PRECISION @ (x - HERE) / 2, lambda x: jnp.asarray(PRECISION))

    def cloud(key):
        where, *each = jax.random.split(key, 3)
        start = overdispersed(where, target, gaussian_prior, climb(where, target, gaussian_prior))
        return jnp.stack([start(one) for one in each])

    found = np.asarray(jax.jit(jax.vmap(cloud))(jax.random.split(jax.random.key(SEED), 20_000)))
    white = (found - HERE) @ np.linalg.cholesky(PRECISION)
    for one in (white[:, 0], white[:, 1]):
        assert_mean(moments(one), moments(np.zeros((1, 2)))[0] + 4 * np.array([0, 0, 1, 0, 1]))
    assert_mean(white[:, 0] * white[:, 1], 3.0)


def test_a_chain_keeps_what_it_learnt_and_a_population_begins_anew():
    target = Target(lambda x: -(x @ x) / 2, lambda x: jnp.eye(2))
    top = climb(jax.random.key(1), target, gaussian_prior)
    chain = MALA(adaptation="dual_averaging")
    began = chain.init(jax.random.key(0), gaussian_prior)
    began = began._replace(carry=began.carry._replace(num_targets=jnp.asarray(7)))
    found = elsewhere(jax.random.key(1), chain, began, target, gaussian_prior, top)
    assert int(found.carry.num_targets) == 7
    assert not np.allclose(found.position, began.position)
    cloud = SVGD()
    began = cloud.init(jax.random.key(0), gaussian_prior)
    found = elsewhere(jax.random.key(1), cloud, began, target, gaussian_prior, top)
    assert not np.allclose(found.carry, began.carry)


APART = 5.0


def two_modes(x):
    """Half N(a, I) and half N(-a, I), a = (5, 0): no chain gets from one to the other."""
    return jnp.logaddexp(
        -jnp.sum((x - jnp.array([APART, 0])) ** 2) / 2, -jnp.sum((x + jnp.array([APART, 0])) ** 2) / 2
    )


def either(key):
    side, noise = jax.random.split(key)
    sign = jnp.where(jax.random.bernoulli(side), 1.0, -1.0)
    return jnp.array([sign * APART, 0]) + jax.random.normal(noise, (2,))


SUPERCHAINS, EACH = 16, 16


@quick_jit
def ends(sampler, key):
    """Draws of a sampler begun at several tuned_algorithms, after it has stood at one."""
    unit = Gaussian(jnp.eye(2), jnp.zeros(2))
    target = Target(two_modes, lambda x: jnp.eye(2), unit, either, prior=gaussian_prior)
    began = sampler.init(key, lambda key: jnp.array([APART, 0]))
    apart, going = jax.random.split(key)

    def superchain(keys):
        top = climb(keys[0], target, gaussian_prior)
        begin = elsewhere(keys[0], sampler, began, target, gaussian_prior, top)
        many = jax.random.split(keys[1], EACH)

        def sample(key):
            return sampler.sample(key, target, begin)[1].position

        return jax.lax.map(sample, many) if sampler.sequential else jax.vmap(sample)(many)

    keys = jnp.stack([jax.random.split(apart, SUPERCHAINS), jax.random.split(going, SUPERCHAINS)], axis=1)
    return jax.lax.map(superchain, keys)


# All but one that wants a Gaussian factor, which a target with two modes has not.
BEGUN = [name for name, _ in SAMPLERS if name != "elliptical_slice"]


@pytest.mark.parametrize("name", rest_is_slow(BEGUN, ("exact", "laplace", "svgd", "mala")))
def test_nested_rhat_sees_whoever_stays_in_the_mode_where_it_began(name):
    """Of samplers whose start is a cloud or a fit as much as of chains; independent exact draws stay nowhere."""
    found = nested_rhat(np.asarray(ends(SAMPLERS[name](), jax.random.key(SEED)))[:, :, None])
    if name in ("exact", "control"):
        assert found < np.sqrt(1 + stats.f.isf(1e-6, SUPERCHAINS - 1, SUPERCHAINS * (EACH - 1)) / EACH)
    else:
        assert (
            found > 2
        )  # B/W is 25 if they are evenly parted, and 6 if only one of sixteen is on the other side


def test_energies_have_the_fraction_of_arviz_and_none_where_they_mean_nothing():
    energies = np.random.default_rng(12).normal(size=(4, 100)).cumsum(axis=1)
    assert energy_fraction(energies) == pytest.approx(np.min(array_stats.bfmi(energies)))
    for meaningless in (np.full((4, 100), np.nan), np.full(4, np.nan), np.zeros((4, 100))):
        assert np.isnan(energy_fraction(meaningless))


def test_costs_and_chances_are_those_of_the_draws():
    """Acceptance and divergences of the replicas; effective draws over all gradients of the chains."""
    rng = np.random.default_rng(13)
    position, shape = rng.normal(size=(1, 4, 50, 2)), (1, 4, 50)
    chains = Draw(position, np.full(shape, 0.9), np.zeros(shape), np.full(shape, 3), np.full(shape, np.nan))
    replicas = Draw(
        rng.normal(size=(1, 64, 2)), np.full((1, 64), 0.5), np.full((1, 64), 0.25), np.ones((1, 64))
    )
    actions = np.array([[0] * 48 + [2] * 16])
    exact = np.array([[0] * 100 + [2] * 300])
    samples = Samples(
        replicas, actions, rng.normal(size=(1, 400, 2)), exact, np.zeros(1), rng.normal(size=(1, 8, 8, 2)), chains,
        np.array([7.0]), np.array([2]), np.ones((1, 3)),
    )  # fmt: skip
    found = quality(samples).metrics
    known = {"acceptance_rate": 0.5, "divergences": 0.25, "best_arm": 0.25, "best_arm_exact": 0.75, "tv": 0.5}
    for name, value in known.items():
        assert found[name] == pytest.approx(value)
    assert found["ess_per_gradient"] == pytest.approx(found["ess_bulk"] / 600)
    assert np.isnan(found["ebfmi"])
    assert found["condition"] == 7
    free = quality(samples._replace(chains=chains._replace(num_gradients=np.zeros(shape)))).metrics
    assert np.isnan(free["ess_per_gradient"])  # there is no gradient to be counted by


@pytest.mark.slow
def test_replicas_have_the_law_of_the_action_that_was_played():
    """E p(a) = sum p^2 for the action that the run played. Had it been looked at after the round, p(a) were greater."""
    agent = Thompson(posterior=FGTSVA(c=0.0), sampler=Control(stuck=0.7)).for_horizon(ROUNDS)
    played = simulate(WORLD, agent, rounds=ROUNDS, runs=RUNS, probes=range(2, ROUNDS + 1))
    gaps = []
    for snapshot in played.snapshots:
        found = quality(probe(WORLD, agent, snapshot, runs=RUNS, seed=0, sizes=SIZES))
        p, n = found.actions, SIZES.replicas
        squares = (n * (p**2).sum(axis=1) - 1) / (n - 1)  # without the bias of estimated shares
        gaps += [*(p[np.arange(RUNS), played.action[:, snapshot.round - 1]] - squares)]
    assert_mean(np.array(gaps), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "means"), [("hmc", True), ("nuts", True), ("mala", False), ("laplace", False)]
)
def test_energies_are_told_where_momentum_is_fresh(name, means):
    agent = Thompson(posterior=FGTSVA(c=0.0), sampler=SAMPLERS[name]()).for_horizon(ROUNDS)
    (snapshot,) = simulate(WORLD, agent, rounds=ROUNDS, runs=2, probes=[ROUNDS]).snapshots
    fraction = quality(probe(WORLD, agent, snapshot, runs=2, seed=0)).metrics["ebfmi"]
    assert np.all(np.isfinite(fraction) == means)
    assert not means or np.all(fraction > 0.3)


def test_a_refused_reference_is_told_by_the_study(monkeypatch):
    (cell,) = resolve(["sampler=mala", "environment=sparse", "rounds=9", "runs=2"]).cells
    rng = np.random.default_rng(14)
    shape = (2, 4, 50)
    chains = Draw(
        rng.normal(size=(*shape, 5)), np.ones(shape), np.zeros(shape), np.ones(shape), np.ones(shape)
    )
    replicas = Draw(
        rng.normal(size=(2, 64, 5)), np.ones((2, 64)), np.zeros((2, 64)), np.ones((2, 64)), np.ones((2, 64))
    )
    reference = rng.normal(size=(2, 4, 400, 5))
    reference[1] += 5 * np.arange(4)[:, None, None]  # each chain elsewhere
    arms = rng.integers(0, 32, size=(2, 1600))
    samples = Samples(
        replicas, arms[:, :64], reference, arms, np.zeros(2, int), rng.normal(size=(2, 8, 8, 5)), chains, np.ones(2),
        np.ones(2, int), np.ones((2, 32)),
    )  # fmt: skip
    monkeypatch.setattr(diagnose, "probing", lambda *_, **__: lambda: samples)
    groups = diagnose.diagnose(cell, [Snapshot(9, None)], 2, lambda: None)
    said = "no reference for 1 of 2 probed rounds: R-hat"
    assert groups["diagnostics"].attrs["refused"].startswith(said)
    assert np.isnan(groups["diagnostics"]["tv"].values).ravel().tolist() == [False, True]
    assert np.isnan(groups["diagnostics"]["action_probability_exact"].values[1]).all()


def test_the_gate_refuses_what_posteriordb_would():
    rng = np.random.default_rng(8)
    good = rng.normal(size=(4, 1000, 2))
    assert gate(good, 0) == ""
    assert "diverged" in gate(good, 3)
    assert "R-hat" in gate(good + 5 * np.arange(4)[:, None, None], 0)
    walk = np.cumsum(rng.normal(size=(4, 1000, 2)), axis=1)
    assert gate(walk, 0) != ""
    half = stats.norm.ppf((np.arange(45) + 0.5) / 45)  # all half chains alike: R-hat is below 1
    few = rng.permuted(np.broadcast_to(half, (4, 2, 2, 45)), axis=-1).reshape(4, 2, 90).swapaxes(1, 2)
    assert "effective size" in gate(few, 0)


@pytest.mark.slow
def test_a_stuck_control_shows_in_unique_draws_and_an_exact_one_in_nothing():
    stuck, exact = measured(stuck=0.95)[0].metrics, measured(spread=1.0)[0].metrics
    assert np.all(stuck["unique"] < 0.1)
    assert np.all(exact["unique"] == 1)
    assert np.all(exact["tv"] < 2.5 * exact["tv_floor"] + 0.02)


@pytest.mark.slow
def test_where_there_is_no_oracle_a_gated_reference_serves():
    posterior = FGTSVA(c=0.01, maximum="logsumexp")
    agent = Thompson(posterior=posterior, sampler=MALA()).for_horizon(20)
    played = simulate(Sparse(dim=3), agent, rounds=20, runs=2, probes=[20])
    samples = probe(Sparse(dim=3), agent, played.snapshots[0], runs=2, seed=0, sizes=Sizes(replicas=256))
    found = quality(samples)
    assert found.refused == ["", ""]
    assert np.all(found.metrics["tv"] < 0.15)
    for probabilities in (found.actions, found.exact):
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
