"""The rule of each published claim, on made-up numbers that give each of its outcomes."""

from pathlib import Path

import pytest

from experiments.analysis.claims import Outcome
from experiments.analysis.statistics import Interval
from experiments.config.study_files import claim_names
from experiments.studies.claims import RULES


def outcome(name, numbers):
    """The outcome of a rule; a number without an interval has a narrow one."""
    given = {
        key: Interval(*value) if isinstance(value, tuple) else Interval(value, value - 0.01, value + 0.01)
        for key, value in numbers.items()
    }
    judgement = RULES[f"claims/{name}"].judge(given)
    assert judgement.sentence.endswith(".")
    return judgement.outcome


def spreads(narrow, wide):
    return {
        "growth exponent, spread 0.5, less that of exact draws": narrow,
        "regret, spread 0.5, over that of exact draws": 0.9,
        "growth exponent, spread 2, less that of exact draws": wide,
        "regret, spread 2, over that of exact draws": 2.0,
    }


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        (0.0, -0.1, Outcome.SUPPORTED),
        (0.5, 0.0, Outcome.PARTLY),
        (0.5, 0.4, Outcome.NOT_SUPPORTED),
        (0.0, (0.1, 0.0, 0.3), Outcome.UNTESTED),
    ],
)
def test_two_divergences(narrow, wide, expected):
    assert outcome("two_divergences", spreads(narrow, wide)) == expected


def divergences(little=1.0, much=1.0, little_forced=0.3, much_forced=1.0, exact=0.2):
    return {
        "growth exponent, exact draws": exact,
        "growth exponent, too little": little,
        "growth exponent, too much": much,
        "growth exponent, too little, forced exploration": little_forced,
        "growth exponent, too much, forced exploration": much_forced,
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Outcome.SUPPORTED),
        ({"little": 0.5}, Outcome.PARTLY),
        ({"little": 0.5, "much": 0.5, "little_forced": 1.0, "much_forced": 0.4}, Outcome.NOT_SUPPORTED),
        ({"exact": (0.7, 0.4, 1.0)}, Outcome.UNTESTED),
    ],
)
def test_fixed_divergence(changes, expected):
    assert outcome("fixed_divergence", divergences(**changes)) == expected


def steps(warm, cold, growth=0.3):
    numbers = {f"regret over exact, warm start, K={k}": value for k, value in warm.items()}
    numbers |= {f"regret over exact, cold start, K={k}": value for k, value in cold.items()}
    return numbers | {f"growth exponent, warm start, K={k}": growth for k in warm}


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (steps({1: 2.0, 5: 1.1, 100: 1.0}, {1: 9.0, 5: 3.0, 100: 1.0}), Outcome.SUPPORTED),
        (steps({1: 2.0, 5: 1.1, 100: 1.0}, {1: 2.0, 5: 1.1, 100: 1.0}), Outcome.PARTLY),
        (steps({1: 9.0, 5: 5.0, 100: 1.8}, {1: 9.0, 5: 5.0, 100: 1.8}), Outcome.NOT_SUPPORTED),
        (steps({1: (1.6, 1.2, 2), 5: (1.5, 1.1, 2)}, {1: 9.0, 5: 5.0}), Outcome.UNTESTED),
    ],
)
def test_constant_steps(numbers, expected):
    assert outcome("constant_steps", numbers) == expected


@pytest.mark.parametrize(
    ("plain", "preconditioned", "expected"),
    [
        (0.6, 0.0, Outcome.SUPPORTED),
        (0.6, 0.5, Outcome.PARTLY),
        (-0.1, 0.5, Outcome.NOT_SUPPORTED),
        ((0.3, -0.2, 0.8), 0.0, Outcome.UNTESTED),
    ],
)
def test_condition_number(plain, preconditioned, expected):
    numbers = {
        "slope in the condition number, plain": plain,
        "slope in the condition number, preconditioned": preconditioned,
    }
    assert outcome("condition_number", numbers) == expected


@pytest.mark.parametrize(
    ("exact", "rough", "expected"),
    [
        (0.7, 1.5, Outcome.SUPPORTED),
        (0.7, 0.5, Outcome.PARTLY),
        (1.0, 0.5, Outcome.NOT_SUPPORTED),
    ],
)
def test_bonus_accuracy(exact, rough, expected):
    numbers = {"sparse, exact draws, c=0.1": exact, "sparse, K=1, the least accurate, c=0.1": rough}
    assert outcome("bonus_accuracy", numbers) == expected


def dimensions(over, under, least=4.0):
    return {
        "least steps, overdamped, d=5": least,
        "slope in d, overdamped": over,
        "slope in d, underdamped": under,
    }


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (dimensions(1.0, 0.5), Outcome.SUPPORTED),
        (dimensions(0.6, 0.2), Outcome.PARTLY),
        (dimensions(0.2, 0.6), Outcome.NOT_SUPPORTED),
        (dimensions(0.0, 0.0, least=(1.0, 1.0, 1.0)), Outcome.UNTESTED),
        (dimensions(1.0, (0.5, -float("inf"), float("inf"))), Outcome.UNTESTED),
        (dimensions(1.0, 0.5, least=(float("inf"), 4.0, float("inf"))), Outcome.UNTESTED),
    ],
)
def test_underdamped(numbers, expected):
    assert outcome("underdamped", numbers) == expected


def ensembles(smallest=1.0, enough=1.1, few=1.1, plain=20.0, plus=6.0):
    return {
        "growth exponent, ensemble, 1 members": smallest,
        "regret over exact, ensemble, 1 members": 9.0,
        "regret over exact, ensemble, 32 members": enough,
        "regret over exact, Ensemble++, 8 members": few,
        "least members, ensemble": plain,
        "least members, Ensemble++": plus,
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Outcome.SUPPORTED),
        ({"few": 2.0}, Outcome.PARTLY),
        ({"smallest": 0.4, "enough": 2.0, "few": 2.0, "plus": 30.0}, Outcome.NOT_SUPPORTED),
    ],
)
def test_ensemble_size(changes, expected):
    assert outcome("ensemble_size", ensembles(**changes)) == expected


