"""A followed posterior after several updates is that of all data; and it says when it is not."""

import subprocess
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers.montecarlo import SEED, assert_mean, assert_same_moments
from scipy import special

from samplers import MALA, NUTS, SGLD, SMC, ChainLimits, ParticleLimits, follow
from samplers.online.follow import Follower
from samplers.online.particles import _largest_step, effective_share
from samplers.online.report import Update

M0, K0, A0, B0 = 0.5, 2.0, 3.0, 4.0
CALLS = []


def normal(y):
    """Normal data with the conjugate prior of mean and variance."""
    CALLS.append(len(y))
    variance = numpyro.sample("variance", dist.InverseGamma(A0, B0))
    mean = numpyro.sample("mean", dist.Normal(M0, jnp.sqrt(variance / K0)))
    with numpyro.plate("data", len(y)):
        numpyro.sample("y", dist.Normal(mean, jnp.sqrt(variance)), obs=y)


def conjugate_moments(y):
    """Means of (mean, variance, log variance) and of the squares of the first two, in closed form."""
    n = len(y)
    k, a = K0 + n, A0 + n / 2
    m = (K0 * M0 + y.sum()) / k
    b = B0 + np.sum((y - y.mean()) ** 2) / 2 + K0 * n * (y.mean() - M0) ** 2 / (2 * k)
    of_variance = b / (a - 1)
    log_mean = np.log(b) - special.digamma(a)
    second = b**2 / ((a - 1) * (a - 2))
    return np.array([m, of_variance, log_mean, of_variance / k + m**2, second])


def assert_conjugate(samples, y):
    """The last draw of every chain, or every particle, against the closed form."""
    mean, variance = (np.asarray(samples[name]) for name in ("mean", "variance"))
    mean, variance = (x[:, -1] if len(x) > 1 else x[0] for x in (mean, variance))
    features = np.stack([mean, variance, np.log(variance), mean**2, variance**2], axis=1)
    assert_mean(features, conjugate_moments(y))


DATA = np.random.default_rng(8).normal(1.5, 2.0, size=44)
BATCHES = np.split(DATA, [3, 4, 12, 20, 25, 31, 38])


class Followed(NamedTuple):
    """A follower whose programs are compiled, and what it had found after all batches."""

    follower: Follower
    samples: dict[str, np.ndarray]
    positions: np.ndarray
    reports: list[Update]
    calls: list[int]  # of the model so far, after each batch


@pytest.fixture(scope="module")
def followed():
    CALLS.clear()
    follower = follow(
        normal, MALA(num_steps=15), jax.random.key(SEED), num_chains=200, num_draws=4, capacity=32
    )
    calls = []
    for batch in BATCHES:
        follower.update(batch)
        calls.append(len(CALLS))
    return Followed(follower, follower.samples(), follower.positions, follower.reports, calls)


def test_chains_agree_with_the_closed_form_after_many_batches(followed):
    assert_conjugate(followed.samples, DATA)
    assert followed.positions.shape == (200, 4, 2)


def test_programs_are_compiled_only_when_the_buffer_doubles(followed):
    """The model is Python: it is called only when a program is traced. The 33rd datum needs more room."""
    compiled = [report.compiled for report in followed.reports]
    assert compiled == [True, False, False, False, False, False, True, False]
    assert list(np.diff(followed.calls) > 0) == compiled[1:]


def test_a_replay_and_its_samples_compile_nothing(followed):
    """Run after the others: it moves the follower on."""
    follower = followed.follower
    follower.samples()
    number = len(CALLS)
    follower.reset(jax.random.key(SEED + 1000))
    for batch in BATCHES[:3]:
        assert not follower.update(batch).compiled
        follower.samples()
    assert len(CALLS) == number
    # A fault between two audits: chains at NaN are noticed, replaced, and right again; nothing is compiled for that.
    halves = follower._population._halves
    follower._population._halves = jax.tree.map(lambda x: x * jnp.nan if x.dtype == float else x, halves)
    follower._audit_every = -1
    report = follower.update(np.concatenate(BATCHES[3:]))
    assert (report.action, report.lost, report.compiled) == ("restarted", False, False)
    assert "draws are not finite" in report.reason
    assert len(CALLS) == number
    assert_conjugate(follower.samples(), DATA)


