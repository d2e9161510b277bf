"""The oracle: against closed forms where the law factorises, against importance sampling where it does not.

Statistical tests: false alarms at 1e-6 each.
"""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_frequencies, assert_mean, assert_same_frequencies, moments
from helpers.worlds import ROUNDS, played, remembered, rest_is_slow
from scipy import stats
from scipy.special import logsumexp

from fgtsva_ppl import FGTSA, FGTSB, Linear
from fgtsva_ppl.environments.linear import hypercube
from fgtsva_ppl.posteriors import posterior_target
from fgtsva_ppl.rewards import flat_model
from samplers import Gaussian
from samplers._argmax import argmax
from samplers.reference import tilted_gaussian

DIM = 5
DRAWS = 8000
PULLS = (0.0, 0.06, 0.6, 2.4, 10.0)  # lam * s, with s the largest standard deviation of an arm's reward


class Law(NamedTuple):
    """N(mean, inverse precision) tilted by lam * max <a, theta>."""

    precision: np.ndarray
    mean: np.ndarray
    actions: np.ndarray
    lam: float

    @property
    def tilted(self):
        gaussian = Gaussian(jnp.asarray(self.precision), jnp.asarray(self.precision @ self.mean))
        return tilted_gaussian.tilted(gaussian, jnp.asarray(self.actions), jnp.asarray(self.lam))

    def stretched(self, pull):
        """The same with lam such that lam * s is what is asked for."""
        spread = np.linalg.inv(self.precision)
        return self._replace(lam=pull / np.sqrt(np.max(np.sum(self.actions @ spread * self.actions, axis=1))))


PRECISION = np.array([1.0, 2.0, 5.0, 10.0, 300.0])
# a diagonal precision and hypercube arms: max <a, theta> = |theta|_1 / sqrt(d), and coordinates are independent
FACTORED = Law(np.diag(PRECISION), np.array([0.3, -0.2, 0.1, 0.0, 0.05]), hypercube(DIM), 0.0)


def correlated(arms):
    rng = np.random.default_rng(8)
    factor = rng.normal(size=(DIM, DIM)) * np.array([1, 1, 2, 3, 6])
    precision = DIM * np.eye(DIM) + factor.T @ factor
    actions = hypercube(DIM) if arms == "hypercube" else rng.normal(size=(7, DIM))
    return Law(precision, rng.normal(0, 0.2, DIM), actions, 0.0)


@jax.jit
def _draws(law, keys):
    return jax.lax.map(lambda key: tilted_gaussian.propose_until_kept(key, law), keys, batch_size=250)


_together = jax.jit(tilted_gaussian.draws, static_argnums=2)


def draws(law):
    """Positions and the number of proposals that each took."""
    keys = jax.random.split(jax.random.key(SEED), DRAWS)
    return tuple(map(np.asarray, _draws(law.tilted, keys)))


@lru_cache
def _drawn(kind, pull):
    law = (FACTORED if kind == "factored" else correlated(kind)).stretched(pull)
    return law, *draws(law)


def chosen(positions, actions):
    return np.bincount(np.argmax(positions @ actions.T, axis=1), minlength=len(actions))


def coordinates(law):
    """Of a factored law, by quadrature: log-mass relative to the Gaussian part, moments, P(theta_i > 0)."""
    rows = []
    for precision, mean in zip(np.diag(law.precision), law.mean, strict=True):
        slope, deviation = law.lam / np.sqrt(DIM), precision**-0.5
        reach = 12 * deviation + slope / precision
        theta = np.linspace(-reach, reach, 100_001) + mean
        log_density = stats.norm(mean, deviation).logpdf(theta) + slope * np.abs(theta)
        weights = np.exp(log_density - log_density.max())
        step = theta[1] - theta[0]
        total = weights.sum()
        log_mass = np.log(total * step) + log_density.max()
        sides = weights[theta > 0].sum() / total
        rows.append((log_mass, weights @ theta / total, weights @ theta**2 / total, sides))
    return np.array(rows).T


@pytest.mark.parametrize("pull", PULLS)
def test_moments_are_those_of_quadrature(pull):
    law, positions, _ = _drawn("factored", pull)
    _, mean, square, _ = coordinates(law)
    cross = np.triu_indices(DIM)
    products = np.where(cross[0] == cross[1], square[cross[0]], mean[cross[0]] * mean[cross[1]])
    assert_mean(moments(positions), np.concatenate([mean, products]))


@pytest.mark.parametrize("pull", PULLS)
def test_arms_are_chosen_as_often_as_quadrature_says(pull):
    law, positions, _ = _drawn("factored", pull)
    *_, up = coordinates(law)
    probabilities = np.prod(np.where(law.actions > 0, up, 1 - up), axis=1)
    assert_frequencies(chosen(positions, law.actions), probabilities)


