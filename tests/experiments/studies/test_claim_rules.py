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


WIDE = (1.0, -9.0, 11.0)  # an interval that decides nothing


def spreads(narrow, wide, growth=0.3):
    numbers = {}
    for spread, more in (("0.5", narrow), ("2", wide)):
        numbers[f"growth exponent, spread {spread}"] = growth
        numbers[f"exponent above that of exact draws, spread {spread}"] = more
        numbers[f"regret over that of exact draws, spread {spread}"] = 1.5
    return numbers


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (spreads(0.0, -0.1), Outcome.SUPPORTED),
        (spreads(0.5, 0.0), Outcome.PARTLY),
        (spreads(0.5, 0.4, growth=1.0), Outcome.NOT_SUPPORTED),
        (spreads(0.5, (0.1, 0.0, 0.3), growth=1.0), Outcome.UNTESTED),
    ],
)
def test_two_divergences(numbers, expected):
    assert outcome("two_divergences", numbers) == expected


def divergences(little=1.0, much=1.0, little_forced=0.3, much_forced=1.0, exact=0.2):
    return {
        "late growth exponent, exact draws": exact,
        "late growth exponent, too little": little,
        "late growth exponent, too much": much,
        "late growth exponent, too little, forced 5/t": little_forced,
        "late growth exponent, too much, forced 5/t": much_forced,
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Outcome.SUPPORTED),
        ({"little": 0.5}, Outcome.PARTLY),
        ({"little": WIDE}, Outcome.PARTLY),
        ({"little": 0.5, "much": 0.5, "little_forced": 1.0, "much_forced": 0.4}, Outcome.NOT_SUPPORTED),
        ({"exact": (0.7, 0.4, 1.0)}, Outcome.UNTESTED),
        (dict.fromkeys(("little", "much", "little_forced", "much_forced"), WIDE), Outcome.UNTESTED),
    ],
)
def test_fixed_divergence(changes, expected):
    assert outcome("fixed_divergence", divergences(**changes)) == expected


def steps(warm, cold, growth=0.3):
    numbers = {f"regret over exact, warm start, K={k}": value for k, value in warm.items()}
    numbers |= {f"regret over exact, cold start, K={k}": value for k, value in cold.items()}
    numbers |= {
        f"cold start over warm start, K={k}": WIDE if WIDE in (warm[k], cold[k]) else cold[k] / warm[k]
        for k in warm
    }
    return numbers | {f"growth exponent, warm start, K={k}": growth for k in warm}


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (steps({1: 2.0, 5: 1.1, 100: 1.0}, {1: 9.0, 5: 3.0, 100: 1.0}), Outcome.SUPPORTED),
        (steps({1: 2.0, 5: 1.1, 100: 1.0}, {1: 2.0, 5: 1.1, 100: 1.0}), Outcome.PARTLY),
        (steps({1: 9.0, 5: 5.0, 100: 1.8}, {1: 9.0, 5: 5.0, 100: 1.8}, 0.9), Outcome.NOT_SUPPORTED),
        (steps({1: WIDE, 5: WIDE}, {1: WIDE, 5: WIDE}, WIDE), Outcome.UNTESTED),
    ],
)
def test_constant_steps(numbers, expected):
    assert outcome("constant_steps", numbers) == expected


@pytest.mark.parametrize(
    ("plain", "preconditioned", "expected"),
    [
        (0.6, 0.0, Outcome.SUPPORTED),
        (0.6, 0.5, Outcome.PARTLY),
        (0.6, (0.3, -0.2, 0.8), Outcome.PARTLY),
        (-0.1, 0.5, Outcome.NOT_SUPPORTED),
        ((0.3, -0.2, 0.8), 0.5, Outcome.UNTESTED),
    ],
)
def test_condition_number(plain, preconditioned, expected):
    numbers = {
        "slope in the condition number, plain": plain,
        "slope in the condition number, preconditioned": preconditioned,
    }
    assert outcome("condition_number", numbers) == expected


@pytest.mark.parametrize(
    ("exact", "rough", "best", "least", "expected"),
    [
        (0.7, 1.5, 0.1, 0.0, Outcome.SUPPORTED),
        (0.7, 0.5, 0.1, 0.1, Outcome.PARTLY),
        (1.1, 0.5, 0.0, 0.1, Outcome.NOT_SUPPORTED),
        (WIDE, WIDE, (0.1, 0.0, 1.0), (0.0, 0.0, 0.1), Outcome.UNTESTED),
    ],
)
def test_bonus_accuracy(exact, rough, best, least, expected):
    numbers = {
        "sparse, exact draws, c=0.1": exact,
        "sparse, best c, exact draws": best,
        "sparse, K=1, the least accurate, c=0.1": rough,
        "sparse, best c, the least accurate": least,
    }
    assert outcome("bonus_accuracy", numbers) == expected


UNKNOWN = (float("nan"),) * 3


def dimensions(over, under, warm=UNKNOWN):
    return {
        "slope in d, overdamped, warm start": warm,
        "slope in d, underdamped, warm start": warm,
        "slope in d, overdamped, cold start": over,
        "slope in d, underdamped, cold start": under,
    }


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (dimensions(1.0, 0.5), Outcome.SUPPORTED),
        (dimensions(0.6, 0.2), Outcome.PARTLY),
        (dimensions(0.2, 0.9), Outcome.NOT_SUPPORTED),
        (dimensions(WIDE, WIDE), Outcome.UNTESTED),
        (dimensions(UNKNOWN, UNKNOWN), Outcome.UNTESTED),
        (dimensions(0.2, (0.9, -float("inf"), float("inf"))), Outcome.UNTESTED),
        (dimensions(UNKNOWN, 0.5), Outcome.UNTESTED),
        (dimensions(1.0, 0.5, warm=(0.0, 0.0, 0.0)), Outcome.PARTLY),
    ],
)
def test_underdamped(numbers, expected):
    assert outcome("underdamped", numbers) == expected