def test_reports_have_the_cost_and_no_alarm(followed):
    reports = followed.reports
    assert [report.num_data for report in reports] == list(np.cumsum([len(batch) for batch in BATCHES]))
    assert not any(report.lost for report in reports)
    single = [r for r in reports if r.num_rounds == 1 and np.isnan(r.restart_rhat)]
    assert single
    assert all(report.num_gradients >= 200 * 4 * (15 + 1) for report in single)  # more from far starts
    assert all(report.num_gradients <= 1.2 * 200 * 4 * (15 + 2) for report in single)
    audited = [i + 1 for i, report in enumerate(reports) if not np.isnan(report.restart_rhat)]
    assert audited == [1, 2, 4, 8]
    assert all(report.restart_rhat < 1.1 for report in reports if not np.isnan(report.restart_rhat))


def test_effective_share_and_stages():
    assert effective_share(np.zeros(7)) == pytest.approx(1)
    assert effective_share(np.log([0.5, 0.25, 0.25])) == pytest.approx(1 / (0.375 * 3))
    assert effective_share(np.array([0.0, -np.inf, np.nan, -np.inf])) == pytest.approx(0.25)
    assert effective_share(np.full(3, -np.inf)) == 0
    # Two particles, weights 1 and exp(-h c): share (1+w)^2 / (2 (1+w^2)) = 0.8 gives w = 1/3.
    assert _largest_step(np.zeros(2), np.array([0.0, -10.0]), 1.0, 0.8) == pytest.approx(np.log(3) / 10)