@pytest.mark.parametrize("pull", PULLS)
def test_draws_made_together_have_the_same_law_and_do_not_know_each_other(pull):
    law = FACTORED.stretched(pull)
    positions = np.asarray(_together(jax.random.key(SEED + 4), law.tilted, DRAWS))
    _, mean, square, up = coordinates(law)
    assert_mean(np.concatenate([positions, positions**2], axis=1), np.concatenate([mean, square]))
    probabilities = np.prod(np.where(law.actions > 0, up, 1 - up), axis=1)
    assert_frequencies(chosen(positions, law.actions), probabilities)
    for gap in (1, DRAWS // 2):  # a neighbour, and one of another block of proposals
        assert_mean((positions[:-gap] - mean) * (positions[gap:] - mean), np.zeros(DIM))


@pytest.mark.parametrize("pull", PULLS)
def test_the_acceptance_is_target_mass_over_envelope_mass(pull):
    law, _, proposals = _drawn("factored", pull)
    log_mass = coordinates(law)[0].sum()
    envelopes = tilted_gaussian.envelopes(law.tilted)
    better = np.exp(log_mass - min(envelopes.mixture, envelopes.inflated))
    assert_mean(proposals, 1 / better, error=1e-6)  # that of quadrature
    # what is promised before anything is drawn, in terms of Z >= exp(lam max <a, m>) and Z >= the largest component
    weights = np.asarray(envelopes.log_weights)
    assert better >= np.exp(weights.max() - logsumexp(weights)) * (1 - 1e-6)
    assert better >= 1 / len(law.actions)
    assert better >= np.exp(law.lam * np.max(law.actions @ law.mean) - envelopes.inflated) * (1 - 1e-6)


def test_a_weak_tilt_is_drawn_from_the_inflated_gaussian_and_a_strong_one_from_the_mixture():
    for law in (FACTORED, correlated("hypercube")):
        masses = [tilted_gaussian.envelopes(law.stretched(pull).tilted) for pull in PULLS]
        assert [bool(e.mixture < e.inflated) for e in masses] == [False, False, False, True, True]


def test_the_inflation_is_the_best_one():
    for pull in PULLS[1:]:
        law = FACTORED.stretched(pull)
        e = np.exp(np.linspace(-12, 8, 200_001))
        masses = pull**2 * (1 + e) / (2 * e) + DIM / 2 * np.log1p(e)
        envelopes = tilted_gaussian.envelopes(law.tilted)
        best = law.lam * np.max(law.actions @ law.mean) + masses.min()
        np.testing.assert_allclose(envelopes.inflated, best, rtol=1e-7)
        np.testing.assert_allclose(envelopes.inflation, e[masses.argmin()], rtol=1e-3)


def importance(law, count=100_000):
    """Self-normalised importance sampling: draws, weights. Proposals come from the Gaussian and from shifted ones."""
    rng = np.random.default_rng(SEED + 100)
    spread = np.linalg.inv(law.precision)
    centres = np.concatenate([law.mean[None], law.mean + law.lam * law.actions @ spread])
    heights = np.einsum("kd,dc,kc->k", law.actions, spread, law.actions) * law.lam**2 / 2
    shares = np.concatenate([[0.5], 0.5 * np.exp(_normalised(law.lam * law.actions @ law.mean + heights))])
    which = rng.choice(len(centres), count, p=shares / shares.sum())
    draws = centres[which] + rng.multivariate_normal(np.zeros(DIM), spread, count)
    squares = np.einsum("kd,dc,kc->k", centres, law.precision, centres)
    log_proposals = draws @ law.precision @ centres.T - squares / 2  # up to -x'Px/2, which cancels
    log_proposal = logsumexp(log_proposals, b=shares, axis=1)
    log_weight = log_proposals[:, 0] + law.lam * np.max(draws @ law.actions.T, axis=1) - log_proposal
    return draws, np.exp(_normalised(log_weight))


def _normalised(logs):
    return logs - logsumexp(logs)


def weighted(values, weights):
    """Mean and its standard error, by the delta method."""
    mean = weights @ values
    return mean, np.sqrt(weights**2 @ (values - mean) ** 2)


def assert_importance(law, positions, reference, weights):
    """Moments and frequencies of the arms agree with an importance sample."""
    assert 1 / np.sum(weights**2) > 20_000  # effective sample size: the reference is a good one
    centre, scale = positions.mean(0), positions.std(0)  # any fixed frame will do
    mean, error = weighted(moments((reference - centre) / scale), weights)
    assert_mean(moments((positions - centre) / scale), mean, error)
    theirs, ours = (np.argmax(x @ law.actions.T, axis=1) for x in (reference, positions))
    mean, error = weighted(np.eye(len(law.actions))[theirs], weights)
    often = mean * DRAWS > 50  # where the normal approximation holds
    assert_mean(np.eye(len(law.actions))[ours][:, often], mean[often], error[often])


@pytest.mark.parametrize("pull", PULLS)
@pytest.mark.parametrize("arms", ["hypercube", "random"])
def test_draws_agree_with_importance_sampling(arms, pull):
    law, positions, _ = _drawn(arms, pull)
    assert_importance(law, positions, *importance(law))


@pytest.mark.parametrize("pull", rest_is_slow([0.06, 0.6, 2.4], [0.6]))
@pytest.mark.parametrize("forced", ["mixture", "inflated"])
def test_each_envelope_alone_gives_the_law(forced, pull, monkeypatch):
    choose = tilted_gaussian.envelopes

    def always(law):
        made = choose(law)
        return made._replace(mixture=made.inflated + (-1 if forced == "mixture" else 1))

    monkeypatch.setattr(tilted_gaussian, "envelopes", always)
    law = FACTORED.stretched(pull)
    keys = jax.random.split(jax.random.key(SEED + 1), DRAWS)
    program = jax.jit(lambda tilted, keys: _draws.__wrapped__(tilted, keys))
    positions, proposals = map(np.asarray, program(law.tilted, keys))
    log_mass, mean, square, up = coordinates(law)
    assert_mean(positions, mean)
    assert_mean(positions**2, square)
    probabilities = np.prod(np.where(law.actions > 0, up, 1 - up), axis=1)
    assert_frequencies(chosen(positions, law.actions), probabilities)
    mass = getattr(choose(law.tilted), forced)
    assert_mean(proposals, np.exp(mass - log_mass.sum()))


def test_without_a_tilt_the_first_proposal_is_kept_and_is_gaussian():
    law, positions, proposals = _drawn("random", 0.0)
    assert np.all(proposals == 1)
    z = (positions - law.mean) @ np.linalg.cholesky(law.precision)
    expected = np.concatenate([np.zeros(DIM), np.eye(DIM)[np.triu_indices(DIM)]])
    assert_mean(moments(z), expected)


def test_a_single_arm_shifts_the_gaussian():
    law = correlated("random")
    law = law._replace(actions=law.actions[:1]).stretched(3.0)
    positions, proposals = draws(law)
    assert np.all(proposals == 1)
    shifted = law.mean + law.lam * np.linalg.solve(law.precision, law.actions[0])
    z = (positions - shifted) @ np.linalg.cholesky(law.precision)
    assert_mean(moments(z), np.concatenate([np.zeros(DIM), np.eye(DIM)[np.triu_indices(DIM)]]))


@pytest.mark.parametrize("pull", [0.6, 2.4])
def test_duplicated_arms_are_one_arm(pull):
    law = correlated("random")
    twice = law._replace(actions=law.actions[[0, 0, 1, 1, 2, 3, 3]]).stretched(pull)
    assert_importance(twice, draws(twice)[0], *importance(twice))


def test_all_arms_may_be_one_and_the_same():
    law = FACTORED._replace(actions=np.tile(FACTORED.actions[3], (32, 1))).stretched(2.0)
    positions, proposals = draws(law)
    assert_mean(positions, law.mean + law.lam * law.actions[0] / PRECISION)
    envelopes = tilted_gaussian.envelopes(law.tilted)
    log_mass = law.lam * law.actions[0] @ law.mean + 2.0  # (lam s)^2 / 2
    assert_mean(proposals, np.exp(min(envelopes.mixture, envelopes.inflated) - log_mass))


@pytest.mark.parametrize("where", ["precision", "shift", "actions", "lam", "infinite", "indefinite"])
def test_what_is_not_finite_gives_nan_and_no_endless_loop(where):
    law = FACTORED.stretched(1.0)
    precision, shift = law.precision.copy(), law.precision @ law.mean
    actions, lam = law.actions.copy(), law.lam
    if where == "precision":
        precision[0, 0] = np.nan
    if where == "indefinite":
        precision[0, 0] = -1.0
    if where == "shift":
        shift[1] = np.nan
    if where == "actions":
        actions[4, 2] = np.nan
    if where == "lam":
        lam = np.nan
    if where == "infinite":
        lam = np.inf
    tilted = tilted_gaussian.tilted(
        Gaussian(*map(jnp.asarray, (precision, shift))), jnp.asarray(actions), jnp.asarray(lam)
    )
    positions, proposals = _draws(tilted, jax.random.split(jax.random.key(0), DRAWS))
    assert np.all(np.isnan(positions))
    assert np.all(proposals == 0)
    assert np.all(np.isnan(_together(jax.random.key(0), tilted, DRAWS)))


def test_one_broken_run_does_not_touch_its_neighbours():
    good = FACTORED.stretched(1.0).tilted
    bad = good._replace(mean=jnp.full(DIM, jnp.nan), offset=jnp.full(32, jnp.nan))
    keys, side_by_side = jax.random.split(jax.random.key(3), 2), jax.jit(jax.vmap(tilted_gaussian.draw))
    among_friends, beside = (
        side_by_side(keys, jax.tree.map(lambda *leaves: jnp.stack(leaves), good, other))
        for other in (good, bad)
    )
    np.testing.assert_array_equal(beside[0], among_friends[0])
    assert np.all(np.isnan(beside[1]))


def test_extreme_laws_stay_finite():
    """Round 10,000 of the sparse environment: eigenvalues from 5 to 2e8, lam near 1000."""
    precision = np.diag([5.0, 50.0, 1e4, 1e6, 2e8])
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(DIM, DIM)))[0]
    for lam in (1e-8, 0.3, 30.0, 1000.0):
        law = Law(rotation @ precision @ rotation.T, np.full(DIM, 0.4), hypercube(DIM), lam)
        positions, proposals = draws(law)
        assert np.all(np.isfinite(positions))
        assert np.mean(proposals) <= 32


