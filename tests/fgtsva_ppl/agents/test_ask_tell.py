"""Ask and tell: the same decisions as in the loop, saved and loaded to the bit, late rewards, no needless compiling."""

import json
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers.played_rounds import PlainLinear, rest_is_slow

from fgtsva_ppl import FGTSVA, MALA, PSGLD, SGLD, TS, Exact, InputError, Linear, Logistic, ThompsonAgent
from fgtsva_ppl.agents import ask_tell
from fgtsva_ppl.types import Round

ARMS, DIM = 3, 2
README = Path(__file__).parents[3] / "README.md"
QUICK = PSGLD(num_steps=1)


@pytest.fixture
def small(monkeypatch):
    """Buffers that double after four rounds."""
    monkeypatch.setattr(ask_tell, "SMALLEST_CAPACITY", 4)


def features(t):
    return np.random.default_rng(t).normal(size=(ARMS, DIM))


def play(agent, start, end, sigma=0.5):
    arms = []
    for t in range(start, end):
        arms.append(agent.ask(features(t), sigma))
        agent.tell(float(features(t)[arms[-1]] @ [1.0, -1.0]))
    return arms


def test_ask_chooses_the_same_arms_as_the_simulation_loop():
    agent = ThompsonAgent(posterior=FGTSVA(c=0.1), sampler=Exact(), horizon=50, seed=3)
    arms = play(agent, 0, 5)
    inner = agent.settings
    assert inner.posterior.alpha == pytest.approx(50**-0.5)
    key = jax.random.key(3)
    stream = [jax.random.fold_in(key, number) for number in (ask_tell.START, ask_tell.ASK)]
    state = inner.start(jax.random.fold_in(stream[0], 0), agent._shape)
    for t, arm in enumerate(arms):
        seen = Round(jnp.asarray(features(t)), jnp.asarray(0.5))
        state, action, *_ = ask_tell._act(inner, jax.random.fold_in(stream[1], t), state, seen)
        assert action == arm
        state = inner.update(state, inner.embed(seen), action, jnp.asarray(features(t)[arm] @ [1.0, -1.0]))


KEPT = {
    "sums": (Linear(), QUICK, False),
    "rows": (PlainLinear(), QUICK, False),
    "minibatches": (PlainLinear(), SGLD(num_steps=2, batch_size=2), True),
}


