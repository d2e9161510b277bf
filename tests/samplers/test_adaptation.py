"""Coordinates, step rules, decay, dual averaging and warm-up; and that what they cost is counted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worlds import quick_jit, rest_is_slow

from samplers import HMC, MALA, NUTS, SAMPLERS, SGLD, InputError, SamplerState, Target
from samplers.adaptation.preconditioning import POWER_GRADIENTS, RULES, WHITENINGS, frame
from samplers.adaptation.step_size import due, followed, untuned
from samplers.markov import fetched

DIM = 4
TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(DIM, DIM)))[0]


def gaussian(spectrum, known=True):
    precision = jnp.asarray(TURN * jnp.asarray(spectrum)) @ TURN.T
    return Target(lambda x: -x @ precision @ x / 2, (lambda x: precision) if known else None)


STIFF = gaussian(np.array([1.0, 10.0, 100.0, 1000.0]))
HERE = jnp.array([0.3, -0.2, 0.5, 1.0])


@pytest.mark.parametrize("kind", WHITENINGS)
def test_frames_map_back_and_know_their_curvature(kind):
    where = frame(STIFF, HERE, kind)
    z = where.from_target(HERE)
    np.testing.assert_allclose(where.to_target(z), HERE, rtol=1e-10)
    np.testing.assert_allclose(where.logdensity(z), STIFF.logdensity(HERE), rtol=1e-10)
    inside = -np.asarray(jax.hessian(where.logdensity)(z))
    assert np.linalg.eigvalsh(inside)[-1] == pytest.approx(float(where.curvature), rel=1e-8)


def test_whitening_with_a_learnt_factor_is_a_frame_as_well():
    factor = jnp.array(np.tril(np.random.default_rng(1).normal(size=(DIM, DIM))) + 3 * np.eye(DIM))
    where = frame(STIFF, HERE, "diagonal").through(factor)
    np.testing.assert_allclose(where.to_target(where.from_target(HERE)), HERE, rtol=1e-9)
    np.testing.assert_allclose(where.logdensity(where.from_target(HERE)), STIFF.logdensity(HERE), rtol=1e-9)


@pytest.mark.parametrize("kind", WHITENINGS)
def test_power_iterations_find_the_largest_curvature(kind):
    exact, found = frame(STIFF, HERE, kind), frame(STIFF, HERE, kind, "power")
    assert float(found.curvature) == pytest.approx(float(exact.curvature), rel=0.15)
    assert (exact.spent, found.spent) == (0, POWER_GRADIENTS)


def test_an_unknown_precision_is_no_obstacle_in_plain_coordinates():
    blind = STIFF._replace(precision=None)
    sampler = MALA(whiten="none", steps=3)
    draw = sampler.sample(jax.random.key(0), blind, SamplerState(HERE))[1]
    assert draw.num_gradients == 3 + 1 + POWER_GRADIENTS
    assert float(frame(blind, HERE, "none").curvature) == pytest.approx(1000, rel=0.05)
    for kind in ("dense", "diagonal"):
        with pytest.raises(InputError, match="whiten=none"):
            frame(blind, HERE, kind)


def test_a_flat_target_has_a_unit_step():
    assert float(frame(Target(lambda x: jnp.sum(x)), HERE, "none").curvature) == 1


def test_the_constant_rule_takes_the_step_as_it_is():
    assert set(RULES) == {"curvature", "power", "constant"}
    assert frame(STIFF, HERE, "none", "constant").curvature == 1


def test_steps_decay_within_the_round():
    """On a slope so steep that the noise does not show, the way is the sum of the steps."""
    steep = Target(lambda x: 1e12 * jnp.sum(x), lambda x: jnp.eye(DIM))
    for decay in (0.0, 0.5, 1.0):
        draw = SGLD(steps=6, step=0.5, decay=decay).sample(
            jax.random.key(0), steep, SamplerState(jnp.zeros(DIM))
        )[1]
        way = 0.5 * np.sum(np.arange(1, 7) ** -decay)
        np.testing.assert_allclose(draw.position / 1e12, way, rtol=1e-9)


@pytest.mark.parametrize(("first", "whiten"), [(1e-3, "dense"), (300.0, "dense"), (1.0, "none")])
def test_dual_averaging_finds_the_acceptance_it_is_told(first, whiten):
    """From a step a thousand times too small or hundreds of times too large, on a target that contracts all along.

    Mean over 40 chains of 20 rounds of 10 transitions: standard error below 0.01, so 0.1 is ten of them.
    """
    sampler = MALA(steps=10, step=first, adapt=True, target_acceptance=0.6, whiten=whiten)

    @jax.jit
    def run(sampler, key):
        def body(state, t):
            target = gaussian((1 + t) * jnp.array([1.0, 2.0, 3.0, 4.0]))
            return sampler.sample(jax.random.fold_in(key, t), target, state)

        start = sampler.init(key, lambda k: jax.random.normal(k, (DIM,)))
        return jax.lax.scan(body, start, jnp.arange(60))[1].acceptance_rate

    accepted = jax.vmap(lambda key: run(sampler, key))(jax.random.split(jax.random.key(1), 40))
    assert float(jnp.mean(accepted[:, 40:])) == pytest.approx(0.6, abs=0.1)


def test_dual_averaging_keeps_following():
    """After a thousand targets it still answers a change within some tens."""
    tuning = untuned(2)
    for _ in range(1000):
        tuning = followed(tuning, jnp.asarray(0.6), 0.6)
    assert float(tuning.averaging.log_x) == pytest.approx(0, abs=1e-9)
    for _ in range(30):
        tuning = followed(tuning, jnp.asarray(0.0), 0.6)
    assert float(tuning.averaging.log_x) < -3


def test_a_chain_that_reports_nothing_shortens_its_step():
    assert float(followed(untuned(2), jnp.asarray(jnp.nan), 0.6).averaging.log_x) < 0


def test_warm_ups_are_due_on_the_rounds_that_were_chosen():
    rounds = np.arange(1, 18)
    assert [int(t) for t in rounds if due(jnp.asarray(t - 1), 0)] == [1, 2, 4, 8, 16]
    assert [int(t) for t in rounds if due(jnp.asarray(t - 1), 5)] == [1, 6, 11, 16]


@pytest.mark.parametrize("batched", rest_is_slow([False, True], []))
def test_warm_up_learns_the_metric_and_is_paid_for(batched):
    """Plain coordinates, condition 1000: with the learnt metric the chain covers the widest axis, without it hardly."""
    plain = HMC(whiten="none", steps=5)
    warm = HMC(whiten="none", steps=5, warmup=300)

    @jax.jit
    def run(sampler, key):
        def body(state, t):
            return sampler.sample(jax.random.fold_in(key, t), STIFF, state)

        start = sampler.init(key, lambda k: 0.03 * jax.random.normal(k, (DIM,)))
        return jax.lax.scan(body, start, jnp.arange(40))[1]

    def runs(sampler):
        keys = jax.random.split(jax.random.key(3), 6)
        return (
            jax.vmap(lambda k: run(sampler, k))(keys)
            if batched
            else jax.lax.map(lambda k: run(sampler, k), keys)
        )

    learnt, blind = runs(warm), runs(plain)
    spent = np.asarray(learnt.num_gradients)
    assert np.all(
        spent[:, [0, 1, 3, 7, 15, 31]] == 21 + 300 * 4 + 2
    )  # each half starts its chain with a gradient
    assert np.all(np.delete(spent, [0, 1, 3, 7, 15, 31], axis=1) == 21)
    assert np.all(np.asarray(blind.num_gradients) == 21)
    widest = np.asarray([x @ TURN[:, 0] for x in (learnt.position[:, 8:], blind.position[:, 8:])])
    moves = np.mean(np.diff(widest, axis=-1) ** 2, axis=(1, 2))
    assert moves[0] > 10 * moves[1]
    assert 0.6 < float(jnp.mean(learnt.acceptance_rate)) < 0.99


def test_hamiltonian_samplers_start_well_without_a_warm_up():
    """Round 1 of the default settings, from a prior draw, on a stiff target: neither stuck nor divergent."""
    for sampler in (HMC(), NUTS()):
        run = jax.jit(jax.vmap(lambda key, s=sampler: s.sample(key, STIFF, SamplerState(HERE))[1]))
        draws = run(jax.random.split(jax.random.key(0), 50))
        assert float(jnp.mean(draws.acceptance_rate)) > 0.6
        assert int(jnp.sum(draws.num_divergent)) == 0


@pytest.mark.parametrize(
    "name", rest_is_slow(["sgnht", "mclmc", "adjusted_mclmc", "barker", "rmh", "slice"], ["sgnht", "barker"])
)
def test_a_start_far_out_is_brought_in(name):
    """A hundred deviations out, as after a noiseless datum: one draw later the chain is where the target lives."""
    sampler = SAMPLERS.build(name)
    spot = STIFF.precision(HERE)

    @quick_jit
    @jax.vmap
    def distances(key):
        first, second = jax.random.split(key)
        far = 100 * jnp.linalg.solve(jnp.linalg.cholesky(spot).T, jax.random.normal(first, (DIM,)))
        draw = sampler.sample(second, STIFF, SamplerState(far))[1]
        return draw.position @ spot @ draw.position

    assert np.max(distances(jax.random.split(jax.random.key(0), 30))) < 50  # chi-squared with 4 degrees: 1e-9


def test_a_start_in_place_is_left_where_it_is():
    where = frame(STIFF, HERE, "dense")
    inside = jnp.array([2.0, -2.0, 1.0, 0.5])
    np.testing.assert_array_equal(fetched(where, inside), inside)
    np.testing.assert_allclose(fetched(where, 50 * inside), jnp.zeros(DIM), atol=1e-9)
