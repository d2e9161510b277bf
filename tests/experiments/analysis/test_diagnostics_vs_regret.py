"""Quality against regret, on synthetic cells whose answers are known."""

import re
from io import StringIO

import numpy as np
import pytest
from helpers.synthetic_cells import LEVELS, PROBES, ROUNDS, RUNS, compared, diagnosed, played, synthetic_cell
from rich.console import Console
from scipy import stats

from experiments.analysis.costs import _least_work, cheapest, cost_rows
from experiments.analysis.diagnostics_vs_regret import (
    across_cells,
    association_rows,
    by_round_rows,
    cases,
    regret_around,
    within_cell,
)
from experiments.analysis.pairs import Pair
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, mean_interval, paired_difference, spearman
from experiments.analysis.summary import LARGE_REGRET
from experiments.cli.progress import progress
from experiments.config.compose import compose
from experiments.config.study_files import study_names
from fgtsva_ppl.diagnostics import METRICS


@pytest.fixture(scope="module")
def study():
    return compared()


def test_pairs_exclude_the_reference_and_cancel_shared_randomness(study):
    pairs = study.pairs
    assert [pair.cell.flat["sampler"] for pair in pairs] == [name for name in LEVELS if name != "exact"]
    for pair in pairs:
        gap = paired_difference(pair.regret_gap_by_run, np.zeros(RUNS))
        assert gap.value == pytest.approx(LEVELS[pair.cell.flat["sampler"]] * ROUNDS, abs=0.1)
        assert gap.high - gap.low < 0.2  # shared randomness alone would give ten


def test_a_diagnostic_in_the_order_of_the_gap_has_rank_correlation_one(study):
    pairs = study.pairs
    assert across_cells(pairs, "total_variation").value == pytest.approx(1.0)
    assert np.isnan(within_cell(pairs[0], "total_variation").value)  # it does not vary within a cell


NEAR = [
    slice(3, 6),
    slice(17, 22),
    slice(44, 50),
]  # rounds 4 to 6, 18 to 22 and 45 to 50: a tenth around PROBES


def test_within_a_cell_ranks_are_those_of_the_gap_around_the_round_run_by_run(study):
    """Own regret and the reference's are unrelated, so that those of other runs or rounds, or one alone, are not."""
    cell = study.cells[3]
    own, theirs = np.random.default_rng(6).gamma(2.0, size=(2, RUNS, ROUNDS))
    gaps = np.stack([(own - theirs)[:, near].mean(axis=1) for near in NEAR], axis=1)
    ranks = stats.rankdata(gaps[:20], axis=0)

    def correlation(tv, reference=theirs):
        return within_cell(
            Pair(cell, diagnosed(played(cell, own), {"total_variation": tv}), played(cell, reference)),
            "total_variation",
        )

    assert correlation(ranks) == (1, 1, 1)
    assert correlation(-ranks) == (-1, -1, -1)
    for other in (ranks[::-1], ranks[:, ::-1], np.roll(ranks, 1, axis=0)):
        assert correlation(other).value < 0.9
    for reference in (np.zeros_like(own), own + theirs, theirs[::-1]):
        assert correlation(ranks, reference).value < 0.9


def test_association_across_samplers_ranks_within_environments():
    """Every sampler has more TV and less of a gap in the one environment: pooled, the order would be turned round."""
    names = ",".join(LEVELS)
    cells = compose(
        [f"sampler={names}", "environment=sparse,dense", f"rounds={ROUNDS}", f"runs={RUNS}"]
    ).cells

    def tree(i, cell):
        level, dense = LEVELS[cell.flat["sampler"]], cell.flat["environment"] == "dense"
        far = cell.flat["sampler"] != "exact"
        return synthetic_cell(cell, level + 10 * far * (not dense), level / 10 + dense, seed=i)

    pairs = StudyResults.from_cells(
        "mine", cells, {cell.id: tree(i, cell) for i, cell in enumerate(cells)}
    ).pairs
    assert across_cells(pairs, "total_variation") == (1, 1, 1)


