"""Quality against regret, on made-up cells whose answers are known."""

import json
import re
from io import StringIO

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

from experiments import blindness, display, gains, readings, sweeps
from experiments.config import resolve, study_names
from experiments.relation import (
    _least,
    across,
    around,
    association_rows,
    by_round,
    cheapest,
    cost_rows,
    pairs,
    within,
)
from experiments.statistics import Interval, mean_interval, paired_difference, spearman
from experiments.summary import LOCKED, summarise
from fgtsva_ppl.diagnostics import METRICS

RUNS, ROUNDS, PROBES = 40, 50, (5, 20, 50)


def made_up(cell, level, tv, gradients=20.0, seed=0, condition=None):
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
    if condition is not None:
        metrics["condition"] = (("probed_run", "probe"), np.full((4, len(PROBES)), condition))
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


def test_association_across_samplers_ranks_within_environments():
    """Every sampler has more TV and less of a gap in the one environment: pooled, the order would be turned round."""
    names = ",".join(LEVELS)
    cells = resolve(
        [f"sampler={names}", "environment=sparse,dense", f"rounds={ROUNDS}", f"runs={RUNS}"]
    ).cells

    def tree(i, cell):
        level, dense = LEVELS[cell.flat["sampler"]], cell.flat["environment"] == "dense"
        far = cell.flat["sampler"] != "exact"
        return made_up(cell, level + 10 * far * (not dense), level / 10 + dense, seed=i)

    found = pairs(cells, {cell.id: tree(i, cell) for i, cell in enumerate(cells)})
    assert across(found, "tv") == (1, 1, 1)


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
    assert found["sparse", "mala"].gradients == (20, 20, 20)
    assert found["sparse", "mala"].seconds == (1, 1, 1)
    assert found["sparse", "sgld"].gradients == (np.inf,) * 3
    assert found["sparse", "mala"].work == "steps + 1"
    rows = cost_rows(pairs(cells, data))
    assert [row["sampler"] for row in rows] == [name for name in LEVELS if name != "exact"]
    assert rows[2]["gradients_high"] == 20


def test_the_cost_of_closeness_tells_what_the_intervals_leave_open():
    work = [5.0, 10.0, 20.0, 40.0]
    ratios = [
        Interval(1.5, 1.2, 1.8),
        Interval(1.15, 1.0, 1.3),
        Interval(1.05, 0.95, 1.15),
        Interval(1, 0.95, 1.05),
    ]
    assert _least(work, ratios, 1.1) == Interval(20, 10, 40)
    assert _least(work[:2], ratios[:2], 1.1) == Interval(np.inf, 10, np.inf)


def test_summary_tells_heavy_tails(study):
    cells, data = study
    rows = {row["sampler"]: row for row in summarise(cells, data, {})}
    exact = data[cells[0].id].dataset["regret"].values.sum(1)
    for name in ("exact", "sgld", "mala"):
        own = next(data[c.id] for c in cells if c.flat["sampler"] == name).dataset["regret"].values.sum(1)
        assert rows[name]["locked_share"] == np.mean(own > LOCKED * exact.mean())
        if name != "exact":
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
        blindness.Seen("one mode", True, False, True, Interval(-2.0, -3.0, -1.0)),
        blindness.Seen("slow", False, True, True, even),
        blindness.Seen("unlucky", False, False, True, apart),
        blindness.Seen("fine", False, False, False, even),
    ]
    told = blindness.blind_spots(cells)
    assert [sentence.split("(")[1].rstrip(").") for sentence in told] == [
        "one mode",
        "one mode",
        "slow",
        "one mode",
        "unlucky",
    ]
    assert blindness.blind_spots([cells[3]]) == []


def test_a_diagnostic_that_does_not_apply_raises_no_alarm_and_is_told(study):
    cells, data = study
    chosen = {key: tree.copy() for key, tree in data.items()}
    for tree in chosen.values():
        measured = tree["diagnostics"].to_dataset()
        for name, value in (("rhat", np.nan), ("nested_rhat", 1.0), ("unique", 1.0), ("acceptance", np.nan)):
            measured[name] = xr.full_like(measured[name], value)
        tree["diagnostics"] = xr.DataTree(measured)
    told = [text for text in readings.read("blindness", cells, chosen) if text.startswith("sparse: ")]
    assert len(told) == len(LEVELS) - 1
    for text in told:
        assert text.endswith(
            "looks fine (nested R-hat 1.00, share of moves 1.00; does not apply: R-hat, acceptance)."
        )


