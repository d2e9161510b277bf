"""The studies `drift`, `delay`, `batches` and `propensity`: sentences, tables and figures from known numbers."""

import json

import numpy as np
import pytest
import xarray as xr
from helpers.montecarlo import SEED

from experiments.analysis.claims import Outcome
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.compose import compose
from experiments.studies import figures, findings, tables
from experiments.studies.batches.schedules import rarest, schedules
from experiments.studies.claims import RULES
from experiments.studies.drift.recovery import recoveries, rounds_until_back
from experiments.studies.propensity import biases
from experiments.studies.propensity.biases import Logged, total_variation
from experiments.studies.propensity.figures import bias_by_error
from experiments.studies.propensity.findings import findings as propensity_findings

RUNS = 30
SHARED = np.random.default_rng(SEED).gamma(
    4.0, 0.25, size=(RUNS, 1)
)  # of all cells, as common random numbers are
SHARED /= SHARED.mean()


def tree(cell, regret, gradients=0.0, **diagnostics):
    """A cell with this regret in each record."""
    records = cell.rounds // cell.record_every
    own = np.random.default_rng(int(cell.id, 16)).normal(scale=1e-3, size=(RUNS, records))
    both, shape = ("run", "round"), (RUNS, records)
    arrays = {
        "regret": (both, SHARED * np.broadcast_to(regret, shape) + own),
        "num_gradients": (both, np.full(shape, gradients)),
    }
    rounds = cell.record_every * (1 + np.arange(records))
    attrs = {"settings": json.dumps(cell.settings)}
    found = xr.DataTree(xr.Dataset(arrays, {"run": np.arange(RUNS), "round": rounds}, attrs))
    if diagnostics:
        probes = diagnostics.pop("probes")
        columns = {name: (("probed_run", "probe"), value) for name, value in diagnostics.items()}
        found["diagnostics"] = xr.DataTree(xr.Dataset(columns, {"probe": probes}))
    return found


def results_of(name, make):
    cells = compose([f"study={name}"]).cells
    return StudyResults.from_cells(name, cells, {cell.id: make(cell) for cell in cells})


def jumped(rise, cost, cold=0.5):
    """Warm sgld's TV rises by `rise` for 15 rounds; sgld and a cold start cost regret; no discount costs 3 a round."""
    probes = np.array([225, 250, 254, 264, 280, 312, 376])

    def make(cell):
        since, flat = probes - 251, cell.flat
        noise = np.random.default_rng(int(cell.id, 16)).normal(scale=0.01, size=(RUNS, len(probes)))
        warm_sgld = flat["sampler"] == "sgld" and flat["agent.warm_start"] and not flat["agent.restart_every"]
        tv = 0.05 + noise + np.where((since > 0) & (since < 16) & warm_sgld, rise, 0.0)
        after = np.arange(1, cell.rounds + 1) >= 251
        level = 1.0 + after * (3.0 * (flat.get("posterior.discount") is None) + cost * warm_sgld)
        level = level + cold * after * (not flat["agent.warm_start"])
        return tree(
            cell, level, probes=probes, total_variation=tv, total_variation_floor=np.full(tv.shape, 0.03)
        )

    return results_of("drift", make)


def test_drift_says_who_falls_behind_and_for_how_long():
    results = jumped(rise=0.2, cost=0.4)
    behind, anew, forgetting = findings(results)
    assert behind.startswith(
        "After the jump sgld, warm, falls furthest behind the oracle: its action-TV rises by +0.20 "
    )
    assert "is back at its floor within 29 rounds, at +100" in behind
    assert anew.startswith("Starting anew helps after the jump: with sgld, restarted, regret changes by -100")
    assert forgetting.startswith(
        "Forgetting matters more than sampling: without the discount of 0.98 exact draws add +750"
    )
    table = tables(results)["recovery"].frame.set_index(["sampler", "start"])
    assert table.loc[("sgld", "warm"), "rounds_until_back"] == "29"
    assert table.loc[("smc", "particles carried over"), "rounds_until_back"] == "0"
    assert table.loc[("mala", "cold"), "gap_after"] == pytest.approx(125, rel=0.1)


def test_drift_says_when_warm_starts_are_safe():
    safe, anew, _ = findings(jumped(rise=0.0, cost=0.0))
    assert safe.startswith("A warm start is safe here")
    assert anew.startswith("No start from the prior has less regret after the jump")
    figure = figures(jumped(rise=0.0, cost=0.0))["recovery"].draw()
    left, right = figure.axes
    assert len(right.lines) == 8 + 1  # all but the reference, and zero
    assert left.get_xscale() == "symlog"


