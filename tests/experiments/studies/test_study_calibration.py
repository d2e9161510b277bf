"""The calibration study: ranks from stored cells, sentences, and the figure; columns of a probed round."""

import numpy as np
import pytest
from helpers.montecarlo import ALARM, SEED
from helpers.synthetic_cells import diagnosed, played

from experiments.analysis.results import StudyResults
from experiments.config.compose import compose
from experiments.studies.calibration.figures import figures
from experiments.studies.calibration.findings import findings
from experiments.studies.calibration.ranks import NUM_DRAWS, ranks_of, verdicts_of
from experiments.studies.calibration.tables import COLUMNS, tables
from fgtsva_ppl import TS, Contextual, Exact, Thompson, simulate
from fgtsva_ppl.diagnostics import ProbeSizes, probe, quality
from samplers.diagnostics import uniformity


@pytest.fixture(scope="module")
def results():
    """Uniform ranks at the Bayes temperature, ranks at both ends at half of it."""
    rng = np.random.default_rng(SEED)
    cells = compose(["study=calibration"]).cells
    data = {}
    for cell in cells:
        u = rng.random((300, 3))
        if cell.flat["posterior.eta"] == 1.0:
            u = rng.beta(0.5, 0.5, size=(300, 3))
        tree = played(cell, np.zeros((40, 50)))
        data[cell.id] = diagnosed(tree, {"truth_rank": np.round(u * NUM_DRAWS) / NUM_DRAWS})
    return StudyResults.from_cells("calibration", cells, data)


def test_sentences_follow_from_the_ranks(results):
    bayes, half = findings(results)
    assert bayes.startswith("At the Bayes temperature (eta=0.5), over 6 cells and rounds: no deviation")
    assert half.startswith(
        "At 0.5 of the Bayes temperature (eta=1), over 6 cells and rounds: the truth's ranks are not"
    )
    assert "in 6 (U-shaped, the posterior is too narrow)" in half
    frame = tables(results)["ranks"].frame
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == 4 * 3
    etas = [one.of.eta for one in verdicts_of(results)]
    assert list(frame["verdict"]) == ["U-shaped" if eta == 1.0 else "uniform" for eta in etas]
    assert {len(one.ranks) for one in ranks_of(results)} == {300}


def test_figure_has_a_panel_per_cell_with_a_curve_per_round(results):
    figure = figures(results)["calibration"].draw()
    assert [ax.get_title() for ax in figure.axes] == [*dict.fromkeys(one.label for one in ranks_of(results))]
    assert all(len(ax.lines) == 3 + 1 for ax in figure.axes)


@pytest.mark.slow
def test_exact_draws_of_a_bandit_are_calibrated_and_half_the_temperature_is_not():
    environment = Contextual(dim=2, arms=4, p=1.0, truth="prior")
    sizes = ProbeSizes(num_replicas=64, num_reference=64, num_superchains=2, num_chains=2, num_draws=8)
    found = {}
    for eta in (0.5, 2.0):
        agent = Thompson(posterior=TS(eta=eta), sampler=Exact()).for_horizon(20)
        (snapshot,) = simulate(environment, agent, rounds=20, runs=250, seed=SEED, probes=[20]).snapshots
        diagnosed_round = quality(probe(environment, agent, snapshot, runs=250, seed=SEED, sizes=sizes))
        found[eta] = diagnosed_round.metrics
    bayes, narrow = (uniformity(np.rint(64 * found[eta]["truth_rank"]).astype(int), 64) for eta in found)
    assert min(bayes.p_value, bayes.spread_p_value) > ALARM
    assert narrow.spread > 1.2
    assert narrow.spread_p_value < ALARM
    for metrics in found.values():  # the other columns of exact draws
        assert np.mean(metrics["classifier_accuracy"]) == pytest.approx(0.5, abs=0.05)
        assert abs(np.mean(metrics["mmd"])) < 0.01
        assert np.median(metrics["pareto_khat"]) < 0.7
        assert np.median(metrics["stein_discrepancy"]) < 0.4