RNG = np.random.default_rng(5)
LUCK = RNG.gamma(2.0, 10.0, size=200)


def line(saved):
    """Regret at c = 0, at the c that saves so much, and at one that ruins."""
    return {0.0: LUCK, 0.1: LUCK - saved + RNG.normal(size=200), 1.0: LUCK + 50}


def test_a_gain_is_measured_on_other_runs_than_those_that_chose_c():
    found = gains.gain(line(5.0))
    assert found.best == (0.1, 0.1)
    assert found.saved.mean() == pytest.approx(5, abs=5 / np.sqrt(200))
    # of ten c that all do nothing the best by chance gains nothing on the other half: 5 sd of the mean
    chance = gains.gain({0.0: LUCK} | {c: RNG.permutation(LUCK) for c in np.arange(1.0, 11)})
    assert abs(chance.saved.mean()) < 5 * np.sqrt(2 * LUCK.var() / 200)


@pytest.mark.parametrize(
    ("exact", "sampler", "said"),
    [
        (
            5.0,
            5.0,
            "helps exact draws: it is an effect of the posterior; no difference in gain found between",
        ),
        (5.0, 0.0, "it is an effect of the posterior; less than exact draws gain: sgld at 2 steps (-"),
        (5.0, 9.0, "it is an effect of the posterior; more than exact draws gain: sgld at 2 steps (+"),
        (
            -5.0,
            5.0,
            "shows no help to exact draws, and more to some samplers: it is an effect of the sampler",
        ),
        (-5.0, -5.0, "shows no help to anyone"),
    ],
)
def test_the_bonus_is_an_effect_of_whom_it_helps(exact, sampler, said):
    found = {("exact", 0): gains.gain(line(exact)), ("sgld", 2): gains.gain(line(sampler))}
    (text,) = gains.whose_effect("sparse", found)
    assert said in text


def test_the_reading_of_the_bonus_study_answers_its_question():
    words = ["posterior.c=0,0.1,1.0", "rounds=50", "runs=40"]
    cells = resolve(["study=bonus", "environment=sparse", *words]).cells
    saved = {"exact": 1.0, "sgld": 0.0, "mala": 1.0}

    def level(cell):
        c = cell.flat["posterior.c"]
        return 5.0 if c == 1 else -saved[cell.flat["sampler"]] * (c > 0)

    data = {cell.id: made_up(cell, 5 + level(cell), 0.1, seed=i) for i, cell in enumerate(cells)}
    text = readings.read("bonus", cells, data)
    assert "with exact draws the c that is best on the other half of the runs (0.1) saves +50.0" in " ".join(
        text
    )
    assert sum("no different by c at 20 than at 2 steps" in sentence for sentence in text) == 2
    assert "effect of the posterior; less than exact draws gain: sgld at 2 steps (-50" in text[0]
    assert "no difference in gain found between exact draws and mala at 2 steps, mala at 20 steps" in text[0]


def test_the_reading_of_the_warm_starts_names_who_pays():
    cells = resolve(
        ["study=warmstart", "environment=sparse", "sampler=exact,sgld,mala", "rounds=50", "runs=40"]
    ).cells

    def pays(cell):
        return (
            cell.flat["sampler"] == "sgld" and cell.flat["sampler.steps"] == 1 and not cell.flat["agent.warm"]
        )

    data = {cell.id: made_up(cell, 2.0 * pays(cell), 0.1, seed=0) for cell in cells}
    first, *others = readings.read("warmstart", cells, data)
    assert first == (
        "sparse: a cold start has more regret than a warm one with sgld at 1 steps, less with none, of 6 compared at "
        "equal budget."
    )
    assert "sparse: sgld at 1 steps, cold minus warm start: +100.0 [+100.0, +100.0] regret per run." in others
    assert len(others) == 6


