"""Quality against regret, on made-up cells whose answers are known."""

import json

import numpy as np
import pytest
import xarray as xr

from experiments import readings
from experiments.config import resolve, study_names
from experiments.relation import across, around, association_rows, by_round, cheapest, pairs, within
from experiments.statistics import Interval, mean_interval, paired_difference, spearman
from experiments.summary import LOCKED, summarise
from fgtsva_ppl.diagnostics import METRICS

RUNS, ROUNDS, PROBES = 40, 50, (5, 20, 50)


def made_up(cell, level, tv, gradients=20.0, seed=0):
    """A cell with a known regret a round and a known tv; runs share their luck, as common random numbers make them."""
    rng = np.random.default_rng(1)
    luck = rng.gamma(2.0, 1.0, size=(RUNS, 1))
    own = np.random.default_rng(seed).normal(scale=0.01, size=(RUNS, ROUNDS))
    both = ("run", "round")
    variables = {
        "regret": (both, luck + level + own),
        "acceptance": (both, np.full((RUNS, ROUNDS), 0.8)),
        "gradients": (both, np.full((RUNS, ROUNDS), gradients)),
        "diverged": (both, np.zeros((RUNS, ROUNDS), int)),
        "restored": (both, np.zeros((RUNS, ROUNDS), int)),
    }
    attrs = {"seconds": 1.0, "compile_seconds": 2.0, "settings": json.dumps(cell.settings)}
    tree = xr.DataTree(xr.Dataset(variables, {"run": np.arange(RUNS), "round": 1 + np.arange(ROUNDS)}, attrs))
    metrics = {name: (("probed_run", "probe"), np.full((4, len(PROBES)), tv)) for name in METRICS}
    tree["diagnostics"] = xr.DataTree(xr.Dataset(metrics, {"probe": list(PROBES)}))
    return tree


LEVELS = {"exact": 0.0, "sgld": 2.0, "psgld": 0.05, "mala": 0.0, "hmc": 0.001, "nuts": 0.5}


@pytest.fixture(scope="module")
def study():
    names = ",".join(LEVELS)
    cells = resolve([f"sampler={names}", "environment=sparse", f"rounds={ROUNDS}", f"runs={RUNS}"]).cells
    data = {
        cell.id: made_up(cell, LEVELS[name], LEVELS[name] / 10, seed=i)
        for i, cell in enumerate(cells)
        for name in [cell.flat["sampler"]]
    }
    return cells, data


def test_pairs_leave_the_reference_out_and_see_through_shared_luck(study):
    found = pairs(*study)
    assert [pair.cell.flat["sampler"] for pair in found] == [name for name in LEVELS if name != "exact"]
    for pair in found:
        gap = paired_difference(pair.gaps, np.zeros(RUNS))
        assert gap.value == pytest.approx(LEVELS[pair.cell.flat["sampler"]] * ROUNDS, abs=0.1)
        assert gap.high - gap.low < 0.2  # the luck alone would give ten


def test_a_diagnostic_in_the_order_of_the_gap_has_rank_correlation_one(study):
    found = pairs(*study)
    assert across(found, "tv").value == pytest.approx(1.0)
    assert np.isnan(within(found[0], "tv").value)  # it does not vary within a cell


def test_regret_around_a_round(study):
    cells, data = study
    near = around(data[cells[1].id], 20)  # rounds 18 to 22
    regret = data[cells[1].id].dataset["regret"].values[:, 17:22]
    np.testing.assert_allclose(near, regret.mean(axis=1))


def test_rows_by_round_and_by_diagnostic(study):
    found = pairs(*study)
    labels = {pair.cell.id: pair.cell.flat["sampler"] for pair in found}
    rows = by_round(found, labels)
    assert len(rows) == len(found) * len(PROBES)
    assert rows[0]["gap"] == pytest.approx(2.0, abs=0.02)
    assert len(association_rows(found, labels)) == len(METRICS) * (1 + len(found))


