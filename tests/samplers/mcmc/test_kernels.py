"""The kernels that the paper's study compares: in distribution against exact draws, and step by step in closed form.

Statistical tests: independent chains, false alarms at 1e-6 each.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean, assert_same_frequencies, assert_same_moments, moments
from helpers.played_rounds import rest_is_slow
from scipy.stats import norm

from fgtsva_ppl import FGTSB, HMC, MALA, NUTS, PSGLD, SAMPLERS, SGLD, TS, Exact, InputError, Linear
from fgtsva_ppl.environments.linear import hypercube
from fgtsva_ppl.posteriors import posterior_target
from fgtsva_ppl.posteriors.history import History, SufficientStatistics
from fgtsva_ppl.rewards import flat_model
from fgtsva_ppl.types import Round
from samplers import PRECONDITIONERS, SamplerState, Target

DIM = 5
CHAINS = 8000
START = jnp.asarray([1.5, -1.0, 0.5, 2.0, -0.5])  # the same for all chains, and far out
ACTIONS = jnp.asarray(hypercube(DIM))


def history(eigenvalues, mean):
    """Sums for which the Gaussian part has this mean, and these eigenvalues along directions that are no axes."""
    rotation = np.linalg.qr(np.random.default_rng(11).normal(size=(DIM, DIM)))[0]
    precision = rotation @ np.diag(eigenvalues) @ rotation.T
    sums = SufficientStatistics(
        *map(jnp.asarray, ((precision - DIM * np.eye(DIM)) / 2, precision @ mean / 2, 1.0))
    )
    return History(sums, None, jnp.asarray(1.0), jnp.asarray(10)), precision


EIGENVALUES, MEAN = np.array([5.0, 8.0, 12.0, 20.0, 40.0]), np.array([0.3, 0.1, -0.2, 0.0, 0.1])
SEEN, PRECISION = history(EIGENVALUES, MEAN)
ROUND = Round(ACTIONS, jnp.asarray(1.0))


def feel_good() -> Target:
    """Optimism of lam s = 1.6 or so: the arms' modes stand side by side."""
    return posterior_target(FGTSB(lam=4.0), flat_model(Linear(), DIM), SEEN, ROUND)


def gaussian() -> Target:
    return posterior_target(TS(), flat_model(Linear(), DIM), SEEN, ROUND)


@partial(jax.jit, static_argnums=1)
def _chains(sampler, make, keys, start):
    def one(key):
        return sampler.sample(key, make(), SamplerState(start))[1]

    return jax.lax.map(one, keys) if sampler.sequential else jax.vmap(one)(keys)


def chains(sampler, make=feel_good, start=START, seed=SEED):
    """The last draws of many chains, and how they went."""
    draws = _chains(sampler, make, jax.random.split(jax.random.key(seed), CHAINS), start)
    return jax.tree.map(np.asarray, draws)


def assert_exact(positions):
    """Moments and choices are those of exact draws."""
    truth = chains(Exact(), seed=SEED + 77).position
    assert_same_moments(positions, truth)
    ours, theirs = (np.bincount(np.argmax(x @ ACTIONS.T, axis=1), minlength=32) for x in (positions, truth))
    assert_same_frequencies(ours, theirs)


# Enough transitions for a chain to forget where it started, in coordinates with a condition number of up to 8. The
# trajectories of HMC stay below half a period of the fastest direction: at a whole one a fixed length never forgets.
LONG = {
    "mala": {"dense": MALA(num_steps=60), "diagonal": MALA(num_steps=300, preconditioner="diagonal"),
             "none": MALA(num_steps=300, preconditioner="none")},
    "hmc": {"dense": HMC(num_steps=20),
            "diagonal": HMC(num_steps=60, num_integration_steps=6, preconditioner="diagonal"),
            "none": HMC(num_steps=60, num_integration_steps=6, preconditioner="none")},
    "nuts": {"dense": NUTS(num_steps=10), "diagonal": NUTS(num_steps=12, preconditioner="diagonal"),
             "none": NUTS(num_steps=12, preconditioner="none")},
}  # fmt: skip


@pytest.mark.parametrize("preconditioner", rest_is_slow(PRECONDITIONERS.names(), ["dense"]))
@pytest.mark.parametrize("name", LONG)
def test_adjusted_kernels_have_the_distribution_of_exact_draws(name, preconditioner):
    sampler = LONG[name][preconditioner]
    assert type(sampler) is SAMPLERS[name]
    assert sampler.preconditioner == PRECONDITIONERS.build(preconditioner)
    draws = chains(sampler)
    assert_exact(draws.position)
    assert draws.acceptance_rate.mean() > 0.5
    assert draws.num_divergent.sum() == 0