def ensembles(one=1.0, two=0.95, enough=1.1, least=20.0):
    return {
        "late growth exponent, ensemble, 1 members": one,
        "late growth exponent, ensemble, 2 members": two,
        "regret over exact, ensemble, 1 members": 9.0,
        "regret over exact, ensemble, 32 members": enough,
        "regret over exact, Ensemble++, 32 members": 9.0,
        "least members, ensemble": least,
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Outcome.SUPPORTED),
        ({"enough": 2.0}, Outcome.PARTLY),
        ({"one": 0.4, "two": 0.4, "enough": 2.0}, Outcome.NOT_SUPPORTED),
        ({"one": WIDE, "two": 0.4, "enough": 2.0}, Outcome.UNTESTED),
    ],
)
def test_ensemble_size(changes, expected):
    assert outcome("ensemble_size", ensembles(**changes)) == expected


def members(excess=0.01, dims=1.0, arms=0.0, plus=4.0, plain=20.0):
    at = "d=40, 1,000 arms"
    return {
        f"least members, Ensemble++, {at}": plus,
        f"least members, ensemble, {at}": plain,
        "excess regret per round, Ensemble++, 8 members, d=50, 10,000 arms": excess,
        "slope of the least members in d": dims,
        "slope of the least members in the arms": arms,
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"excess": (0.01, 0.0, 0.015)}, Outcome.SUPPORTED),
        ({"excess": 0.1}, Outcome.PARTLY),
        ({"excess": -0.1, "dims": 0.0, "arms": 1.0, "plus": 30.0}, Outcome.NOT_SUPPORTED),
        ({"excess": 0.1, "dims": WIDE, "arms": 1.0, "plus": 30.0}, Outcome.UNTESTED),
        ({"excess": 0.1, "dims": (float("nan"),) * 3, "arms": 1.0, "plus": 30.0}, Outcome.UNTESTED),
    ],
)
def test_ensemble_plus_plus(changes, expected):
    assert outcome("ensemble_plus_plus", members(**changes)) == expected


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
        (refreshes((2.5, 1.0, 4.0), growth=0.5, fewer=2.0), Outcome.UNTESTED),
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
        (WIDE, WIDE, WIDE, Outcome.UNTESTED),
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
        ((WIDE, WIDE), (WIDE, WIDE), Outcome.UNTESTED),
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
        ((WIDE, WIDE), (1.0, 1.0), Outcome.UNTESTED),
    ],
)
def test_showdown_linear(published, one, expected):
    assert outcome("showdown_linear", showdown(published, one)) == expected


@pytest.mark.parametrize(
    ("joint", "marginal", "more", "expected"),
    [
        (0.9, (0.1, -0.3, 0.4), 0.8, Outcome.SUPPORTED),
        (0.9, (0.85, 0.7, 0.95), 0.05, Outcome.PARTLY),
        (0.3, 0.8, -0.5, Outcome.NOT_SUPPORTED),
        ((0.3, -0.5, 0.8), (0.1, -0.4, 0.7), 0.2, Outcome.UNTESTED),
        ((0.6, 0.2, 0.8), (0.5, 0.1, 0.7), (0.1, -0.2, 0.4), Outcome.UNTESTED),
    ],
)
def test_joint_predictions(joint, marginal, more, expected):
    numbers = {
        "joint log-loss, 10 arms": joint,
        "marginal log-loss, 1 arm": marginal,
        "joint less marginal, difference of correlations": more,
    }
    assert outcome("joint_predictions", numbers) == expected


@pytest.mark.parametrize(
    ("times", "faster", "expected"),
    [
        (1.2, 0.0, Outcome.SUPPORTED),
        (1.2, 0.4, Outcome.PARTLY),
        (4.0, 0.4, Outcome.NOT_SUPPORTED),
        (4.0, WIDE, Outcome.UNTESTED),
    ],
)
def test_variational(times, faster, expected):
    numbers = {
        "regret over exact, full covariance, 20 steps": times,
        "growth exponent less that of exact draws, full covariance, 20 steps": faster,
        "regret over exact, diagonal, 20 steps": 9.0,
    }
    assert outcome("variational", numbers) == expected


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ((0.5, 0.5, 0.5, 0.5), Outcome.SUPPORTED),
        ((0.5, 2.0, 2.0, 2.0), Outcome.PARTLY),
        ((2.0, 2.0, 2.0, 2.0), Outcome.NOT_SUPPORTED),
        ((2.0, WIDE, 2.0, 2.0), Outcome.UNTESTED),
    ],
)
def test_published_ulmc(ratios, expected):
    variants = (
        "as published",
        "without the append",
        "with the right sign",
        "with the right sign and without the append",
    )
    numbers = {f"underdamped over overdamped, {v}": r for v, r in zip(variants, ratios, strict=True)}
    assert outcome("published_ulmc", numbers) == expected


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
    beside = {"logistic: regret of LMC-TS over that of lints": 9.0}  # of which nothing is claimed
    assert outcome("langevin_neural", numbers | beside) == expected
    assert outcome("langevin_neural", beside) == Outcome.UNTESTED


def test_every_rule_has_a_test():
    """Here, or in another file of this folder that names its study."""
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    for name in claim_names():
        assert f"def test_{name.removeprefix('claims/')}(" in text or f'RULES["{name}"]' in text, name