def refreshes(regret, growth=0.0, fewer=100.0):
    return {
        "regret over every round, doubling": regret,
        "growth exponent less that of every round, doubling": growth,
        "gradients of every round over its own, doubling": fewer,
    }


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (refreshes(1.5), Outcome.SUPPORTED),
        (refreshes(1.5, growth=0.5), Outcome.PARTLY),
        (refreshes(9.0, growth=0.5, fewer=2.0), Outcome.NOT_SUPPORTED),
        (refreshes((2.5, 1.0, 4.0)), Outcome.UNTESTED),
    ],
)
def test_doubling_refresh(numbers, expected):
    assert outcome("doubling_refresh", numbers) == expected


@pytest.mark.parametrize(
    ("ts", "fgts", "times", "expected"),
    [
        (0.95, 0.3, 4.0, Outcome.SUPPORTED),
        (0.5, 0.3, 4.0, Outcome.PARTLY),
        (0.5, 0.9, 0.5, Outcome.NOT_SUPPORTED),
    ],
)
def test_pessimistic_class(ts, fgts, times, expected):
    numbers = {
        "growth exponent, TS": ts,
        "growth exponent, FGTS-A": fgts,
        "regret of TS over that of FGTS-A": times,
    }
    assert outcome("pessimistic_class", numbers) == expected


def averaged(exact, others):
    numbers = {}
    for name, value, other in zip(
        ("new noise at each decision", "noise only in the step"), exact, others, strict=True
    ):
        numbers[f"regret over exact, TS-SA-style, {name}"] = value
        numbers[f"regret over plain steps, TS-SA-style, {name}"] = other
        numbers[f"regret over steps per arm, TS-SA-style, {name}"] = other
    return numbers


@pytest.mark.parametrize(
    ("exact", "others", "expected"),
    [
        ((1.1, 1.2), (0.5, 0.6), Outcome.SUPPORTED),
        ((1.1, 9.0), (0.5, 3.0), Outcome.PARTLY),
        ((5.0, 9.0), (2.0, 3.0), Outcome.NOT_SUPPORTED),
    ],
)
def test_averaged_steps(exact, others, expected):
    assert outcome("averaged_steps", averaged(exact, others)) == expected


def showdown(published, one):
    numbers = {}
    for level, (lmc, bonus) in {"as published": published, "one posterior": one}.items():
        numbers[f"LMC over exact, {level}"] = lmc
        numbers[f"FG-LMC over LMC, {level}"] = bonus
    return numbers


@pytest.mark.parametrize(
    ("published", "one", "expected"),
    [
        ((0.5, 3.0), (0.5, 3.0), Outcome.SUPPORTED),
        ((0.5, 3.0), (1.0, 1.0), Outcome.PARTLY),
        ((1.0, 1.0), (1.0, 1.0), Outcome.NOT_SUPPORTED),
    ],
)
def test_showdown_linear(published, one, expected):
    assert outcome("showdown_linear", showdown(published, one)) == expected


@pytest.mark.parametrize(
    ("joint", "marginal", "expected"),
    [
        (0.9, (0.1, -0.3, 0.4), Outcome.SUPPORTED),
        (0.9, (0.85, 0.7, 0.95), Outcome.PARTLY),
        (0.3, 0.8, Outcome.NOT_SUPPORTED),
        ((0.3, -0.5, 0.8), (0.1, -0.4, 0.7), Outcome.UNTESTED),
    ],
)
def test_joint_predictions(joint, marginal, expected):
    numbers = {"joint log-loss, 10 arms": joint, "marginal log-loss, 1 arm": marginal}
    assert outcome("joint_predictions", numbers) == expected


def shares(published, adam):
    deltas = ("0.5", "0.95")
    return {
        f"{name}, delta={delta}": share
        for name, own in (("published settings", published), ("Adam", adam))
        for delta, share in zip(deltas, own, strict=True)
    }


@pytest.mark.parametrize(
    ("published", "adam", "expected"),
    [
        ((0.9, 10.0), (1.0, 12.0), Outcome.SUPPORTED),
        ((0.9, 40.0), (1.0, 12.0), Outcome.PARTLY),
        ((90.0, 80.0), (70.0, (60.0, 50.0, 75.0)), Outcome.NOT_SUPPORTED),
    ],
)
def test_wheel_neural_linear(published, adam, expected):
    assert outcome("wheel_neural_linear", shares(published, adam)) == expected
    assert outcome("wheel_neural_linear", {}) == Outcome.UNTESTED


@pytest.mark.parametrize(
    ("linear", "neural", "expected"),
    [
        (1.1, 0.8, Outcome.SUPPORTED),
        (1.1, (0.9, 0.8, 1.1), Outcome.PARTLY),
        (1.5, 1.2, Outcome.NOT_SUPPORTED),
    ],
)
def test_langevin_neural(linear, neural, expected):
    numbers = {
        "contextual: regret of LMC-TS over that of lints": linear,
        "quadratic: regret of LMC-TS over that of neural_ts": neural,
    }
    assert outcome("langevin_neural", numbers) == expected
    assert outcome("langevin_neural", {}) == Outcome.UNTESTED


def test_every_rule_has_a_test():
    """Here, or in another file of this folder that names its study."""
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    for name in claim_names():
        assert f"def test_{name.removeprefix('claims/')}(" in text or f'RULES["{name}"]' in text, name