def test_association_across_samplers_ranks_within_posteriors():
    """The same with two posteriors in one environment."""
    cells, data = compared("posterior.c=0,1").cells, {}
    for seed, cell in enumerate(cells):
        level, large = LEVELS[cell.flat["sampler"]], cell.flat["posterior.c"] == 1
        far = cell.flat["sampler"] != "exact"
        data[cell.id] = synthetic_cell(cell, level + 10 * far * (not large), level / 10 + large, seed=seed)
    pairs = StudyResults.from_cells("mine", cells, data).pairs
    assert across_cells(pairs, "total_variation") == (1, 1, 1)
    assert set(cases(pairs)) == {"sparse c=0.0", "sparse c=1.0"}


def test_regret_around_a_round(study):
    cells, data = study.cells, study.data
    near = regret_around(data[cells[1].id], 20)  # rounds 18 to 22
    regret = data[cells[1].id].dataset["regret"].values[:, 17:22]
    np.testing.assert_allclose(near, regret.mean(axis=1))


def test_rows_by_round_and_by_diagnostic(study):
    pairs = study.pairs
    labels = {pair.cell.id: pair.cell.flat["sampler"] for pair in pairs}
    rows = by_round_rows(pairs, labels)
    assert len(rows) == len(pairs) * len(PROBES)
    assert rows[0]["regret_gap"] == pytest.approx(2.0, abs=0.02)
    ours, theirs = (regret_around(tree, PROBES[0]) for tree in (pairs[0].data, pairs[0].reference))
    assert rows[0]["regret_median"] == np.median(ours)
    assert rows[0]["regret_gap_median"] == np.median(ours - theirs)
    association = association_rows(pairs, labels)
    assert len(association) == len(METRICS) * (1 + len(pairs))
    assert (association[0]["diagnostic"], association[0]["spearman"]) == (
        "total_variation",
        pytest.approx(1.0),
    )


def test_cheapest_is_the_least_work_close_to_the_oracle(study):
    costs = cheapest(study.pairs)
    assert costs == study.costs
    assert costs["sparse", "mala"].gradients_per_round == (20, 20, 20)
    assert costs["sparse", "mala"].seconds == (1, 1, 1)
    assert costs["sparse", "sgld"].gradients_per_round == (np.inf,) * 3
    assert costs["sparse", "mala"].work == "num_steps + 1"
    rows = cost_rows(costs)
    assert [row["sampler"] for row in rows] == [name for name in LEVELS if name != "exact"]
    assert rows[2]["gradients_per_round_high"] == 20


def test_cost_of_closeness_has_an_interval():
    work = [5.0, 10.0, 20.0, 40.0]
    ratios = [
        Interval(1.5, 1.2, 1.8),
        Interval(1.15, 1.0, 1.3),
        Interval(1.05, 0.95, 1.15),
        Interval(1, 0.95, 1.05),
    ]
    assert _least_work(work, ratios, 1.1) == Interval(20, 10, 40)
    assert _least_work(work[:2], ratios[:2], 1.1) == Interval(np.inf, 10, np.inf)


def test_summary_reports_heavy_tails(study):
    cells, data = study.cells, study.data
    rows = {row["sampler"]: row for row in study.summary_rows}
    exact = data[cells[0].id].dataset["regret"].values.sum(1)
    for name in ("exact", "sgld", "mala"):
        own = next(data[c.id] for c in cells if c.flat["sampler"] == name).dataset["regret"].values.sum(1)
        assert rows[name]["fraction_large_regret"] == np.mean(own > LARGE_REGRET * exact.mean())
        if name != "exact":
            assert rows[name]["regret_gap_median"] == pytest.approx(np.median(own - exact))


