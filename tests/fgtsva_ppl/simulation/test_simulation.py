"""The loop: a run is the same alone, among others, on any device and after an interruption; regret adds up."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.played_rounds import PlainLinear, rest_is_slow

from fgtsva_ppl import (
    FGTSA,
    FGTSVA,
    MALA,
    NUTS,
    PSGLD,
    SGLD,
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
from fgtsva_ppl.environments.linear import Instance, hypercube
from fgtsva_ppl.simulation import Record
from fgtsva_ppl.types import ActionInfo, Agent, Round
from samplers import Diagonal
from samplers.settings import settings, traced_float


def assert_same(ours: Simulation, theirs: Simulation, runs=slice(None), rounds=slice(None)) -> None:
    """Bit for bit; `runs` and `rounds` of theirs are ours."""
    for name in Record.fields():
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
def test_a_run_is_reproducible(name):
    assert_same(simulate(*AGENTS[name], rounds=ROUNDS, runs=MANY), many(name))


def test_seeds_and_runs_differ():
    environment, agent = AGENTS["mala"]
    ours, theirs = (simulate(environment, agent, rounds=ROUNDS, runs=25, seed=seed).regret for seed in (0, 1))
    assert len({row.tobytes() for row in np.concatenate([ours, theirs])}) == 50


def test_probes_do_not_change_the_run():
    environment, agent = AGENTS["mala"]
    probed = simulate(environment, agent, rounds=ROUNDS, runs=MANY, probes=[1, 7, ROUNDS])
    assert_same(probed, many("mala"))
    assert [snapshot.round for snapshot in probed.snapshots] == [1, 7, ROUNDS]
    assert all((s.states.history.rounds == s.round - 1).all() for s in probed.snapshots)


def test_fast_and_generic_paths_choose_the_same_arms():
    """Sums against rows, past the first growth of the buffer: the same arms from the first round to the last."""
    sampler = SGLD(
        num_steps=40, preconditioner=Diagonal()
    )  # whitened, the two paths would differ by a rotation
    agents = [Thompson(reward=reward, sampler=sampler) for reward in (Linear(), PlainLinear())]
    ours, theirs = (simulate(Sparse(dim=3), agent, rounds=80, runs=25) for agent in agents)
    np.testing.assert_array_equal(ours.action, theirs.action)
    np.testing.assert_allclose(ours.regret, theirs.regret, atol=1e-12)
    assert ours.regret[:, -20:].mean() < 0.1 * ours.regret[:, :5].mean()  # and they learn


class StopHereError(Exception):
    pass


class Notebook:
    """A checkpoint that keeps everything, and interrupts after some chunks."""

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
def test_an_interrupted_run_continues_to_the_same_bits(name, rounds):
    setting = {"rounds": rounds, "runs": MANY, "probes": [1, 7, rounds]}
    whole = simulate(*AGENTS[name], **setting)
    notebook, reported = Notebook(3), []
    for _ in range(2):
        with pytest.raises(StopHereError):
            simulate(*AGENTS[name], **setting, checkpoint=notebook)
        notebook.pieces = 4
    notebook.pieces = 100
    resumed = simulate(*AGENTS[name], **setting, checkpoint=notebook, progress=reported.append)
    assert len(reported) < 16 - 6  # finished chunks are not computed again
    assert_same(resumed, whole)
    for ours, theirs in zip(resumed.snapshots, whole.snapshots, strict=True):
        jax.tree.map(np.testing.assert_array_equal, ours, theirs)


def test_a_checkpoint_of_another_number_of_devices_is_not_used():
    notebook = Notebook(2)
    with pytest.raises(StopHereError):
        simulate(*AGENTS["mala"], rounds=ROUNDS, runs=3, checkpoint=notebook)
    alone = simulate(*AGENTS["mala"], rounds=ROUNDS, runs=3, devices=[jax.devices()[0]], checkpoint=notebook)
    assert_same(alone, many("mala"), slice(0, 3))


# --- regret


@settings
class Known(Sparse):
    """An environment with a known truth."""

    def start(self, key):
        return Instance(jnp.asarray([0.6, -0.8]), jnp.asarray(hypercube(2)))


@settings
class Seer(Agent):
    """Plays the best arm, or the worst, of the known truth."""

    sign: float = traced_float(default=1.0, doc="1: the best arm, -1: the worst")

    def start(self, key, shape):
        return ()

    def act(self, key, state, seen: Round):
        none = jnp.zeros(())
        value = self.sign * seen.actions @ jnp.asarray([0.6, -0.8])
        return state, jnp.argmax(value), ActionInfo(none, none, none, none)

    def update(self, state: Any, seen, action, reward):
        return state


def test_the_best_player_has_no_regret_and_the_worst_has_the_largest():
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
def test_rounds_need_not_be_divisible_by_the_number_of_chunks(rounds):
    reported = []
    agent = Thompson(posterior=FGTSVA(alpha=0.2), sampler=PSGLD(num_steps=2))
    result = simulate(Sparse(dim=2), agent, rounds=rounds, runs=2, progress=reported.append)
    assert result.regret.shape == (2, rounds)
    assert reported[-1] == rounds
    assert reported == sorted(set(reported))
    assert len(reported) <= 16
    # with alpha given the horizon has no part in a round: a longer run starts like a shorter one
    longer = simulate(Sparse(dim=2), agent, rounds=33, runs=2)
    assert_same(result, longer, rounds=slice(0, rounds))


@pytest.mark.parametrize(("rounds", "runs"), [(0, 1), (1, 0), (-3, 2), (2, -1)])
def test_zero_rounds_or_runs_are_rejected(rounds, runs):
    with pytest.raises(InputError, match=f"^rounds={rounds} and runs={runs} must be at least 1$"):
        simulate(Sparse(), Thompson(), rounds=rounds, runs=runs)
