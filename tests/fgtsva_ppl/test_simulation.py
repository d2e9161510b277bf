"""The loop: the same run whoever is beside it, randomness shared between agents, nothing compiled twice."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import assert_mean
from helpers.worlds import PlainLinear, rest_is_slow

from fgtsva_ppl import (
    FGTSA,
    FGTSB,
    FGTSVA,
    MALA,
    NUTS,
    PSGLD,
    SGLD,
    TS,
    Contextual,
    Dense,
    Exact,
    InputError,
    Linear,
    Simulation,
    Sparse,
    Thompson,
    simulate,
)
from fgtsva_ppl.agents import LinTS
from fgtsva_ppl.environments.linear import Instance, hypercube
from fgtsva_ppl.simulation.loop import CHUNKS, LONGEST, _piece, _play, check
from fgtsva_ppl.types import ActionInfo, Round
from samplers import Draw, Sampler, SamplerState
from samplers.settings import nested, settings, traced_float

ARRAYS = ("regret", "action", "acceptance_rate", "num_divergent", "num_gradients", "num_resets")


def assert_same(ours: Simulation, theirs: Simulation, runs=slice(None), rounds=slice(None)) -> None:
    """Bit for bit; `runs` and `rounds` of theirs are ours."""
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name)[runs, rounds], err_msg=name)


# a plain chain, a loop of data-dependent length side by side, one run after the other, a history that grows
AGENTS = {
    "mala": (Sparse(), Thompson(sampler=MALA())),  # of the paper's size: there the width of a block shows
    "exact": (Dense(dim=3), Thompson(sampler=Exact())),
    "nuts": (Sparse(dim=3), Thompson(sampler=NUTS(num_steps=1))),
    "wide": (
        Sparse(dim=8),
        Thompson(sampler=SGLD(num_steps=3)),
    ),  # one set of 256 arms times 25 positions at once
    "rows": (
        Contextual(dim=3, arms=4),
        Thompson(reward=PlainLinear(), posterior=FGTSA(), sampler=PSGLD(num_steps=3)),
    ),
}
QUICK = ("mala",)
ROUNDS = 20
MANY = 60  # with 25 side by side and two devices: two blocks on each


@lru_cache
def many(name):
    return simulate(*AGENTS[name], rounds=ROUNDS, runs=MANY)


@pytest.mark.parametrize("name", rest_is_slow(AGENTS, QUICK))
def test_a_run_is_the_same_alone_and_among_others(name):
    assert_same(simulate(*AGENTS[name], rounds=ROUNDS, runs=3), many(name), slice(0, 3))
    assert_same(simulate(*AGENTS[name], rounds=ROUNDS, runs=1, first_run=41), many(name), slice(41, 42))
    # every run in another lane than it had
    assert_same(simulate(*AGENTS[name], rounds=ROUNDS, runs=25, first_run=24), many(name), slice(24, 49))


@pytest.mark.parametrize("device", rest_is_slow([0, 1], [0]))
@pytest.mark.parametrize("name", rest_is_slow(AGENTS, QUICK))
def test_a_run_is_the_same_on_one_device_as_on_two(name, device):
    alone = simulate(*AGENTS[name], rounds=ROUNDS, runs=MANY, devices=[jax.devices()[device]])
    assert_same(alone, many(name))


@pytest.mark.parametrize("name", rest_is_slow(AGENTS, QUICK))
def test_a_run_is_the_same_when_it_is_played_again(name):
    assert_same(simulate(*AGENTS[name], rounds=ROUNDS, runs=MANY), many(name))


def test_seeds_and_runs_differ():
    environment, agent = AGENTS["mala"]
    ours, theirs = (simulate(environment, agent, rounds=ROUNDS, runs=25, seed=seed).regret for seed in (0, 1))
    assert len({row.tobytes() for row in np.concatenate([ours, theirs])}) == 50


def test_looking_into_rounds_does_not_change_them():
    environment, agent = AGENTS["mala"]
    looked = simulate(environment, agent, rounds=ROUNDS, runs=MANY, probes=[1, 7, ROUNDS])
    assert_same(looked, many("mala"))
    assert [snapshot.round for snapshot in looked.snapshots] == [1, 7, ROUNDS]
    assert all((s.states.history.rounds == s.round - 1).all() for s in looked.snapshots)


def test_the_fast_path_plays_as_the_generic_one():
    """Sums against rows, past the first growth of the buffer: the same arms from the first round to the last."""
    agents = [Thompson(reward=reward, sampler=PSGLD(num_steps=3)) for reward in (Linear(), PlainLinear())]
    ours, theirs = (simulate(Sparse(dim=3), agent, rounds=80, runs=25) for agent in agents)
    np.testing.assert_array_equal(ours.action, theirs.action)
    np.testing.assert_allclose(ours.regret, theirs.regret, atol=1e-12)
    assert ours.regret[:, -20:].mean() < 0.1 * ours.regret[:, :5].mean()  # and they learn


class StopHereError(Exception):
    pass


class Notebook:
    """A checkpoint that keeps everything, and interrupts after some pieces."""

    def __init__(self, pieces):
        self.pieces, self.left = pieces, None

    def load(self):
        return self.left

    def save(self, reached):
        self.left = reached()
        self.pieces -= 1
        if self.pieces == 0:
            raise StopHereError


@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(80, marks=pytest.mark.slow)])  # 80: the buffer grows
@pytest.mark.parametrize("name", rest_is_slow(["mala", "rows"], QUICK))
def test_an_interrupted_run_goes_on_to_the_same_bits(name, rounds):
    setting = {"rounds": rounds, "runs": MANY, "probes": [1, 7, rounds]}
    whole = simulate(*AGENTS[name], **setting)
    notebook, told = Notebook(3), []
    for _ in range(2):
        with pytest.raises(StopHereError):
            simulate(*AGENTS[name], **setting, checkpoint=notebook)
        notebook.pieces = 4
    notebook.pieces = 100
    resumed = simulate(*AGENTS[name], **setting, checkpoint=notebook, progress=told.append)
    assert len(told) < 16 - 6  # what was done is not done again
    assert_same(resumed, whole)
    for ours, theirs in zip(resumed.snapshots, whole.snapshots, strict=True):
        jax.tree.map(np.testing.assert_array_equal, ours, theirs)


def test_what_another_number_of_devices_left_is_not_taken_up():
    notebook = Notebook(2)
    with pytest.raises(StopHereError):
        simulate(*AGENTS["mala"], rounds=ROUNDS, runs=3, checkpoint=notebook)
    alone = simulate(*AGENTS["mala"], rounds=ROUNDS, runs=3, devices=[jax.devices()[0]], checkpoint=notebook)
    assert_same(alone, many("mala"), slice(0, 3))


# --- common random numbers


@settings
class Watcher:
    """Lets another agent draw, but plays the arms in turn and reports what it was shown."""

    inner: Any = nested()

    @property
    def sequential(self):
        return self.inner.sequential

    def for_horizon(self, rounds):
        return Watcher(self.inner.for_horizon(rounds))

    def start(self, key, shape):
        return self.inner.start(key, shape), jnp.zeros(()), jnp.zeros((), int)

    def grow(self, state, capacity):
        return self.inner.grow(state[0], capacity), *state[1:]

    def act(self, key, state, seen):
        inner, drawn, _ = self.inner.act(key, state[0], seen)
        arms = seen.actions.shape[0]
        mark = jnp.sum(seen.actions * jnp.arange(1.0, seen.actions.size + 1).reshape(seen.actions.shape))
        report = ActionInfo(seen.sigma, mark, state[1], drawn)
        return (inner, *state[1:]), state[2] % arms, report

    def update(self, state, seen, action, reward):
        return self.inner.update(state[0], seen, action, reward), reward, state[2] + 1


@pytest.mark.parametrize(
    "environment", [pytest.param(Dense(dim=3), marks=pytest.mark.slow), Contextual(dim=3, arms=4, p=0.5)]
)
def test_whoever_plays_meets_the_same_truth_actions_variances_and_noise(environment):
    inner = [
        Thompson(sampler=PSGLD(num_steps=2)),
        Thompson(posterior=TS(), sampler=MALA(num_steps=3)),
        LinTS(),
    ]
    first, *others = (simulate(environment, Watcher(agent), rounds=12, runs=3) for agent in inner)
    # sigma, the arms, the reward of the round before, and regrets: so theta* and the noise as well
    for name in ("acceptance_rate", "num_divergent", "num_gradients", "regret"):
        for other in others:
            np.testing.assert_allclose(getattr(other, name), getattr(first, name), rtol=1e-12, atol=1e-14)
    assert (
        np.unique(first.num_gradients).size == 1 + 3 * 11
    )  # zeros before the first round, then no two rewards alike
    drawn = [simulation.num_resets for simulation in (first, *others)]
    assert all(np.any(other != drawn[0]) for other in drawn[1:])  # while the agents themselves differ


@settings
class Keyed:
    """An agent that compares the keys of its rounds with those it could have split off at the start."""

    sequential = False

    def for_horizon(self, rounds):
        return self

    def start(self, key, shape):
        return jnp.concatenate(
            [jax.random.key_data(key)[None], jax.random.key_data(jax.random.split(key, 40))]
        )

    def grow(self, state, capacity):
        return state

    def act(self, key, state, seen):
        own = jnp.concatenate(
            [jax.random.key_data(key)[None], jax.random.key_data(jax.random.split(key, 40))]
        )
        seen_before = jnp.any(jnp.all(own[:, None] == state[None], axis=-1))
        zero = jnp.zeros(())
        return state, jnp.zeros((), int), ActionInfo(zero, zero, zero, seen_before)

    def update(self, state, seen, action, reward):
        return state


def test_no_round_draws_with_a_key_of_the_start():
    assert not np.any(simulate(Sparse(dim=2), Keyed(), rounds=30, runs=2).num_resets)


# --- what is compiled


def test_numbers_compile_nothing_anew():
    def play(p=0.1, scale=1.0, c=0.003, alpha=0.2, step=1.0, steps=2, seed=0, first_run=0):
        agent = Thompson(posterior=FGTSVA(c=c, alpha=alpha), sampler=MALA(num_steps=steps, step_size=step))
        simulate(Sparse(dim=2, p=p, scale=scale), agent, rounds=8, runs=2, seed=seed, first_run=first_run)
        return _play._cache_size()

    known = play()
    assert play(c=0.1) == known
    assert play(alpha=0.01) == known
    assert play(alpha=1) == known  # an integer is a number too
    assert play(step=0.1) == known
    assert play(steps=7) == known
    assert play(p=0.9, scale=3) == known
    assert play(seed=5, first_run=3) == known


def test_numbers_of_other_posteriors_and_samplers_compile_nothing_anew():
    def play(lam, eta, step):
        agent = Thompson(posterior=FGTSB(lam=lam, eta=eta), sampler=PSGLD(num_steps=2, step_size=step))
        simulate(Dense(dim=2), agent, rounds=8, runs=2)
        return _play._cache_size()

    known = play(1.0, 0.25, 0.1)
    assert play(3.0, 0.1, 0.2) == known


def test_derived_numbers_compile_nothing_anew():
    def play(posterior):
        simulate(Sparse(dim=2), Thompson(posterior=posterior, sampler=MALA(num_steps=2)), rounds=8, runs=2)
        return _play._cache_size()

    assert play(FGTSVA()) == play(FGTSVA(alpha=0.3))


def test_structure_compiles_anew():
    """So that the tests above mean something."""

    def play(whiten):
        simulate(Sparse(dim=2), Thompson(sampler=MALA(num_steps=2, preconditioner=whiten)), rounds=8, runs=2)
        return _play._cache_size()

    assert play("dense") + 1 == play("none")


def test_a_run_is_cut_into_pieces_that_share_one_program():
    known = _play._cache_size()
    simulate(
        Sparse(dim=2, arms=3), Thompson(sampler=MALA(num_steps=5)), rounds=32, runs=2
    )  # as in no other test
    assert _play._cache_size() == known + 1


def test_a_buffer_compiles_once_for_each_capacity():
    known = _play._cache_size()
    agent = Thompson(PlainLinear(), sampler=MALA(num_steps=2))
    simulate(Sparse(dim=2, arms=3), agent, rounds=256, runs=2)  # as in no other test
    assert _play._cache_size() == known + 3  # 64, 128, 256


def test_pieces_are_short_however_long_a_run_is():
    for rounds, every in ((1, 1), (32, 1), (1000, 1), (10**6, 1), (10**6, 1000), (10**6, 5000), (33, 11)):
        length = _piece(rounds, every)
        assert length % every == 0
        assert length <= max(LONGEST, every)
        assert (CHUNKS - 1) * length < rounds or length == every
    assert _piece(1000, 1) == 63


# --- chains that go wrong


@settings
class Flaky(Sampler):
    """Draws at random, and not a number every so often."""

    sequential = False
    rate: float = traced_float(default=0.3, ge=0, le=1, doc="how often")

    def init(self, key, start):
        return SamplerState(start(key), jnp.zeros(()))

    def sample(self, key, target, state):
        where, whether = jax.random.split(key)
        fails = jax.random.uniform(whether) < self.rate
        position = jax.random.normal(where, state.position.shape)
        broken = jnp.where(fails, position.at[0].set(jnp.nan), position)  # one coordinate is enough
        tuning = jnp.where(fails, jnp.nan, state.carry + 1)
        draw = Draw(broken, jnp.asarray(jnp.nan), jnp.asarray(0), jnp.asarray(0))
        return SamplerState(broken, tuning), draw


def test_non_finite_chains_are_counted_and_put_back():
    agent, environment = Thompson(sampler=Flaky()).for_horizon(10), Sparse(dim=3)
    instance = environment.start(jax.random.key(0))
    state = agent.start(jax.random.key(1), environment.shape)
    act = jax.jit(agent.act)
    num_resets = 0
    for t in range(40):
        seen, _ = environment.round(jax.random.key(t), instance)
        before = state.sampler
        _, draw = agent.sampler.sample(jax.random.key(t), None, before)
        state, action, effort = act(jax.random.key(t), state, seen)
        fails = not np.all(np.isfinite(draw.position))
        assert bool(effort.num_resets) == fails
        num_resets += fails
        expected = before.position if fails else draw.position
        np.testing.assert_array_equal(state.sampler.position, expected)
        assert state.sampler.carry == (before.carry if fails else before.carry + 1)
        assert action == np.argmax(seen.actions @ expected)
    assert 0 < num_resets < 40


def test_the_count_of_restored_chains_is_in_the_results():
    result = simulate(Sparse(dim=3), Thompson(sampler=Flaky()), rounds=40, runs=50)
    assert_mean(result.num_resets.mean(axis=1), 0.3)
    assert np.all(np.isfinite(result.regret))
    sound = simulate(Sparse(dim=3), Thompson(sampler=Flaky(rate=0.0)), rounds=40, runs=50)
    assert not np.any(sound.num_resets)


def test_a_chain_that_never_is_finite_plays_where_it_started():
    result = simulate(Sparse(dim=3), Thompson(sampler=Flaky(rate=1.0)), rounds=10, runs=25)
    assert np.all(result.num_resets)
    assert np.all(result.action == result.action[:, :1])
    assert np.unique(result.action).size > 1  # which is a draw from the prior, not arm 0


# --- regret


@settings
class Known(Sparse):
    """A truth that one may know."""

    def start(self, key):
        return Instance(jnp.asarray([0.6, -0.8]), jnp.asarray(hypercube(2)))


@settings
class Seer:
    """Plays the best arm, or the worst, of the known truth."""

    sequential = False
    sign: float = traced_float(default=1.0, doc="1: the best arm, -1: the worst")

    def for_horizon(self, rounds):
        return self

    def start(self, key, shape):
        return ()

    def grow(self, state, capacity):
        return state

    def act(self, key, state, seen: Round):
        none = jnp.zeros(())
        value = self.sign * seen.actions @ jnp.asarray([0.6, -0.8])
        return state, jnp.argmax(value), ActionInfo(none, none, none, none)

    def update(self, state: Any, seen, action, reward):
        return state


def test_a_clairvoyant_has_no_regret_and_the_worst_player_all_of_it():
    best, worst = (simulate(Known(dim=2), Seer(sign=sign), rounds=20, runs=2) for sign in (1.0, -1.0))
    assert np.all(best.regret == 0)
    np.testing.assert_allclose(worst.regret, 2 * 1.4 / np.sqrt(2), rtol=1e-12)
    np.testing.assert_allclose(worst.cumulative_regret[:, -1], 20 * 2 * 1.4 / np.sqrt(2), rtol=1e-12)


@pytest.mark.parametrize("name", rest_is_slow(AGENTS, QUICK))
def test_regret_is_not_negative_and_adds_up(name):
    result = many(name)
    assert np.all(result.regret >= 0)
    assert np.all(result.regret <= 2)
    assert np.any(result.regret == 0)
    assert result.regret.shape == (MANY, ROUNDS)
    np.testing.assert_allclose(result.cumulative_regret[:, -1], result.regret.sum(axis=1))
    assert np.all(np.diff(result.cumulative_regret, axis=1) >= 0)


# --- rounds


@pytest.mark.parametrize("rounds", rest_is_slow([1, 17], []))
def test_rounds_need_not_be_divisible_by_the_number_of_pieces(rounds):
    told = []
    agent = Thompson(posterior=FGTSVA(alpha=0.2), sampler=PSGLD(num_steps=2))
    result = simulate(Sparse(dim=2), agent, rounds=rounds, runs=2, progress=told.append)
    assert result.regret.shape == (2, rounds)
    assert told[-1] == rounds
    assert told == sorted(set(told))
    assert len(told) <= 16
    # with alpha given the horizon has no part in a round: a longer run begins as a shorter one
    longer = simulate(Sparse(dim=2), agent, rounds=33, runs=2)
    assert_same(result, longer, rounds=slice(0, rounds))


@pytest.mark.parametrize(("rounds", "runs"), [(0, 1), (1, 0), (-3, 2), (2, -1)])
def test_no_rounds_or_no_runs_are_refused(rounds, runs):
    with pytest.raises(InputError, match=f"^rounds={rounds} and runs={runs} must be at least 1$"):
        simulate(Sparse(), Thompson(), rounds=rounds, runs=runs)


REFUSED = {
    "smoothed": (Sparse(), Exact(), FGTSVA(maximum="smoothed"), "sampler 'exact' has no exact draws"),
    "capped": (Sparse(), Exact(), FGTSVA(cap=1.0), "sampler 'exact' has no exact draws"),
    "past sets": (Contextual(), Exact(), FGTSA(), "sampler 'exact' has no exact draws"),
    "no cap": (
        Sparse(),
        MALA(),
        FGTSVA(maximum="softplus"),
        "maximum=softplus smooths the cap and needs one",
    ),
    "too many arms": (Sparse(arms=33), MALA(), FGTSVA(), "arms=33 must be at most"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_said_before_anything_compiles(what):
    environment, sampler, posterior, message = REFUSED[what]
    agent = Thompson(posterior=posterior, sampler=sampler)
    known = _play._cache_size()
    with pytest.raises(InputError) as error:
        check(environment, agent, 100)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert _play._cache_size() == known


def test_what_fits_passes_the_check():
    for environment in (Sparse(), Contextual()):
        for posterior in (FGTSVA(), FGTSB(), TS()):
            check(environment, Thompson(posterior=posterior, sampler=Exact()), 100)
    check(Sparse(), Thompson(posterior=FGTSA(), sampler=Exact()), 100)
    check(Contextual(), Thompson(posterior=FGTSA(maximum="smoothed"), sampler=MALA()), 100)