def test_an_unadjusted_kernel_is_caught_by_the_same_check():
    for sampler in (
        PSGLD(num_steps=60, step_size=0.5, step_size_decay=0),
        PSGLD(num_steps=60, step_size=0.35, step_size_decay=0),
    ):
        with pytest.raises(AssertionError, match="largest"):
            assert_exact(chains(sampler).position)


@pytest.mark.parametrize("steps", [1, 5, 20])
@pytest.mark.parametrize("cls", [SGLD, PSGLD])
def test_langevin_steps_on_a_gaussian_have_their_closed_form(cls, steps):
    """Along an eigenvector a step h (in its units) takes the mean to (1-h) mean, the variance to (1-h)^2 var + 2h."""
    sampler = cls(num_steps=steps)
    positions = chains(sampler, gaussian).position
    values, vectors = np.linalg.eigh(PRECISION)
    unit = values if cls is PSGLD else values.max()  # whitened, or by the largest curvature
    expected, variance = (np.asarray(START) - MEAN) @ vectors, np.zeros(DIM)
    for k in range(steps):
        h = sampler.step_size * (k + 1.0) ** -sampler.step_size_decay * values / unit
        expected, variance = (1 - h) * expected, (1 - h) ** 2 * variance + 2 * h
    centred = (positions - MEAN) @ vectors
    z = (centred - expected) / np.sqrt(variance / values)
    assert_mean(moments(z), np.concatenate([np.zeros(DIM), np.eye(DIM)[np.triu_indices(DIM)]]))


@pytest.mark.parametrize("step", [0.1, 0.5, 1.0, 1.5])
def test_the_stationary_variance_is_too_large_by_one_over_one_minus_half_the_step(step):
    positions = chains(
        PSGLD(num_steps=60, step_size=step, step_size_decay=0), gaussian, start=jnp.asarray(MEAN)
    ).position
    z = (positions - MEAN) @ np.linalg.cholesky(PRECISION)
    factor = 1 / (1 - step / 2)
    assert_mean(moments(z), np.concatenate([np.zeros(DIM), factor * np.eye(DIM)[np.triu_indices(DIM)]]))


@pytest.mark.parametrize("name", ["sgld", "psgld", "mala", "hmc"])
def test_a_tiny_step_hardly_moves_and_is_accepted(name):
    draws = chains(SAMPLERS.build(name, {"num_steps": 5, "step_size": 1e-9}), gaussian)
    np.testing.assert_allclose(draws.position, np.broadcast_to(START, draws.position.shape), atol=1e-3)
    if name in ("mala", "hmc"):
        np.testing.assert_allclose(draws.acceptance_rate, 1, atol=1e-3)


@pytest.mark.parametrize("cls", [MALA, HMC, NUTS])
def test_acceptance_falls_as_the_step_grows(cls):
    rates = [
        chains(cls(num_steps=5, step_size=step), gaussian, jnp.asarray(MEAN)).acceptance_rate
        for step in (0.2, 1.0, 2.5)
    ]
    assert np.all(np.concatenate(rates) >= 0)
    assert np.all(np.concatenate(rates) <= 1 + 1e-12)
    means = [rate.mean() for rate in rates]
    assert means[0] > 0.97
    assert means[0] > means[1] > means[2]


def test_one_step_of_mala_has_the_metropolis_hastings_acceptance_rate():
    """alpha = min(1, pi(y) q(y, x) / (pi(x) q(x, y))), integrated over proposals drawn in NumPy."""
    sampler = MALA(num_steps=1)
    draws = chains(sampler, gaussian)
    factor = np.linalg.cholesky(PRECISION)
    start = factor.T @ (np.asarray(START) - MEAN)  # whitened: the target is N(0, I)
    h = sampler.step_size * DIM ** (-1 / 3)
    noise = np.random.default_rng(SEED).normal(size=(200_000, DIM))
    proposal = (1 - h) * start + np.sqrt(2 * h) * noise
    forth = -np.sum(noise**2, axis=1) / 2
    back = -np.sum((start - (1 - h) * proposal) ** 2, axis=1) / (4 * h)
    log_ratio = np.sum(start**2) / 2 - np.sum(proposal**2, axis=1) / 2 + back - forth
    accept = np.minimum(1, np.exp(np.minimum(log_ratio, 0)))
    assert_mean(draws.acceptance_rate, accept.mean(), accept.std() / np.sqrt(accept.size))
    moved = np.any(np.abs(draws.position - np.asarray(START)) > 1e-12, axis=1)
    assert_mean(moved.astype(float), accept.mean(), accept.std() / np.sqrt(accept.size))


@pytest.mark.parametrize(
    ("sampler", "num_gradients"),
    [
        (Exact(), 0),
        (SGLD(num_steps=5), 5),
        (PSGLD(num_steps=5), 5),
        (MALA(num_steps=5), 6),
        (HMC(num_steps=5), 21),
    ],
)
def test_every_gradient_is_counted(sampler, num_gradients):
    assert np.all(chains(sampler, gaussian).num_gradients == num_gradients)