def test_cheapest_is_the_least_work_close_to_the_oracle(study):
    cells, data = study
    found = cheapest(pairs(cells, data))
    assert found["sparse", "mala"].gradients == 20
    assert np.isnan(found["sparse", "sgld"].gradients)


def test_summary_tells_heavy_tails(study):
    cells, data = study
    rows = {row["sampler"]: row for row in summarise(cells, data, {})}
    exact = data[cells[0].id].dataset["regret"].values.sum(1)
    for name in ("sgld", "mala"):
        own = next(data[c.id] for c in cells if c.flat["sampler"] == name).dataset["regret"].values.sum(1)
        assert rows[name]["locked_share"] == np.mean(own > LOCKED * exact.mean())
        assert rows[name]["regret_gap_median"] == pytest.approx(np.median(own - exact))


def test_the_default_reading_tells_who_keeps_up_and_who_does_not(study):
    (text,) = readings.read("default", *study)
    even, apart = text.split("95% intervals: ")[1].split(". ", 1)
    assert "mala" in even
    assert "sgld: +100" in apart
    assert "nuts: +25" in apart


@pytest.mark.parametrize("name", ["samplers", "budget", "blindness"])
def test_readings_are_sentences_made_of_the_numbers(study, name):
    text = readings.read(name, *study)
    assert len(text) >= 2
    assert all(sentence.endswith(".") for sentence in text)
    assert any("sgld" in sentence for sentence in text)


def test_blind_spots_are_cells_where_action_and_chain_disagree():
    apart, even = Interval(2.0, 1.0, 3.0), Interval(0.1, -1.0, 1.0)
    cells = [
        readings.Seen("one mode", True, False, Interval(-2.0, -3.0, -1.0)),
        readings.Seen("slow", False, True, even),
        readings.Seen("unlucky", False, False, apart),
        readings.Seen("fine", False, False, even),
    ]
    told = readings._blind_spots(cells)
    assert [sentence.split("(")[1].rstrip(").") for sentence in told] == [
        "one mode",
        "slow",
        "one mode",
        "unlucky",
    ]
    assert readings._blind_spots([cells[3]]) == []


@pytest.mark.parametrize(
    ("helped", "end"),
    [
        ({"exact": True, "sgld": True}, "with exact, sgld: it is an effect of the posterior."),
        (
            {"exact": False, "sgld": True},
            "with sgld, and not with exact draws: it is an effect of the sampler.",
        ),
        ({"exact": False, "sgld": False}, "with no sampler."),
    ],
)
def test_the_bonus_is_an_effect_of_whom_it_helps(helped, end):
    assert readings._whose_effect("sparse", helped).endswith(end)


@pytest.mark.parametrize("name", study_names())
def test_every_study_resolves_and_says_what_it_asks(name):
    study = resolve([f"study={name}", "rounds=2", "runs=2"])
    assert study.cells
    assert study.question.endswith("?")
    sweep = study.layout.sweep
    assert sweep is None or any(sweep in cell.flat for cell in study.cells)


def test_bootstrap_intervals_cover_as_often_as_they_say():
    """300 intervals of 60 exponential values: coverage is 0.95 less a little; binomial, false alarm below 1e-6."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        interval = mean_interval(rng.exponential(size=60))
        hits += interval.low <= 1.0 <= interval.high
    assert 0.85 < hits / 300 < 0.99


def test_spearman_matches_scipy_and_its_interval_holds_it():
    from scipy import stats

    rng = np.random.default_rng(1)
    x = rng.normal(size=80)
    y = x + rng.normal(size=80)
    found = spearman(x, y)
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.low < found.value < found.high
    assert np.isnan(spearman(x[:3], y[:3]).value)


def test_an_infinite_diagnostic_has_a_rank_and_a_missing_one_has_none():
    x = np.array([1.0, 2.0, 3.0, np.inf, np.nan, 2.5])
    y = np.array([1.0, 2.0, 3.0, 9.0, -50.0, 2.5])
    assert spearman(x, y).value == pytest.approx(1)
