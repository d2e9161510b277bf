"""Studies of published claims: the frame. The rules have tests of their own beside this file."""

import numpy as np
import pytest

from experiments import studies
from experiments.analysis.claims import (
    above,
    all_of,
    any_of,
    below,
    by_parts,
    claim_of,
    near,
    not_supported,
    supported,
    supported_where,
    untested,
)
from experiments.analysis.measures import argmin, difference, least_budget, slope
from experiments.analysis.statistics import Interval
from experiments.config.compose import compose
from experiments.config.request import parse_request
from experiments.config.study_files import STUDIES, claim_names, read_study
from experiments.studies.claims import RULES, pending
from samplers.errors import InputError

NAMES = claim_names()


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_is_complete(name):
    rule = RULES[name]
    assert rule.claim.id.startswith("C")
    assert (STUDIES / name / "__init__.py").is_file()  # else it is not packaged
    small = compose([f"study={name}", "quick=true"])
    assert small.title.endswith("(quick size)")
    assert len(small.cells) <= len(compose([f"study={name}"]).cells)
    assert studies.hooks(name).claims is not None


def test_ids_are_unique():
    ids = [RULES[name].claim.id for name in NAMES] + [claim.id for claim in pending()]
    assert len(set(ids)) == len(ids)
    assert all(claim.missing for claim in pending())


def test_quick_without_a_block_is_one_clear_line():
    with pytest.raises(InputError, match=r"study=figure1 has no quick size; these have one: .*claims/"):
        parse_request(["study=figure1", "quick=true"])
    with pytest.raises(InputError, match="quick='yes' must be true or false"):
        parse_request(["study=claims/two_divergences", "quick=yes"])


def test_quick_replaces_numbers_everywhere_and_settings_where_they_are():
    study = read_study("claims/two_divergences", quick=True)
    assert [grid["rounds"] for grid in study["grids"]] == [[100], [100]]
    assert "sampler.spread" not in study["grids"][0]
    assert study["grids"][1]["sampler.spread"] == [0.5, 2.0]
    assert compose(["study=claims/two_divergences", "quick=true", "rounds=7"]).cells[0].rounds == 7


def test_verdicts_in_words():
    assert supported("s").verdict == "supported"
    assert supported_where("d is small", "s").verdict == "supported only where d is small"
    assert not_supported("s").verdict == "not supported at these settings"
    assert untested("it is noisy").verdict == "cannot be tested here, because it is noisy"


def test_parts_hold_or_not_or_are_open():
    for parts, verdict in (
        ((True, True), "supported"),
        ((True, False), "supported only where a"),
        ((True, None), "supported only where a"),
        ((False, False), "not supported at these settings"),
        ((False, None), "cannot be tested here, because the intervals leave open: b"),
    ):
        judgement = by_parts(dict(zip("ab", parts, strict=True)), "s")
        assert judgement.verdict == verdict
        assert judgement.parts == tuple(zip("ab", parts, strict=True))


def test_many_parts_are_counted():
    parts = {"a": True, "b": True, "c": True, "d": None, "e": False}
    assert by_parts(parts, "s").verdict == "supported only where 3 of 5 parts hold, 1 open"


def test_an_interval_that_holds_the_limit_decides_nothing():
    low, high, open_ = Interval(1, 0, 2), Interval(8, 7, 9), Interval(5, 1, 9)
    assert [above(x, 5) for x in (low, high, open_)] == [False, True, None]
    assert [below(x, 5) for x in (low, high, open_)] == [True, False, None]
    assert [near(x, 1, 3) for x in (low, high, open_)] == [True, False, None]
    assert (all_of(True, None), all_of(False, None), all_of(True, True)) == (None, False, True)
    assert (any_of(True, None), any_of(False, None), any_of(False, False)) == (True, None, False)


def test_an_incomplete_block_names_what_it_lacks():
    with pytest.raises(InputError, match="the block `claim` lacks paper, sentence"):
        claim_of("claims/mine", {"claim": {"id": "C99", "setting": "", "source": ""}})
    block = dict.fromkeys(("id", "paper", "sentence", "setting", "source", "authors"), "x")
    with pytest.raises(InputError, match="unknown fields authors"):
        claim_of("claims/mine", {"claim": block})


def test_least_budget_interpolates_between_budgets():
    runs = np.ones(5)
    regrets = np.outer([4.0, 2.0, 0.5, 0.4], runs)
    found = least_budget([1, 2, 4, 8], regrets, runs)
    assert found.value == pytest.approx(2 * 2 ** (1 / 1.5))
    assert least_budget([1, 2, 4, 8], regrets, 5 * runs).value == pytest.approx(1)
    assert least_budget([1, 2, 4, 8], regrets, 0.1 * runs).value == np.inf


def test_slope_of_a_power_law():
    x = [5.0, 20.0, 80.0]
    fitted = slope(x, [Interval(a**0.5, 0.9 * a**0.5, 1.1 * a**0.5) for a in x])
    assert fitted.value == pytest.approx(0.5)
    assert fitted.low < 0.5 < fitted.high
    assert np.isnan(slope(x[:2], [Interval(1, 1, 1), Interval(np.inf, 1, np.inf)]).value)


def test_the_best_setting_of_a_grid_has_an_interval():
    rng = np.random.default_rng(0)
    clear = argmin([0.0, 0.1, 1.0], np.array([[3.0], [1.0], [2.0]]) + 0.01 * rng.normal(size=(3, 50)))
    assert clear == (0.1, 0.1, 0.1)
    vague = argmin([0.0, 0.1, 1.0], np.array([[1.0], [1.0], [2.0]]) + 0.5 * rng.normal(size=(3, 50)))
    assert (vague.low, vague.high) == (0.0, 0.1)


def test_difference_of_independent_numbers():
    found = difference(Interval(1.0, 0.7, 1.3), Interval(0.5, 0.1, 0.9))
    assert found == pytest.approx((0.5, 0.0, 1.0))


def test_a_missing_cell_gives_no_verdict():
    """Overrides may leave out what a rule needs."""
    from experiments.analysis.results import StudyResults

    empty = StudyResults.from_cells("claims/two_divergences", (), {})
    judgement = RULES["claims/two_divergences"].assess(empty).judgement
    assert judgement.verdict.startswith(
        "cannot be tested here, because there is no finished cell with sampler=exact"
    )
