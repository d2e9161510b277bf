"""Late rewards: when they are observed, what they change, and that all agents wait for the same ones."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl import (
    PSGLD,
    TS,
    Contextual,
    Exact,
    InputError,
    Sparse,
    Thompson,
    WithDrift,
    WithFeedback,
    simulate,
)
from fgtsva_ppl.agents import AGENTS, LinTS
from fgtsva_ppl.drift import Walk
from fgtsva_ppl.feedback import Batched, Delayed
from fgtsva_ppl.simulation.rounds import play_round, reveal, start_run
from fgtsva_ppl.types import ActionInfo, Agent
from samplers.settings import nested, settings
from tests.helpers.montecarlo import SEED, assert_frequencies, assert_mean

ROUNDS = 14
GEOMETRIC = Delayed("geometric", 2, lost=0.1, memory=6)


@settings
class Spy(Agent):
    """Lets another agent draw, plays the arms in turn, and reports the means and the rewards that it observed."""

    inner: Any = nested()

    def for_horizon(self, rounds):
        return Spy(self.inner.for_horizon(rounds))

    def start(self, key, shape):
        return self.inner.start(key, shape), jnp.zeros((), int), jnp.zeros((), int), jnp.zeros(())

    def act_with_means(self, key, state, seen, means):
        inner, number, observed, total = state
        inner, _, _ = self.inner.act(key, inner, self.inner.embed(seen))
        info = ActionInfo(means[0], observed, number, jnp.zeros((), int), jnp.zeros((), int))
        return (inner, number + 1, jnp.zeros((), int), total), number % seen.actions.shape[0], info

    def act(self, key, state, seen):
        raise NotImplementedError

    def update(self, state, seen, action, reward):
        inner, number, observed, total = state
        inner = self.inner.update(inner, self.inner.embed(seen), action, reward)
        return inner, number, observed + 1, total + reward


def test_all_agents_meet_the_same_drift_delays_and_noise_to_the_last_bit():
    environment = WithFeedback(WithDrift(Contextual(dim=2, arms=3), Walk(rate=0.1)), GEOMETRIC)
    agents = [LinTS(), Thompson(posterior=TS(), sampler=PSGLD(num_steps=2)), AGENTS["greedy"]()]
    first, *others = (simulate(environment, Spy(agent), rounds=ROUNDS, runs=3) for agent in agents)
    for other in others:
        np.testing.assert_array_equal(first.acceptance_rate, other.acceptance_rate)  # the means: so the drift
        np.testing.assert_array_equal(first.num_divergent, other.num_divergent)  # arrivals: so the delays
        np.testing.assert_array_equal(first.regret, other.regret)
    assert first.num_divergent.max() > 1
    assert 0 < first.num_divergent.sum() < 3 * ROUNDS


def by_hand(environment, agent, key, rounds):
    """The loop, with pending rewards in a Python list."""
    feedback, carry = environment.feedback, start_run(environment, agent, key)
    from fgtsva_ppl.simulation.rounds import FEEDBACK, stream_key

    pending, expected = [], []

    @jax.jit
    def play(carry, t):
        _, outcome = reveal(environment, key, carry.instance, t)
        return *play_round(environment, agent, key, carry, t), outcome.rewards

    for t in range(rounds):
        delay = int(feedback.draw(stream_key(key, FEEDBACK, t), jnp.asarray(t)))
        carry, record, rewards = play(carry, jnp.asarray(t))
        pending.append((t, t + delay if delay < feedback.slots else None, rewards[record.action]))
        expected.append(sum(float(r) for _, due, r in pending if due is not None and due <= t))
        yield float(carry.agent[3]), expected[-1]


@pytest.mark.parametrize("feedback", [GEOMETRIC, Batched(4)])
def test_rewards_are_observed_when_they_are_due(feedback):
    environment = WithFeedback(Contextual(dim=2, arms=3, p=1.0), feedback)
    for observed, expected in by_hand(environment, Spy(_Nothing()), jax.random.key(SEED), ROUNDS):
        assert observed == pytest.approx(expected, abs=1e-12)


@settings
class _Nothing(Agent):
    def start(self, key, shape):
        return ()

    def act(self, key, state, round):
        return state, None, None

    def update(self, state, round, action, reward):
        return state


@pytest.mark.slow
def test_no_delay_changes_nothing():
    agent = LinTS()
    plain = simulate(Contextual(dim=2, arms=3), agent, rounds=ROUNDS, runs=2)
    feedback = Delayed("constant", 0, memory=2)
    late = simulate(WithFeedback(Contextual(dim=2, arms=3), feedback), agent, rounds=ROUNDS, runs=2)
    np.testing.assert_array_equal(late.action, plain.action)
    np.testing.assert_allclose(late.regret, plain.regret, rtol=1e-12, atol=1e-14)


def test_a_batch_leaves_the_posterior_alone_until_it_is_complete():
    """The greedy agent of a deterministic world plays the same arm until the batch is complete."""
    environment = WithFeedback(Sparse(dim=3, p=0.0), Batched(5))
    actions = simulate(environment, AGENTS["greedy"](), rounds=10, runs=3).action
    assert np.all(actions[:, :5] == actions[:, :1])
    assert np.all(actions[:, 5:] == actions[:, 5:6])
    assert np.any(actions[:, 5] != actions[:, 0])


@pytest.mark.parametrize("name", ["save", "ensemble"])
def test_agents_update_with_the_decision_of_the_rewards_own_round(name):
    """A batch of one round is the ordinary loop; with more, the stored decisions must come back with their rewards."""
    agent = AGENTS[name]()
    environment = WithFeedback(Sparse(dim=2), Batched(3))
    agent = agent.for_horizon(6)
    key = jax.random.key(SEED)
    carry, decisions, kept = start_run(environment, agent, key), [], []

    @settings
    class Recording(type(agent)):
        def with_decision(self, state, decision):
            jax.debug.callback(lambda *leaves: kept.append(leaves), *jax.tree.leaves(decision), ordered=True)
            return super().with_decision(state, decision)

    recording = Recording(**{f.name: getattr(agent, f.name) for f in dataclasses.fields(agent)})
    play = jax.jit(lambda carry, t: play_round(environment, recording, key, carry, t)[0])
    for t in range(3):
        carry = play(carry, jnp.asarray(t))
        decisions.append([np.asarray(ring[t]) for ring in jax.tree.leaves(carry.pending.decision)])
    jax.effects_barrier()
    assert len(kept) == 3
    for mine, own in zip(kept, decisions, strict=True):
        jax.tree.map(np.testing.assert_array_equal, list(mine), own)


def test_delays_have_their_distributions():
    keys = jax.random.split(jax.random.key(SEED), 20_000)

    def drawn(feedback):
        return np.asarray(jax.jit(jax.vmap(lambda key: feedback.draw(key, jnp.asarray(0))))(keys))

    geometric = drawn(Delayed("geometric", 3, memory=1000))
    assert_mean(geometric[:, None].astype(float), 3.0)
    counts = np.bincount(np.minimum(geometric, 9), minlength=10)
    ratio = 3 / 4
    assert_frequencies(counts, np.append((1 - ratio) * ratio ** np.arange(9), ratio**9))
    heavy = drawn(Delayed("heavy_tailed", 4, tail=1.0, memory=10_000))
    for x in (1, 4, 40, 400):  # P(delay >= x) = 1 / (1 + x / 4)
        assert_mean((heavy >= x)[:, None].astype(float), 1 / (1 + x / 4))
    lost = drawn(Delayed("constant", 2, lost=0.25, memory=5))
    assert_mean((lost == 5)[:, None].astype(float), 0.25)
    assert set(lost) == {2, 5}
    assert np.all(drawn(Delayed("geometric", 0)) == 0)


@pytest.mark.parametrize(
    ("feedback", "message"),
    [
        (Delayed("constant", 20, memory=50), r"feedback\.delay=20 must be less than rounds=10"),
        (Delayed("constant", 9, memory=5), r"feedback\.delay=9 must be less than feedback\.memory=5"),
        (Batched(11), r"feedback\.size=11 must be at most rounds=10"),
    ],
)
def test_delays_and_batches_longer_than_the_horizon_are_errors(feedback, message):
    with pytest.raises(InputError, match=message):
        simulate(WithFeedback(Sparse(), feedback), LinTS(), rounds=10, runs=1)


def test_memory_does_not_grow_with_the_horizon():
    environment = WithFeedback(WithDrift(Contextual(dim=2, arms=3), Walk()), GEOMETRIC)
    agent = Thompson(posterior=TS(), sampler=Exact())

    def size(rounds):
        carry = jax.eval_shape(
            lambda key: start_run(environment, agent.for_horizon(rounds), key), jax.random.key(0)
        )
        return sum(leaf.size for leaf in jax.tree.leaves(carry.instance) + jax.tree.leaves(carry.pending))

    assert size(10) == size(10**6)
