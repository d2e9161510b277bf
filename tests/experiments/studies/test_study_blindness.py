"""Findings of the study `blindness`, on synthetic cells."""

import numpy as np
import pytest
from helpers.synthetic_cells import ROUNDS, RUNS, synthetic_cell

from experiments import studies
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.compose import compose
from experiments.studies.blindness.examined import Examined, examine
from experiments.studies.blindness.findings import blind_spots
from experiments.studies.blindness.tables import diagnostic_rows
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


def examined_on(level=0.0, **known):
    """mala with these diagnostics; all other diagnostics are good."""
    cells = compose(["sampler=exact,mala", "environment=sparse", f"rounds={ROUNDS}", f"runs={RUNS}"]).cells
    levels = {"exact": 0.0, "mala": level}
    data = {
        cell.id: synthetic_cell(cell, levels[cell.flat["sampler"]], 0.0, seed=0, **WELL | known)
        for cell in cells
    }
    return examine(StudyResults.from_cells("blindness", cells, data))


@pytest.mark.parametrize(("tv", "wrong"), [(0.16, False), (0.18, True)])
def test_actions_are_wrong_above_three_floors(tv, wrong):
    """Three floors and 0.02: 0.17."""
    (cell,) = examined_on(total_variation=tv)
    assert cell.wrong == wrong
    assert cell.medians["total_variation"] == tv
    assert cell.regret_gap.contains_zero
    assert cell.alarms == []


@pytest.mark.parametrize("key", ILL)
def test_each_diagnostic_raises_its_own_alarm_and_no_other(key):
    (cell,) = examined_on(**{key: ILL[key]})
    assert cell.alarms == [METRICS[key].heading]


def test_a_low_acceptance_is_a_cost_and_no_alarm():
    (cell,) = examined_on(acceptance_rate=0.3)
    assert cell.alarms == []
    assert not cell.good["acceptance_rate"]


def test_a_diagnostic_that_does_not_apply_raises_no_alarm():
    (cell,) = examined_on(total_variation=0.5, rhat=np.nan, acceptance_rate=np.nan)
    assert cell.alarms == []
    assert not {"rhat", "acceptance_rate"} & set(cell.good)


def test_a_cell_whose_actions_cannot_be_compared_is_left_out():
    assert examined_on(total_variation=np.nan) == []


MORE, LESS, EVEN = Interval(2.0, 1.0, 3.0), Interval(-2.0, -3.0, -1.0), Interval(0.1, -1.0, 1.0)
CELLS = [
    Examined("one mode", True, {"rhat": True, "ebfmi": True, "acceptance_rate": True}, LESS),
    Examined("slow", False, {"rhat": False, "acceptance_rate": True}, EVEN),
    Examined("unlucky", False, {"rhat": True, "acceptance_rate": True}, MORE),
    Examined("stuck", True, {"rhat": False, "acceptance_rate": False}, MORE),
    Examined("fine", False, {"rhat": True, "acceptance_rate": False}, EVEN),
]


def test_blind_spots_are_cells_where_action_chain_and_regret_disagree():
    assert blind_spots(CELLS) == [
        "R-hat is below 1.1 in 1 of 2 cells whose actions are wrong.",
        "1 of 5 cells have more regret than exact draws and no sign of it in any diagnostic without them; the most has "
        "unlucky: +2.0 [+1.0, +3.0].",
        "1 of 5 cells have wrong actions and less regret than exact draws; the least has one mode: -2.0 [-3.0, -1.0].",
    ]
    assert blind_spots(CELLS[-1:]) == []


def test_misses_and_false_alarms_of_each_diagnostic_are_counted():
    rows = {row["diagnostic"]: row for row in diagnostic_rows(CELLS)}
    assert rows["R-hat"] == {
        "diagnostic": "R-hat",
        "looks_good": "below 1.1",
        "misses_actions": "1 of 2",
        "false_alarms_actions": "1 of 3",
        "misses_regret": "1 of 2",
        "false_alarms_regret": "1 of 3",
    }
    assert rows["E-BFMI"]["misses_actions"] == "1 of 1"
    assert rows["acceptance rate"]["false_alarms_actions"] == "1 of 3"


def test_cells_are_labelled_by_settings_that_differ_from_the_default():
    numbers = ["environment=sparse", f"rounds={ROUNDS}", f"runs={RUNS}"]
    cells = compose(["study=blindness", "sampler=exact,control", "posterior.c=0.003,10.0", *numbers]).cells
    data = {cell.id: synthetic_cell(cell, 0.0, 0.5, total_variation_floor=0.05) for cell in cells}
    table = studies.tables(StudyResults.from_cells("blindness", cells, data))["examined"].frame
    assert "control spread=0.1" in set(table["cell"])
    assert "control c=10 stuck=0.99" in set(table["cell"])
    assert set(table["actions"]) == {"wrong"}