def test_type_a_over_a_fixed_set_is_type_b_with_the_sum_of_its_lambdas():
    log, model = played("fixed"), flat_model(Linear(), 3)
    history = remembered(FGTSA(eta=0.3, lam=0.7), "fixed", Linear())
    a = posterior_target(FGTSA(eta=0.3, lam=0.7), model, history, log.next)
    b = posterior_target(FGTSB(eta=0.3, lam=0.7 * ROUNDS), model, history, log.next)
    keys = jax.random.split(jax.random.key(0), 20)
    ours, theirs = (jax.jit(jax.vmap(target.exact))(keys) for target in (a, b))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    ours, theirs = (jax.vmap(target.logdensity)(ours) for target in (a, b))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_the_oracle_of_a_posterior_draws_from_its_log_density():
    """The glue: precision, shift and lam as the posterior hands them over, against importance sampling of it."""
    posterior, log, model = FGTSB(eta=0.3, lam=4.0), played("fixed"), flat_model(Linear(), 3)
    history = remembered(posterior, "fixed", Linear())
    target = posterior_target(posterior, model, history, log.next)
    keys = jax.random.split(jax.random.key(SEED), DRAWS)
    positions = np.asarray(jax.jit(lambda keys: jax.lax.map(target.exact, keys, batch_size=500))(keys))
    rng = np.random.default_rng(SEED)
    centre, spread = positions.mean(0), 1.5 * np.cov(positions.T)
    proposals = stats.multivariate_t(centre, spread, df=8, seed=rng)
    draws = proposals.rvs(100_000)
    log_target = np.asarray(jax.jit(jax.vmap(target.logdensity))(draws))
    weights = np.exp(_normalised(log_target - proposals.logpdf(draws)))
    assert 1 / np.sum(weights**2) > 20_000
    mean, error = weighted(moments(draws - centre), weights)
    assert_mean(moments(positions - centre), mean, error)
    resampled = draws[rng.choice(len(draws), 4000, p=weights)]
    assert_same_frequencies(chosen(positions, log.next.actions), chosen(resampled, log.next.actions))


@pytest.mark.parametrize("levels", [1, 3, 10**6])
def test_of_several_best_arms_the_first_counts(levels):
    values = jax.random.randint(jax.random.key(levels), (7, 200), 0, levels) / 3
    np.testing.assert_array_equal(argmax(values), np.argmax(values, axis=0))
    assert argmax(values[:, 0]) == np.argmax(values[:, 0])


@pytest.mark.parametrize("dim", [1, 5])
def test_the_best_arm_is_found_where_values_are_computed_in_passing(dim):
    """A compiler that rounded them differently in two tuned_algorithms would find no largest one."""
    arms, points = (jax.random.normal(jax.random.key(n), (n, dim)) for n in (33, 2500))

    def both(x):
        values = arms @ x
        return argmax(values), jnp.argmax(values)

    np.testing.assert_array_equal(*jax.jit(jax.vmap(both))(points))
    alone = jax.jit(jax.vmap(lambda x: argmax(arms @ x)))(points)
    np.testing.assert_array_equal(alone, np.argmax(points @ arms.T, axis=1))
