"""Findings of the study `blindness`, on synthetic cells."""

import numpy as np
import pytest
from helpers.synthetic_cells import ROUNDS, RUNS, synthetic_cell

from experiments import studies
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.compose import compose
from experiments.studies.blindness.findings import Examined, blind_spots, by_diagnostic
from fgtsva_ppl.diagnostics import METRICS

WELL = {
    "total_variation": 0.1,
    "total_variation_floor": 0.05,
    "rhat": 1.05,
    "nested_rhat": 1.05,
    "ess_bulk": 450.0,
    "ess_tail": 450.0,
}
WELL |= {"mcse": 0.05, "ebfmi": 0.5, "num_divergent": 0.0, "fraction_moved": 0.2, "acceptance_rate": 0.7}
ILL = {"rhat": 1.2, "nested_rhat": 1.2, "ess_bulk": 350.0, "ess_tail": 350.0, "mcse": 0.2, "ebfmi": 0.2}
ILL |= {"num_divergent": 0.01, "fraction_moved": 0.05}


def sentences_on(level=0.0, **known):
    """Findings on mala with these diagnostics; all other diagnostics are good."""
    cells = compose(["sampler=exact,mala", "environment=sparse", f"rounds={ROUNDS}", f"runs={RUNS}"]).cells
    levels = {"exact": 0.0, "mala": level}
    data = {
        cell.id: synthetic_cell(cell, levels[cell.flat["sampler"]], 0.0, seed=0, **WELL | known)
        for cell in cells
    }
    return studies.findings(StudyResults.from_cells("blindness", cells, data))


@pytest.mark.parametrize(("tv", "verdict"), [(0.16, "right"), (0.18, "wrong")])
def test_actions_are_wrong_above_three_floors(tv, verdict):
    """Three floors and 0.02: 0.17."""
    expected = (
        f"sparse: mala: actions {verdict} (TV {tv:.2f}, floor 0.05), regret no different from exact (+0.0 ["
    )
    assert sentences_on(total_variation=tv)[-1].startswith(expected)


def test_without_an_alarm_all_values_are_listed():
    assert sentences_on()[-1].endswith(
        "what needs no exact draws looks fine (R-hat 1.05, nested R-hat 1.05, bulk ESS 450, tail ESS 450, MCSE 0.05, "
        "E-BFMI 0.50, divergences 0.00, fraction moved 0.20, acceptance rate 0.70)."
    )


@pytest.mark.parametrize("key", ILL)
def test_each_diagnostic_raises_its_own_alarm_and_no_other(key):
    first, *_, last = sentences_on(**{key: ILL[key]})
    name = METRICS[key].heading
    assert f"; bad: {name} (R-hat" in last
    assert first == (
        "Where actions are wrong, in 0 of 1 cell, these diagnostics look good: none; in the other 1 these look bad: "
        f"{name} in 1."
    )


def test_a_low_acceptance_is_a_cost_and_no_alarm():
    assert "looks fine" in sentences_on(acceptance_rate=0.3)[-1]


def test_a_diagnostic_that_does_not_apply_raises_no_alarm_and_is_listed():
    first, *_, last = sentences_on(total_variation=0.5, rhat=np.nan, acceptance_rate=np.nan)
    assert "looks fine (nested R-hat 1.05, " in last
    assert last.endswith("; does not apply: R-hat, acceptance rate).")
    assert " R-hat (below" not in first.replace("nested R-hat", "")


def test_a_cell_whose_actions_cannot_be_compared_is_left_out():
    assert sentences_on(total_variation=np.nan) == []


def test_answer_has_missed_errors_and_wrong_actions_with_less_regret():
    first, second, *_ = sentences_on(level=-0.5, total_variation=0.5, rhat=1.3)
    assert first == (
        "Where actions are wrong, in 1 of 1 cell, these diagnostics look good: nested R-hat (below 1.1) in 1, bulk ESS "
        "(above 100 a chain) in 1, tail ESS (above 100 a chain) in 1, MCSE (below 0.1 sd) in 1, E-BFMI (above 0.3) in "
        "1, divergences (none) in 1, fraction moved (above 0.1) in 1, acceptance rate (above 0.5) in 1; in the other 0 "
        "these look bad: none."
    )
    assert second == "Actions wrong, with less regret than exact draws: 1 of 1 cell (mala)."


MORE, LESS, EVEN = Interval(2.0, 1.0, 3.0), Interval(-2.0, -3.0, -1.0), Interval(0.1, -1.0, 1.0)
CELLS = [
    Examined("one mode", True, {"rhat": True, "ebfmi": True, "acceptance_rate": True}, LESS),
    Examined("slow", False, {"rhat": False, "acceptance_rate": True}, EVEN),
    Examined("unlucky", False, {"rhat": True, "acceptance_rate": True}, MORE),
    Examined("stuck", True, {"rhat": False, "acceptance_rate": False}, MORE),
    Examined("fine", False, {"rhat": True, "acceptance_rate": False}, EVEN),
]


def test_blind_spots_are_cells_where_action_chain_and_regret_disagree():
    sentences = dict(sentence.rstrip(".").split(": ") for sentence in blind_spots(CELLS))
    assert sentences == {
        "Actions wrong, with less regret than exact draws": "1 of 5 cells (one mode)",
        "More regret than exact draws, and no sign of it without them": "1 of 5 cells (unlucky)",
        "Actions wrong, and no sign of it without exact draws": "1 of 5 cells (one mode)",
        "Actions wrong, with an acceptance above one half": "1 of 5 cells (one mode)",
        "Actions right, although some diagnostic looks bad": "1 of 5 cells (slow)",
        "Actions right, with more regret than exact draws": "1 of 5 cells (unlucky)",
    }
    assert blind_spots(CELLS[-1:]) == []


def test_misses_and_false_alarms_of_each_diagnostic_are_counted():
    actions, regret = by_diagnostic(CELLS)
    assert actions == (
        "Where actions are wrong, in 2 of 5 cells, these diagnostics look good: R-hat (below 1.1) in 1, E-BFMI (above "
        "0.3) in 1 of 1, acceptance rate (above 0.5) in 1; in the other 3 these look bad: R-hat in 1, acceptance rate "
        "in 1."
    )
    assert regret == (
        "Where regret is above that of exact draws, in 2 of 5 cells, these diagnostics look good: R-hat (below 1.1) in "
        "1, acceptance rate (above 0.5) in 1; in the other 3 these look bad: R-hat in 1, acceptance rate in 1."
    )


def test_cells_are_labelled_by_settings_that_differ_from_the_default():
    numbers = ["environment=sparse", f"rounds={ROUNDS}", f"runs={RUNS}"]
    cells = compose(["study=blindness", "sampler=exact,control", "posterior.c=0.003,10.0", *numbers]).cells
    data = {cell.id: synthetic_cell(cell, 0.0, 0.5, total_variation_floor=0.05) for cell in cells}
    sentences = [
        text.split(": ")[1]
        for text in studies.findings(StudyResults.from_cells("blindness", cells, data))
        if text.startswith("sparse: ")
    ]
    assert "control spread=0.1" in sentences
    assert "control c=10 stuck=0.99" in sentences
