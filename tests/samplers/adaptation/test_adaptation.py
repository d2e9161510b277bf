"""Preconditioners, step size rules, decay, dual averaging and window adaptation; and that their cost is counted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.played_rounds import quick_jit, rest_is_slow

from samplers import (
    HMC,
    MALA,
    NUTS,
    PRECONDITIONERS,
    SAMPLERS,
    SGLD,
    Dense,
    Diagonal,
    DualAveraging,
    Identity,
    InputError,
    SamplerState,
    Target,
    WindowAdaptation,
)
from samplers.adaptation.curvature import POWER_ITERATION_GRADIENTS
from samplers.adaptation.preconditioning import STEP_SIZE_RULES
from samplers.adaptation.window import warm_up_due
from samplers.markov import move_to_typical_set

DIM = 4
TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(DIM, DIM)))[0]


def gaussian(spectrum, known=True):
    precision = jnp.asarray(TURN * jnp.asarray(spectrum)) @ TURN.T
    return Target(lambda x: -x @ precision @ x / 2, (lambda x: precision) if known else None)


STIFF = gaussian(np.array([1.0, 10.0, 100.0, 1000.0]))
HERE = jnp.array([0.3, -0.2, 0.5, 1.0])


@pytest.mark.parametrize("name", PRECONDITIONERS.names())
def test_coordinates_are_invertible_and_have_their_curvature(name):
    where = PRECONDITIONERS.build(name).apply(STIFF, HERE)
    z = where.from_target(HERE)
    np.testing.assert_allclose(where.to_target(z), HERE, rtol=1e-10)
    np.testing.assert_allclose(where.logdensity(z), STIFF.logdensity(HERE), rtol=1e-10)
    inside = -np.asarray(jax.hessian(where.logdensity)(z))
    assert np.linalg.eigvalsh(inside)[-1] == pytest.approx(float(where.curvature), rel=1e-8)


def test_a_learnt_metric_is_a_change_of_coordinates_as_well():
    factor = jnp.array(np.tril(np.random.default_rng(1).normal(size=(DIM, DIM))) + 3 * np.eye(DIM))
    where = Diagonal().apply(STIFF, HERE).with_metric(factor)
    np.testing.assert_allclose(where.to_target(where.from_target(HERE)), HERE, rtol=1e-9)
    np.testing.assert_allclose(where.logdensity(where.from_target(HERE)), STIFF.logdensity(HERE), rtol=1e-9)


@pytest.mark.parametrize("name", PRECONDITIONERS.names())
def test_power_iterations_find_the_largest_curvature(name):
    preconditioner = PRECONDITIONERS.build(name)
    exact, power = (preconditioner.apply(STIFF, HERE, rule) for rule in ("curvature", "power"))
    assert float(power.curvature) == pytest.approx(float(exact.curvature), rel=0.15)
    assert (exact.num_gradients, power.num_gradients) == (0, POWER_ITERATION_GRADIENTS)


def test_plain_coordinates_work_without_a_known_precision():
    unknown = STIFF._replace(precision=None)
    sampler = MALA(preconditioner="none", num_steps=3)
    draw = sampler.sample(jax.random.key(0), unknown, SamplerState(HERE))[1]
    assert draw.num_gradients == 3 + 1 + POWER_ITERATION_GRADIENTS
    assert float(Identity().apply(unknown, HERE).curvature) == pytest.approx(1000, rel=0.05)
    for preconditioner in (Dense(), Diagonal()):
        with pytest.raises(InputError, match="preconditioner=none"):
            preconditioner.apply(unknown, HERE)


def test_a_flat_target_has_a_unit_step():
    assert float(Identity().apply(Target(lambda x: jnp.sum(x)), HERE).curvature) == 1


def test_the_constant_rule_takes_the_step_as_it_is():
    assert set(STEP_SIZE_RULES) == {"curvature", "power", "constant"}
    assert Identity().apply(STIFF, HERE, "constant").curvature == 1


def test_steps_decay_within_the_round():
    """On a slope so steep that the noise does not show, the way is the sum of the steps."""
    steep = Target(lambda x: 1e12 * jnp.sum(x), lambda x: jnp.eye(DIM))
    for decay in (0.0, 0.5, 1.0):
        draw = SGLD(num_steps=6, step_size=0.5, step_size_decay=decay).sample(
            jax.random.key(0), steep, SamplerState(jnp.zeros(DIM))
        )[1]
        way = 0.5 * np.sum(np.arange(1, 7) ** -decay)
        np.testing.assert_allclose(draw.position / 1e12, way, rtol=1e-9)


@pytest.mark.parametrize(("first", "preconditioner"), [(1e-3, "dense"), (300.0, "dense"), (1.0, "none")])
def test_dual_averaging_reaches_its_target_acceptance_rate(first, preconditioner):
    """From a step a thousand times too small or hundreds of times too large, on a target that keeps contracting.

    Mean over 40 chains of 20 rounds of 10 transitions: standard error below 0.01, so 0.1 is ten of them.
    """
    adaptation = DualAveraging(target_acceptance_rate=0.6)
    sampler = MALA(num_steps=10, step_size=first, adaptation=adaptation, preconditioner=preconditioner)

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
    adaptation = DualAveraging(target_acceptance_rate=0.6)
    state = adaptation.init(2)
    for _ in range(1000):
        state = adaptation.update(state, jnp.asarray(0.6))
    assert float(state.dual_averaging.log_x) == pytest.approx(0, abs=1e-9)
    for _ in range(30):
        state = adaptation.update(state, jnp.asarray(0.0))
    assert float(state.dual_averaging.log_x) < -3
    assert int(state.num_targets) == 1030


def test_a_chain_that_reports_nothing_shortens_its_step():
    adaptation = DualAveraging(target_acceptance_rate=0.6)
    assert float(adaptation.update(adaptation.init(2), jnp.asarray(jnp.nan)).dual_averaging.log_x) < 0


def test_an_adaptation_aims_at_the_kernels_optimum_unless_it_has_an_aim():
    assert MALA(adaptation="dual_averaging")._adaptation == DualAveraging(target_acceptance_rate=0.57)
    own = DualAveraging(target_acceptance_rate=0.7)
    assert MALA(adaptation=own)._adaptation == own


def test_adapts_between_rounds_is_true_for_such_adaptations_only():
    between = {"none": False, "dual_averaging": True, "window": False}
    assert {name: MALA(adaptation=name).adapts_between_rounds for name in between} == between
    assert MALA(adaptation=WindowAdaptation(dual_averaging=True)).adapts_between_rounds
    assert not SGLD().adapts_between_rounds


def test_window_adaptation_can_adapt_between_rounds():
    rate = jnp.asarray(0.0)
    for dual_averaging in (False, True):
        adaptation = WindowAdaptation(dual_averaging=dual_averaging, target_acceptance_rate=0.6)
        state = adaptation.update(adaptation.init(2), rate)
        assert (float(state.dual_averaging.log_x) < 0) == dual_averaging
        assert int(state.num_targets) == 1


def test_warm_ups_happen_on_the_configured_rounds():
    rounds = np.arange(1, 18)
    assert [int(t) for t in rounds if warm_up_due(jnp.asarray(t - 1), 0)] == [1, 2, 4, 8, 16]
    assert [int(t) for t in rounds if warm_up_due(jnp.asarray(t - 1), 5)] == [1, 6, 11, 16]


@pytest.mark.parametrize("batched", rest_is_slow([False, True], []))
def test_warm_up_learns_the_metric_and_counts_its_gradients(batched):
    """Plain coordinates, condition 1000: with the learnt metric the chain covers the widest axis, without it hardly."""
    plain = HMC(preconditioner="none", num_steps=5)
    warm = HMC(preconditioner="none", num_steps=5, adaptation=WindowAdaptation(num_steps=300))

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

    learnt, unknown = runs(warm), runs(plain)
    spent = np.asarray(learnt.num_gradients)
    assert np.all(
        spent[:, [0, 1, 3, 7, 15, 31]] == 21 + 300 * 4 + 2
    )  # each half starts its chain with a gradient
    assert np.all(np.delete(spent, [0, 1, 3, 7, 15, 31], axis=1) == 21)
    assert np.all(np.asarray(unknown.num_gradients) == 21)
    widest = np.asarray([x @ TURN[:, 0] for x in (learnt.position[:, 8:], unknown.position[:, 8:])])
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
def test_a_start_far_outside_moves_to_the_typical_set(name):
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


def test_a_start_in_the_typical_set_is_not_moved():
    where = Dense().apply(STIFF, HERE)
    inside = jnp.array([2.0, -2.0, 1.0, 0.5])
    np.testing.assert_array_equal(move_to_typical_set(where, inside), inside)
    np.testing.assert_allclose(move_to_typical_set(where, 50 * inside), jnp.zeros(DIM), atol=1e-9)