@pytest.mark.parametrize("case", rest_is_slow(KEPT, ["rows", "minibatches"]))
def test_a_loaded_agent_continues_with_identical_bits(tmp_path, small, case):
    reward, sampler, control_variate = KEPT[case]
    agent = ThompsonAgent(reward, FGTSVA(), sampler, control_variate=control_variate, seed=5)
    play(agent, 0, 6)
    agent.ask(features(6), 0.5)  # whose reward is still pending
    agent.save(tmp_path / "agent.npz")
    given = {} if isinstance(reward, Linear) else {"reward": reward}
    loaded = ThompsonAgent.load(tmp_path / "agent.npz", **given)
    assert loaded.settings == agent.settings
    for either in (agent, loaded):
        either.tell(0.25)
    assert play(agent, 7, 12) == play(loaded, 7, 12)
    for ours, theirs in zip(jax.tree.leaves(agent._state), jax.tree.leaves(loaded._state), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(
        agent.probabilities(features(0), 0.5), loaded.probabilities(features(0), 0.5)
    )
    assert not list(tmp_path.glob(".*"))


def test_an_agent_can_be_saved_before_the_first_question(tmp_path):
    ThompsonAgent(Logistic(prior_scale=2.0), TS(eta=1.0), MALA(num_steps=7), seed=9).save(tmp_path / "fresh")
    loaded = ThompsonAgent.load(tmp_path / "fresh")
    assert loaded.settings.reward == Logistic(prior_scale=2.0)
    assert loaded.settings.sampler == MALA(num_steps=7)
    assert loaded.seed == 9


def test_a_file_that_cannot_be_loaded_is_an_input_error(tmp_path):
    path = tmp_path / "agent.npz"
    with pytest.raises(InputError, match=r"cannot read .*agent.npz: No such file"):
        ThompsonAgent.load(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(InputError, match="is not a saved agent, or is damaged"):
        ThompsonAgent.load(path)
    np.savez(path, about=np.array("{}"))
    with pytest.raises(InputError, match="is not a saved agent, or is damaged"):
        ThompsonAgent.load(path)
    agent = ThompsonAgent(PlainLinear(), sampler=QUICK)
    agent.ask(features(0), 1.0)
    agent.save(path)
    with pytest.raises(InputError, match=r"reward has no registered name: load\(path, reward=...\)"):
        ThompsonAgent.load(path)
    with pytest.raises(InputError, match="the saved state is that of another agent"):
        ThompsonAgent.load(path, reward=Linear())


def test_ask_compiles_only_when_the_buffer_doubles(small):
    agent = ThompsonAgent(PlainLinear(), FGTSVA(alpha=0.3), QUICK)
    sizes = []
    ask_tell._act.clear_cache()
    ask_tell._update.clear_cache()
    for t in range(18):
        play(agent, t, t + 1)
        sizes.append((ask_tell._act._cache_size(), ask_tell._update._cache_size()))
    changes = [t for t in range(1, 18) if sizes[t] != sizes[t - 1]]
    assert changes == [4, 5, 8, 9, 16, 17]  # an update in the larger buffer, then the next question
    other = ThompsonAgent(PlainLinear(), FGTSVA(c=0.5, alpha=0.1), PSGLD(num_steps=1, step_size=0.2), seed=1)
    play(other, 0, 18)
    assert (ask_tell._act._cache_size(), ask_tell._update._cache_size()) == sizes[-1]


def test_rewards_can_be_delayed_and_batched():
    late, prompt = (ThompsonAgent(Linear(), TS(), Exact()) for _ in range(2))
    arms = [late.ask(features(t)) for t in range(3)]
    assert list(late.pending) == [0, 1, 2]
    with pytest.raises(InputError, match="tell which question it was: pending are 0, 1, 2"):
        late.tell(0.0)
    with pytest.raises(InputError, match="question 7 is not pending; pending are 0, 1, 2"):
        late.tell_all({0: 1.0, 7: 1.0})
    with pytest.raises(InputError, match="reward"):
        late.tell_all({0: 1.0, 1: float("nan")})
    assert list(late.pending) == [0, 1, 2]  # an invalid batch adds nothing
    late.tell_all({2: 0.3, 0: 0.1})
    late.tell(0.2)
    assert not late.pending
    for t, arm in enumerate(arms):
        prompt.ask(features(t))
        prompt.pending[t] = prompt.pending[t]._replace(arm=arm)
        prompt.tell((0.1, 0.2, 0.3)[t])
    for ours, theirs in zip(late._state.history.data, prompt._state.history.data, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    late.ask(features(4))
    late.forget([3])
    assert not late.pending


def test_probabilities_match_the_posterior_and_change_no_state():
    agent = ThompsonAgent(Linear(), TS(), Exact(), seed=2)
    play(agent, 0, 3, sigma=None)
    before = jax.tree.leaves(agent._state)
    shares = agent.probabilities(features(9), draws=4000)
    assert shares.sum() == pytest.approx(1)
    assert all(np.array_equal(a, b) for a, b in zip(before, jax.tree.leaves(agent._state), strict=True))
    data = agent._state.history.data
    precision = DIM * np.eye(DIM) + 2 * np.asarray(data.gram)
    mean = np.linalg.solve(precision, 2 * np.asarray(data.moment))
    theta = np.random.default_rng(0).multivariate_normal(mean, np.linalg.inv(precision), 100_000)
    expected = np.bincount(np.argmax(theta @ features(9).T, axis=1), minlength=ARMS) / 100_000
    # five standard errors of a share of 4000, three shares: one false alarm in 500,000
    np.testing.assert_allclose(shares, expected, atol=5 * 0.5 * 4000**-0.5)


def test_sigma_is_required_by_ask_or_tell():
    with pytest.raises(InputError, match="ask needs sigma"):
        ThompsonAgent(posterior=FGTSVA()).ask(features(0))
    agent = ThompsonAgent(posterior=FGTSVA(variance="revealed_after"), sampler=Exact())
    agent.ask(features(0))
    with pytest.raises(InputError, match="tell needs sigma"):
        agent.tell(0.3)
    agent.tell(0.3, sigma=0.5)
    np.testing.assert_allclose(agent._state.history.total_variance, 0.25)
    other = ThompsonAgent(posterior=TS(), sampler=Exact())
    other.ask(features(0))
    with pytest.raises(
        InputError, match="tell takes sigma only for a posterior with variance=revealed_after"
    ):
        other.tell(0.3, sigma=0.5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0, 2.0], "a row for each arm; they have shape (2,)"),
        ([[np.nan, 1.0]], "features must be finite numbers"),
        ([["a", "b"]], "features must be numbers, a row for each arm"),
        (np.ones((2, 2)), "features have shape (2, 2), and had (3, 2) before"),
    ],
)
def test_invalid_features_are_rejected(given, message):
    agent = ThompsonAgent(posterior=TS(), sampler=Exact())
    agent.ask(features(0))
    with pytest.raises(InputError, match=re.escape(message)):
        agent.ask(given)
    for reward, reason in ((np.nan, "must be finite"), ("much", "must be a number")):
        with pytest.raises(InputError, match=reason):
            agent.tell(reward)