def test_probe_rounds_are_log_spaced_by_default():
    overrides = ["study=samplers", "sampler=mala", "environment=sparse", "runs=4"]
    study = compose(overrides)
    probes = study.diagnostics.probes(study.cells[0])
    assert (len(probes), probes[0], probes[-1]) == (12, 1, 1000)
    ratios = np.array(probes[6:]) / np.array(probes[5:-1])
    np.testing.assert_allclose(ratios, 1000 ** (1 / 11), rtol=0.05)
    assert study.diagnostics.runs == 10
    named = compose([*overrides, "diagnostics.rounds=7,3", "diagnostics.runs=2"]).diagnostics
    assert (named.probes(study.cells[0]), named.runs) == ((3, 7), 2)


def test_progress_bar_counts_diagnosed_rounds(study):
    cells = study.cells
    console = Console(file=StringIO(), force_terminal=True, width=150)
    with progress(console, cells, num_probes=2 * len(cells)) as tell:
        tell(cells[0], ROUNDS, 0)
        tell(cells[0], ROUNDS, 2)
        tell(cells[1], ROUNDS, 1)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue()).splitlines()
    last = [line for line in shown if "diagnosing" in line][-1]
    assert f"3/{2 * len(cells)}" in last


@pytest.mark.parametrize("name", study_names())
def test_every_study_composes_and_has_a_question(name):
    study = compose([f"study={name}", "rounds=2", "runs=2", "record_every=1"])
    assert study.cells
    assert study.question.endswith("?")
    sweep = study.comparison.sweep
    assert sweep is None or any(sweep in cell.flat for cell in study.cells)


def test_bootstrap_intervals_have_their_coverage():
    """300 intervals of 60 exponential values: coverage is 0.95 less a little; binomial, false alarm below 1e-6."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        interval = mean_interval(rng.exponential(size=60))
        hits += interval.low <= 1.0 <= interval.high
    assert 0.85 < hits / 300 < 0.99


def test_spearman_matches_scipy_and_lies_in_its_interval():
    rng = np.random.default_rng(1)
    x = rng.normal(size=80)
    y = x + rng.normal(size=80)
    result = spearman(x, y)
    assert result.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert result.low < result.value < result.high
    assert np.isnan(spearman(x[:3], y[:3]).value)


def test_repeated_rounds_of_a_run_do_not_narrow_the_interval():
    """Columns that repeat the first leave estimate and interval as they were: what is resampled is units."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    many = spearman(np.repeat(x[:, None], 12, axis=1), np.repeat(y[:, None], 12, axis=1), range(12))
    np.testing.assert_allclose(many, spearman(x, y))


def test_a_trend_over_rounds_is_no_association_within_rounds():
    rng = np.random.default_rng(3)
    trend = 10.0 * np.arange(6)
    x, y = rng.normal(size=(2, 40, 6)) + trend
    assert spearman(x.ravel(), y.ravel()).value > 0.9
    assert spearman(x, y, range(6)).contains_zero
    assert spearman(x, y + 2 * (x - trend), range(6)).low > 0.5


def test_missing_units_and_strata_are_left_out():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(10, 3))
    y = x + rng.normal(size=(10, 3))
    whole = spearman(x[:, :1], y[:, :1])
    x[:, 1], y[:, 2] = 1.0, np.nan  # constant; missing
    np.testing.assert_allclose(spearman(x, y, [*"abc"]).value, whole.value)
    x[8:, 0] = np.nan
    np.testing.assert_allclose(spearman(x, y, [*"abc"]).value, spearman(x[:8, 0], y[:8, 0]).value)


def test_an_infinite_diagnostic_has_a_rank_and_a_missing_one_has_none():
    x = np.array([1.0, 2.0, 3.0, np.inf, np.nan, 2.5])
    y = np.array([1.0, 2.0, 3.0, 9.0, -50.0, 2.5])
    assert spearman(x, y).value == pytest.approx(1)
