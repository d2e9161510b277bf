"""Off-policy estimates against closed forms and simulation; logs that cannot be evaluated."""

import numpy as np
import pandas as pd
import pytest

from fgtsva_ppl import InputError
from fgtsva_ppl.agents import AGENTS, Uniform
from fgtsva_ppl.evaluation import (
    Log,
    direct_method,
    doubly_robust,
    evaluate,
    fit_rewards,
    importance_weights,
    ips,
    read_log,
    replay,
    snips,
)
from tests.helpers.montecarlo import SEED, assert_mean

MEANS = np.array([0.2, 0.5, 0.9])
LOGGING = np.array([0.6, 0.3, 0.1])
TARGET = np.array([0.1, 0.2, 0.7])
VALUE = float(TARGET @ MEANS)


def logged(rng, rounds, probabilities=LOGGING):
    actions = rng.choice(3, size=rounds, p=probabilities)
    rewards = (rng.uniform(size=rounds) < MEANS[actions]).astype(float)
    features = np.broadcast_to(np.eye(3), (rounds, 3, 3))
    return Log(actions, rewards, probabilities[actions], features)


def policy_of(rounds):
    return np.broadcast_to(TARGET, (rounds, 3))


def test_estimates_by_hand():
    rewards, weights = np.array([1.0, 0.0, 2.0]), np.array([0.5, 2.0, 1.0])
    assert ips(rewards, weights).value == pytest.approx(2.5 / 3)
    assert ips(rewards, weights).standard_error == pytest.approx(np.std([0.5, 0, 2], ddof=1) / np.sqrt(3))
    assert snips(rewards, weights).value == pytest.approx(2.5 / 3.5)
    model = np.array([[1.0, 3.0]] * 3)
    policy = np.array([[0.25, 0.75]] * 3)
    assert direct_method(model, policy).value == pytest.approx(2.5)
    # corrections: .5 (1 - 1), 2 (0 - 3), 1 (2 - 1)
    robust = doubly_robust(rewards, weights, np.array([0, 1, 0]), model, policy)
    assert robust.value == pytest.approx(2.5 + (0 - 6 + 1) / 3)


def test_estimates_of_many_logs_are_unbiased_and_their_intervals_cover():
    rng = np.random.default_rng(SEED)
    names = ("ips", "snips", "doubly_robust")
    values, covered = [], []
    for _ in range(600):
        log = logged(rng, 400)
        found = evaluate(*log[:3], policy_of(400), fit_rewards(log))
        values.append([found[name].value for name in names])
        covered.append([lo <= VALUE <= hi for lo, hi in (found[name].interval() for name in names)])
    values, covered = np.array(values), np.array(covered, float)
    assert_mean(values[:, [0, 2]], VALUE)  # SNIPS has a bias of order 1 / rounds
    assert abs(values[:, 1].mean() - VALUE) < 0.01
    assert np.all(covered.mean(0) > 0.9)
    assert values[:, 2].std() < values[:, 0].std()  # the model removes variance


def test_the_variance_of_ips_is_its_closed_form():
    rng = np.random.default_rng(SEED)
    weights = TARGET / LOGGING
    variance = np.sum(LOGGING * weights**2 * MEANS) - VALUE**2  # E[w^2 r^2] - V^2, r is 0 or 1
    errors = [
        ips(log.rewards, weights[log.actions]).standard_error
        for log in (logged(rng, 500) for _ in range(200))
    ]
    assert_mean(np.array(errors)[:, None] ** 2 * 500, variance)


def test_doubly_robust_needs_only_one_of_propensities_and_model():
    rng = np.random.default_rng(SEED)
    wrong_model, right_model = np.zeros((400, 3)), np.broadcast_to(MEANS, (400, 3))
    values = []
    for _ in range(400):
        log = logged(rng, 400)
        right = importance_weights(TARGET[log.actions], log.propensity)
        args = log.rewards, log.actions, policy_of(400)
        with_right_weights = doubly_robust(args[0], right, args[1], wrong_model, args[2])
        with_right_model = doubly_robust(args[0], 0.3 * right, args[1], right_model, args[2])
        values.append([with_right_weights.value, with_right_model.value])
    assert_mean(np.array(values), VALUE)


def test_errors_are_those_over_runs_where_rounds_depend_on_each_other():
    rng = np.random.default_rng(SEED)
    level = np.repeat(rng.normal(size=50), 20)  # all rounds of a run have the same reward
    runs = np.repeat(np.arange(50), 20)
    error = ips(level, np.ones(1000), runs).standard_error
    assert error == pytest.approx(np.std(level[::20], ddof=1) / np.sqrt(50))
    assert error > 3 * ips(level, np.ones(1000)).standard_error


def test_replay_of_the_logging_policy_has_the_value_of_the_policy():
    rng = np.random.default_rng(SEED)
    log = logged(rng, 3000)
    found = replay(Uniform(), log)
    low, high = found.estimate.interval(0.9999)
    assert low <= MEANS.mean() <= high
    assert (
        0.05 * 3000 < found.matched < 0.15 * 3000
    )  # a third agree, and of the arms .1/.6, .1/.3 and 1 are kept
    greedy = replay(AGENTS["epsilon_greedy"](), log)
    assert greedy.estimate.value > MEANS.mean()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"action": [0, 1], "reward": [1, 0]}, "needs a column propensity .the probability"),
        ({"action": [0.5, 1], "reward": [1, 0], "propensity": [0.5, 0.5]}, "whole numbers from 0 on"),
        ({"action": [0, 1], "reward": ["a", 0], "propensity": [0.5, 0.5]}, "1 values that are no numbers"),
    ],
)
def test_a_log_that_cannot_be_read_says_why(tmp_path, frame, message):
    path = tmp_path / "log.csv"
    pd.DataFrame(frame).to_csv(path, index=False)
    with pytest.raises(InputError, match=message):
        read_log(path)


def test_zero_and_missing_propensities_are_errors():
    with pytest.raises(InputError, match="1 of 2 propensities are zero or negative"):
        importance_weights(np.ones(2), np.array([0.0, 0.5]))
    with pytest.raises(InputError, match="1 of 2 rounds have no propensity"):
        importance_weights(np.ones(2), np.array([np.nan, 0.5]))
    with pytest.raises(InputError, match="above 1"):
        importance_weights(np.ones(2), np.array([1.5, 0.5]))
    log = logged(np.random.default_rng(0), 10)
    with pytest.raises(InputError, match="replay needs the propensity"):
        replay(Uniform(), log._replace(propensity=np.zeros(10)))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_the_open_bandit_data_and_contexts_are_read(tmp_path, suffix):
    frame = pd.DataFrame(
        {"item_id": [0, 2], "click": [0, 1], "propensity_score": [0.5, 0.25], "context_x": [1.0, 3.0]}
    )
    path = tmp_path / f"log{suffix}"
    frame.to_csv(path) if suffix == ".csv" else frame.to_parquet(path)
    log = read_log(path)
    assert log.arms == 3
    np.testing.assert_array_equal(log.propensity, [0.5, 0.25])
    np.testing.assert_array_equal(log.features[1, 2], [0, 0, 0, 0, 1, 3])