def test_rounds_are_looked_into_log_spaced_unless_they_are_named():
    words = ["study=samplers", "sampler=mala", "environment=sparse", "runs=4"]
    study = resolve(words)
    probes = study.diagnostics.probes(study.cells[0])
    assert (len(probes), probes[0], probes[-1]) == (12, 1, 1000)
    ratios = np.array(probes[6:]) / np.array(probes[5:-1])
    np.testing.assert_allclose(ratios, 1000 ** (1 / 11), rtol=0.05)
    assert study.diagnostics.runs == 10
    named = resolve([*words, "diagnostics.rounds=7,3", "diagnostics.runs=2"]).diagnostics
    assert (named.probes(study.cells[0]), named.runs) == ((3, 7), 2)


def test_a_bar_shows_how_many_rounds_are_diagnosed(study):
    cells, _ = study
    console = Console(file=StringIO(), force_terminal=True, width=150)
    with display.progress(console, cells, probes=2 * len(cells)) as tell:
        tell(cells[0], ROUNDS, 0)
        tell(cells[0], ROUNDS, 2)
        tell(cells[1], ROUNDS, 1)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue()).splitlines()
    last = [line for line in shown if "diagnosing" in line][-1]
    assert f"3/{2 * len(cells)}" in last


def test_stiffness_is_drawn_and_read_against_the_measured_condition_number():
    words = ["environment=sparse", "sampler=exact,sgld", f"rounds={ROUNDS}", f"runs={RUNS}"]
    cells = resolve([*words, "posterior.alpha=1.0,0.1"]).cells

    def tree(cell, i, stiff):
        slow = cell.flat["sampler"] == "sgld"
        return made_up(cell, slow * stiff / 100, 0.1, seed=i, condition=stiff)

    data = {c.id: tree(c, i, 100 / c.flat["posterior.alpha"]) for i, c in enumerate(cells)}
    figure = sweeps.against_condition(cells, data)
    (ax,) = figure.axes
    assert ax.get_xlabel() == METRICS["condition"]
    shown = {line.get_label(): line[0].get_xydata() for line in ax.containers}
    np.testing.assert_allclose(shown["sgld"][:, 0], [100, 1000])
    np.testing.assert_allclose(np.diff(shown["sgld"][:, 1]), 9 * ROUNDS, rtol=0.01)
    assert list(cheapest(pairs(cells, data))) == [("sparse alpha=1.0", "sgld"), ("sparse alpha=0.1", "sgld")]
    (text,) = readings.read("stiffness", cells, data)
    assert "1e+02 (alpha=1): +50" in text
    assert "1e+03 (alpha=0.1): +500" in text
    assert "From the least stiff to the stiffest it grows (+450" in text
    level = {c.id: tree(c, i, 100) for i, c in enumerate(cells)}
    assert sweeps.against_condition(cells, level) is None


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


def test_rounds_of_one_run_are_no_further_evidence():
    """Columns that repeat the first leave estimate and interval as they were: what is resampled is units."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    many = spearman(np.repeat(x[:, None], 12, axis=1), np.repeat(y[:, None], 12, axis=1), range(12))
    np.testing.assert_allclose(many, spearman(x, y))


def test_what_goes_with_the_round_alone_is_no_association_within_it():
    rng = np.random.default_rng(3)
    trend = 10.0 * np.arange(6)
    x, y = rng.normal(size=(2, 40, 6)) + trend
    assert spearman(x.ravel(), y.ravel()).value > 0.9
    assert spearman(x, y, range(6)).holds_zero
    assert spearman(x, y + 2 * (x - trend), range(6)).low > 0.5


def test_missing_units_and_strata_are_left_out():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(10, 3))
    y = x + rng.normal(size=(10, 3))
    whole = spearman(x[:, :1], y[:, :1])
    x[:, 1], y[:, 2] = 1.0, np.nan  # says nothing; does not exist
    np.testing.assert_allclose(spearman(x, y, [*"abc"]).value, whole.value)
    x[8:, 0] = np.nan
    np.testing.assert_allclose(spearman(x, y, [*"abc"]).value, spearman(x[:8, 0], y[:8, 0]).value)


def test_an_infinite_diagnostic_has_a_rank_and_a_missing_one_has_none():
    x = np.array([1.0, 2.0, 3.0, np.inf, np.nan, 2.5])
    y = np.array([1.0, 2.0, 3.0, 9.0, -50.0, 2.5])
    assert spearman(x, y).value == pytest.approx(1)