@pytest.mark.parametrize(
    ("rises", "expected"),
    [
        ({1: (0.1, 0.05, 0.2), 5: (0.1, 0.01, 0.2), 9: (0.0, -0.1, 0.1)}, 9),
        ({1: (0.1, -0.05, 0.2), 5: (0.0, -0.1, 0.2)}, 0),
        ({1: (0.0, -0.1, 0.1), 5: (0.1, 0.05, 0.2)}, None),
        ({1: (0.1, 0.05, 0.2), 5: (0.0, -0.1, 0.1), 9: (0.1, 0.05, 0.2), 20: (0.0, -0.1, 0.1)}, 20),
    ],
)
def test_rounds_until_no_rise_is_certain(rises, expected):
    assert rounds_until_back({since: Interval(*rise) for since, rise in rises.items()}) == expected


def delayed(late):
    """Regret falls as 1/t; a delay costs its length, `late` of it in the second half."""

    def make(cell):
        records = cell.rounds // cell.record_every
        regret, cost = 1 / (1 + np.arange(records)), np.zeros(records)
        cost[records // 4], cost[3 * records // 4] = 1 - late, late
        return tree(cell, regret + cell.flat["feedback.delay"] * cost)

    return results_of("delay", make)


@pytest.mark.parametrize(
    ("late", "verdict"),
    [(0.0, "the additive cost of theory shows: 0% of it"), (0.6, "the cost is not additive: 60%")],
)
def test_delay_says_whether_its_cost_is_additive(late, verdict):
    results = delayed(late)
    sentences = findings(results)
    assert len(sentences) == 2
    assert sentences[0].startswith("With exact draws a delay of 100 rounds costs +")
    assert all(verdict in sentence for sentence in sentences)
    table = tables(results)["delays"].frame
    assert len(table) == 2 * 3 + 2
    np.testing.assert_allclose(table["late_share"], late, atol=0.05)


def test_delay_draws_its_cost():
    left, right = figures(delayed(0.0))["delay"].draw().axes
    assert len(left.containers) == 2 + 2
    assert len(right.lines) == 2 * 2 + 1


def scheduled(limit):
    """Regret doubles beyond m = `limit`; batches of rewards cost nothing."""

    def make(cell):
        period = cell.flat.get("agent.refresh.period", 1)
        gradients = 0.0 if cell.flat["sampler"] == "exact" else 50 / period
        return tree(cell, 2.0 if period > limit else 1.0, gradients)

    return results_of("batches", make)


def test_batches_says_how_rarely_the_posterior_can_be_sampled():
    results = scheduled(10)
    exact, approximate, batches = findings(results)
    assert exact.startswith(
        "With exact draws regret stays within 10% up to a draw every 10 rounds; every 100 rounds"
    )
    assert "every 10 rounds, for 10 times fewer gradients; every 100 rounds it is 2.00 [" in approximate
    assert batches.startswith("A kept draw costs more than late data: with rewards in batches of 100 rounds")
    left, right = figures(results)["batches"].draw().axes
    assert len(left.containers) == 3 + 1
    assert len(right.containers) == 2
    line = [one for one in schedules(results) if one.sampler == "sgld"]
    assert rarest(line).every == 10
    assert "is not certainly within 10%" in findings(scheduled(1))[0]
    assert "can be sampled every 100 rounds" in findings(scheduled(100))[0]
    assert len(tables(results)["schedules"].frame) == 3 * 5 + 2


def synthetic_logs(own, posterior, robust=0.0):
    rng = np.random.default_rng(SEED)

    def found(name, level, error):
        def bias(value):
            return value + 0.01 * rng.normal(size=200)

        return Logged(
            name,
            np.full(200, error),
            {
                source: {"ips": bias(value), "snips": bias(value), "doubly_robust": bias(robust * value)}
                for source, value in (("replicas", own * level), ("posterior", posterior * level))
            },
            0.4,
        )

    return [found("exact draws", 0.0, 0.02), found("control spread=0.5", 1.0, 0.2), found("sgld", 0.5, 0.1)]


def test_propensity_says_whose_propensities_bias_the_estimate(monkeypatch):
    logs = synthetic_logs(own=0.0, posterior=0.2)
    monkeypatch.setattr("experiments.studies.propensity.findings.logged", lambda results: logs)
    own, posterior, robust = propensity_findings(None)
    assert "none of 3 samplers has a certain bias of the IPS estimate, however wrong" in own
    assert "bias IPS for 2 of 3 samplers: most for control spread=0.5, +0.20" in posterior
    assert robust.startswith("There the doubly robust estimate removes that bias")
    logs = synthetic_logs(own=0.1, posterior=0.2, robust=0.5)
    own, _, robust = propensity_findings(None)
    assert "2 of 3 samplers have a certain bias" in own
    assert robust.startswith("There the doubly robust estimate leaves a bias: +0.10")


def test_propensity_figure_has_a_row_per_sampler(monkeypatch):
    monkeypatch.setattr(
        "experiments.studies.propensity.figures.logged", lambda results: synthetic_logs(0.0, 0.2)
    )
    left, right = bias_by_error(None).axes
    assert [label.get_text() for label in left.get_yticklabels()] == [
        "exact draws",
        "sgld",
        "control spread=0.5",
    ]
    assert len(right.containers) == 3


def test_total_variation_from_played_arms():
    """Of p = (.7, .3) and q = (.4, .6), with arms played as often as p says."""
    own = np.array([[0.7] * 7 + [0.3] * 3])
    exact = np.array([[0.4] * 7 + [0.6] * 3])
    np.testing.assert_allclose(total_variation(own, exact), [0.3])


@pytest.mark.parametrize("source", ["replicas", "posterior"])
def test_biases_are_those_of_the_log(source, monkeypatch):
    """Arms played with probabilities .8 and .2; right propensities have no bias, equal ones the log's."""
    from fgtsva_ppl.evaluation import Log

    rng, rounds = np.random.default_rng(SEED), 400
    actions = (rng.random(RUNS * rounds) < 0.2).astype(int)
    means = np.broadcast_to(np.array([1.0, 0.0]), (RUNS * rounds, 2))
    propensity = np.where(actions == 0, 0.8, 0.2) if source == "replicas" else np.full(len(actions), 0.5)
    features = np.broadcast_to(np.eye(2), (RUNS * rounds, 2, 2))
    log = Log(actions, means[0][actions], propensity, features, np.repeat(np.arange(RUNS), rounds))
    monkeypatch.setattr(biases, "log_of_cell", lambda cell, data: (log, means, None))
    cell = compose(["study=propensity"]).cells[0]
    results = StudyResults.from_cells("propensity", [cell], {cell.id: None})
    found, scale = biases.biases(cell, results)
    assert scale == 0.5
    assert found["ips"].mean() == pytest.approx(0.0 if source == "replicas" else 0.3, abs=0.02)
    assert abs(found["doubly_robust"].mean()) < 0.02


@pytest.mark.parametrize(
    ("chain", "static", "expected"),
    [(1.0, 0.6, Outcome.SUPPORTED), (1.5, 0.6, Outcome.PARTLY), ((1.2, 1.0, 1.4), 0.6, Outcome.UNTESTED)],
)
def test_smc_drift(chain, static, expected):
    numbers = {
        "regret of SMC over that of a long chain": interval(chain),
        "regret of SMC over that without forgetting": interval(static),
        "regret of SMC over that of uniform play": interval(0.3),
    }
    assert RULES["claims/smc_drift"].judge(numbers).outcome == expected


@pytest.mark.parametrize(
    ("late", "exponent", "expected"),
    [
        (-0.3, 0.9, Outcome.SUPPORTED),
        (0.1, 0.9, Outcome.PARTLY),
        (0.1, 1.8, Outcome.NOT_SUPPORTED),
    ],
)
def test_additive_delay(late, exponent, expected):
    numbers = {}
    for name in ("exact", "sgld"):
        numbers[f"cost of the longest delay, {name}"] = interval(10.0)
        numbers[f"late share of the cost less that of regret, {name}"] = interval(late)
        numbers[f"exponent of the cost in the delay, {name}"] = interval(exponent)
    rule = RULES["claims/additive_delay"]
    assert rule.judge(numbers).outcome == expected
    numbers["cost of the longest delay, sgld"] = Interval(0.1, -0.2, 0.4)
    assert rule.judge(numbers).outcome == Outcome.UNTESTED


def test_additive_delay_measures_what_the_study_of_delays_does():
    cells = compose(["study=claims/additive_delay"]).cells

    def make(cell):
        records = cell.rounds // cell.record_every
        cost = np.where(np.arange(records) == 5, cell.flat["feedback.delay"], 0.0)
        return tree(cell, 1 / (1 + np.arange(records)) + cost)

    name = "claims/additive_delay"
    results = StudyResults.from_cells(name, cells, {cell.id: make(cell) for cell in cells})
    numbers = RULES[name].measure(results)
    assert numbers["exponent of the cost in the delay, exact"].value == pytest.approx(1.0, abs=0.02)
    assert RULES[name].judge(numbers).outcome == Outcome.SUPPORTED
    assert len(RULES[name].figure(results).axes) == 2


def interval(number):
    """A number that is certain, or one with its ends."""
    return Interval(*number) if isinstance(number, tuple) else Interval(number, number - 0.02, number + 0.02)


def test_a_certain_rise_counts_before_a_larger_one_that_is_not():
    """One probe's mean is larger because of one run; the rise of another is certain."""
    found = recoveries(jumped(rise=0.2, cost=0.4))
    warm = next(one for one in found if one.name == "sgld, warm")
    excess = warm.excess.copy()
    excess[0, 5] += 30.0  # where there is no rise
    rises = warm._replace(excess=excess)
    assert max(rises.rises.values(), key=lambda rise: rise.value).low <= 0
    assert rises.peak.value == pytest.approx(0.2, abs=0.02)