def test_the_gradients_of_nuts_are_those_of_its_trajectories():
    """A chain's log-density is called as often as it reports: once at the start, then once per leapfrog step."""
    calls = []

    def counted():
        target = gaussian()

        def logdensity(x):
            jax.debug.callback(lambda _: calls.append(1), x)
            return target.logdensity(x)

        return target._replace(logdensity=logdensity, tilt=None)

    draw = NUTS(num_steps=4).sample(jax.random.key(0), counted(), SamplerState(START))[1]
    jax.block_until_ready(draw)
    jax.effects_barrier()
    assert draw.num_gradients == len(calls)
    assert draw.num_gradients > 1 + 4


@pytest.mark.parametrize("cls", rest_is_slow([SGLD, PSGLD, MALA, HMC, NUTS], [PSGLD, HMC]))
def test_trace_ends_at_the_draw(cls):
    sampler, key = cls(num_steps=6), jax.random.key(5)

    @jax.jit
    def both(key):
        state = SamplerState(START)
        return sampler.sample(key, feel_good(), state)[1], sampler.trace(key, feel_good(), state, 6)

    draw, trace = both(key)
    assert trace.position.shape == (6, DIM)
    np.testing.assert_allclose(trace.position[-1], draw.position, rtol=1e-9)
    np.testing.assert_allclose(trace.acceptance_rate.mean(), draw.acceptance_rate, rtol=1e-9)
    assert trace.num_gradients.shape == (6,)


def test_an_unstable_langevin_chain_is_reported_as_divergent():
    draws = chains(SGLD(num_steps=300, step_size=30.0), gaussian)
    assert np.all(draws.num_divergent > 0)
    assert not np.any(np.isfinite(draws.position))


@pytest.mark.parametrize("name", PRECONDITIONERS.names())
def test_a_preconditioner_is_a_change_of_coordinates(name):
    target = gaussian()
    where = PRECONDITIONERS.build(name).apply(target, START)
    x = jnp.asarray([0.4, -0.1, 0.2, 0.9, -1.2])
    z = where.from_target(x)
    np.testing.assert_allclose(where.to_target(z), x, rtol=1e-12)
    constant = where.logdensity(where.from_target(START)) - target.logdensity(START)
    np.testing.assert_allclose(where.logdensity(z), target.logdensity(x) + constant, rtol=1e-12)
    hessian = -jax.hessian(where.logdensity)(z)
    np.testing.assert_allclose(where.curvature, np.linalg.eigvalsh(hessian)[-1], rtol=1e-9)
    if name == "dense":
        np.testing.assert_allclose(hessian, np.eye(DIM), atol=1e-9)
    if name == "diagonal":
        np.testing.assert_allclose(np.diag(hessian), 1, rtol=1e-9)


def test_exact_draws_do_not_depend_on_the_start():
    ours, theirs = (chains(Exact(), start=start).position for start in (START, -START))
    np.testing.assert_array_equal(ours, theirs)


def test_exact_rejects_a_target_without_exact_draws():
    with pytest.raises(InputError, match="sampler 'exact' has no exact draws for this posterior"):
        Exact().sample(jax.random.key(0), gaussian()._replace(exact=None), SamplerState(START))


def test_exact_chains_are_independent_draws():
    draws = np.asarray(Exact().trace(jax.random.key(SEED), gaussian(), SamplerState(START), 4000).position)
    z = (draws - MEAN) @ np.linalg.cholesky(PRECISION)
    assert_mean(z[1:] * z[:-1], 0.0)
    assert_mean(moments(z), np.concatenate([np.zeros(DIM), np.eye(DIM)[np.triu_indices(DIM)]]))


def test_chains_reach_a_mode_away_from_the_start():
    """Two modes, the lower one where the chains start: the kernels cross as often as they should."""
    lam, arms = 1.2, jnp.asarray([[1.0], [-1.0]])
    sums = SufficientStatistics(jnp.zeros((1, 1)), jnp.asarray([0.1]), jnp.zeros(()))
    seen = History(sums, None, jnp.asarray(1.0), jnp.asarray(1))
    target = posterior_target(FGTSB(lam=lam), flat_model(Linear(), 1), seen, Round(arms, jnp.asarray(1.0)))

    # prior N(0, 1) times exp(0.2 x) times exp(1.2 |x|)
    def side(sign):
        return np.exp((0.2 * sign + lam) ** 2 / 2) * norm.cdf(0.2 * sign + lam)

    share = side(1) / (side(1) + side(-1))

    @jax.jit
    def one(key):
        return NUTS(num_steps=30).sample(key, target, SamplerState(jnp.asarray([-3.0])))[1].position[0]

    positions = np.asarray(jax.lax.map(one, jax.random.split(jax.random.key(SEED), 2000)))
    assert_mean((positions > 0).astype(float), share)