def test_the_example_with_a_plain_python_environment_runs(capsys):
    (example,) = (
        code for code in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "ask" in code
    )
    exec(compile(example, str(README), "exec"), {})
    clicks, probabilities = capsys.readouterr().out.split(" ", 1)
    # 0.39 of 120 by chance, 0.71 if the taste is known from the start: it must have learnt most of it
    assert int(clicks) > 66
    assert float(probabilities.strip("[]\n").split()[0]) > 0.8


def test_an_invalid_first_question_changes_no_state():
    agent = ThompsonAgent(sampler=QUICK)
    with pytest.raises(InputError, match="ask needs sigma"):
        agent.ask(np.ones((2, 5)))
    wrong = ThompsonAgent(two_features, sampler=QUICK)
    with pytest.raises(InputError, match="reward two_features fails on features of shape"):
        wrong.ask(np.ones((2, 3)), 0.5)
    for asked_agent in (agent, wrong):
        asked_agent.ask(features(0), 0.5)
        with pytest.raises(InputError, match=r"features have shape \(4, 2\), and had \(3, 2\) before"):
            asked_agent.ask(np.ones((4, 2)), 0.5)


def two_features():
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([2]).to_event(1))
    return lambda features: features @ theta


def test_numbers_of_numpy_are_saved_as_numbers(tmp_path):
    agent = ThompsonAgent(sampler=QUICK, seed=np.int64(3), horizon=np.int32(20))
    agent.ask(features(0), np.float32(0.5))
    agent.save(tmp_path / "agent")
    assert ThompsonAgent.load(tmp_path / "agent").seed == 3


def test_an_incomplete_file_is_an_input_error(tmp_path):
    ThompsonAgent(sampler=QUICK).save(tmp_path / "agent")
    with np.load(tmp_path / "agent") as file:
        text = json.loads(str(file["about"]))
    for missing in ("parts", "numbers", "pending"):
        rest = {key: value for key, value in text.items() if key != missing}
        np.savez(tmp_path / "cut.npz", about=np.array(json.dumps(rest)))
        with pytest.raises(InputError, match="is not a saved agent, or is damaged"):
            ThompsonAgent.load(tmp_path / "cut.npz")