def test_samplers_need_no_other_package():
    code = """
import sys
sys.modules["fgtsva_ppl"] = sys.modules["experiments"] = None
import samplers
for name in samplers.__all__:
    getattr(samplers, name)
for name, cls in samplers.SAMPLERS:
    cls()
import samplers.validation, samplers.diagnostics
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def particles():
    """One follower for all tests of particles: its programs are compiled once."""
    return follow(normal, SMC(num_particles=400), jax.random.key(SEED), capacity=64)


@pytest.mark.slow
def test_particles_agree_with_the_closed_form_after_many_batches(particles):
    """Replicas of the whole filter: particles of one filter depend on each other."""
    means = []
    for seed in range(24):
        particles.reset(jax.random.key(100 * SEED + seed))
        for batch in (DATA[:2], DATA[2:20], DATA[20:]):
            report = particles.update(batch)
            assert not report.lost
            assert 0 < report.effective_size <= 1
        samples = particles.samples()
        mean, variance = samples["mean"][0], samples["variance"][0]
        means.append([mean.mean(), variance.mean(), np.log(variance).mean(), (mean**2).mean()])
    # The bias of a filter with N particles is O(1/N), a tenth of its spread here.
    assert_mean(np.array(means), conjugate_moments(DATA)[:4])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "action", "lost"),
    [
        (ParticleLimits(max_stages=100), "tempered", False),
        (ParticleLimits(max_stages=1), "restarted", False),
        (ParticleLimits(max_stages=1, max_restart_stages=1), "restarted", True),  # a negative control
    ],
)
def test_a_jump_is_tempered_or_restarted_and_then_right_or_told(particles, limits, action, lost):
    jump = np.concatenate([DATA[:20], DATA[20:] + 30.0])
    particles.reset(jax.random.key(SEED))
    particles._population._limits = ParticleLimits()
    particles.update(jump[:20])
    particles._population._limits = limits
    report = particles.update(jump[20:])
    assert (report.action, report.lost) == (action, lost)
    if lost:
        assert "stages" in report.reason
        return
    assert report.effective_size < 0.1
    truth = conjugate_moments(jump)
    mean = particles.samples()["mean"]
    assert abs(mean.mean() - truth[0]) < 0.3 * np.sqrt(truth[3] - truth[0] ** 2)


def statistics(x, y):
    return {"gram": x.T @ x, "moment": x.T @ y, "square": np.sum(y**2), "count": len(y)}


def linear(sums):
    theta = numpyro.sample("theta", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
    loss = theta @ sums["gram"] @ theta - 2 * sums["moment"] @ theta + sums["square"]
    numpyro.factor("likelihood", -loss / 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler", [NUTS(num_steps=3), SGLD(num_steps=200, step_size=0.02, preconditioner="dense")]
)
def test_sums_of_statistics_agree_with_the_closed_form(sampler):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(90, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    y = x @ np.array([1.0, -0.5]) + rng.normal(size=90)
    follower = follow(
        linear, sampler, jax.random.key(SEED), num_chains=200, num_draws=4, statistics=statistics
    )
    for rows in np.split(np.arange(90), 6):
        report = follower.update(x[rows], y[rows])
    assert not report.lost
    assert [r.compiled for r in follower.reports] == [True, False, False, False, False, False]
    precision = np.eye(2) / 4 + x.T @ x
    exact = rng.multivariate_normal(
        np.linalg.solve(precision, x.T @ y), np.linalg.inv(precision), size=100_000
    )
    assert_same_moments(follower.samples()["theta"][:, -1], exact)


def logistic(x, y):
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.5).expand([2]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=x @ theta), obs=y)


@pytest.mark.slow
def test_logistic_regression_agrees_with_quadrature():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(50, 2))
    y = (rng.random(50) < 1 / (1 + np.exp(-x @ np.array([2.0, -1.0])))).astype(int)
    follower = follow(
        logistic, NUTS(num_steps=3), jax.random.key(SEED), num_chains=200, num_draws=4, capacity=64
    )
    for rows in np.split(np.arange(50), 10):
        assert not follower.update(x[rows], y[rows]).lost
    side = np.linspace(-8, 8, 401)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    logits = grid @ x.T
    log_posterior = (y * logits - np.logaddexp(0, logits)).sum(1) - (grid**2).sum(1) / (2 * 1.5**2)
    weights = np.exp(log_posterior - log_posterior.max())
    weights /= weights.sum()
    draws = follower.samples()["theta"][:, -1]
    both = np.concatenate([grid, grid**2, grid[:, :1] * grid[:, 1:]], axis=1)
    ours = np.concatenate([draws, draws**2, draws[:, :1] * draws[:, 1:]], axis=1)
    assert_mean(ours, weights @ both)


def groups(group, y):
    """Partially pooled groups with constrained sites."""
    mean = numpyro.sample("mean", dist.Normal(0.0, 2.0))
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    noise = numpyro.sample("noise", dist.LogNormal(0.0, 0.5))
    with numpyro.plate("groups", 3):
        effect = numpyro.sample("effect", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", len(y)):
        numpyro.sample("y", dist.Normal(mean + spread * effect[group], noise), obs=y)


@pytest.mark.slow
def test_hierarchical_model_agrees_with_one_fit_of_all_data():
    rng = np.random.default_rng(7)
    group = rng.integers(3, size=40)
    y = np.array([-1.0, 0.5, 1.0])[group] + rng.normal(size=40)
    follower = follow(
        groups, NUTS(num_steps=6), jax.random.key(SEED), num_chains=200, num_draws=4, capacity=64
    )
    for rows in np.split(np.arange(40), 8):
        assert not follower.update(group[rows], y[rows]).lost
    samples = follower.samples()
    names = ("mean", "spread", "noise")
    ours = np.stack(
        [np.log(samples[name][:, -1]) if name != "mean" else samples[name][:, -1] for name in names]
    )
    fit = numpyro.infer.MCMC(
        numpyro.infer.NUTS(groups), num_warmup=500, num_samples=4000, num_chains=1, progress_bar=False
    )
    fit.run(jax.random.key(SEED), group, y)
    draws = fit.get_samples()
    theirs = np.stack([np.log(draws[name]) if name != "mean" else draws[name] for name in names])
    blocks = theirs.reshape(3, 40, 100).mean(-1).T  # means of blocks: nearly independent
    both = ours.T
    assert_mean(both, blocks.mean(0), blocks.std(0, ddof=1) / np.sqrt(40))


def two_modes(y):
    """Only the distance from zero is observed: the sign stays unknown."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 3.0))
    numpyro.sample("y", dist.Normal(jnp.abs(theta), 0.2), obs=y)


@pytest.mark.slow
def test_it_says_when_it_has_lost_the_posterior():
    """Negative controls: frozen chains, and two modes that no chain changes between."""
    frozen = MALA(num_steps=1, step_size=1e-6, adaptation="none")
    report = follow(normal, frozen, jax.random.key(SEED), limits=ChainLimits(max_rounds=2)).update(DATA)
    assert report.lost
    assert "R-hat" in report.reason
    follower = follow(two_modes, MALA(), jax.random.key(SEED), limits=ChainLimits(max_rounds=2))
    report = follower.update(np.full(20, 3.0))
    assert report.lost
