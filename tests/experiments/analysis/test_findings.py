"""Findings of studies, on synthetic cells whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.synthetic_cells import LEVELS, ROUNDS, RUNS, compared, synthetic_cell

from experiments import studies
from experiments.analysis.findings import best_diagnostic, cheapest_samplers
from experiments.analysis.results import StudyResults
from experiments.config.comparison import Comparison
from experiments.config.compose import compose
from experiments.figures import sweeps
from experiments.studies.bonus import findings as bonus_findings
from experiments.studies.bonus import gains as bonus_gains
from fgtsva_ppl.diagnostics import METRICS
from samplers.errors import InputError


@pytest.fixture(scope="module")
def study():
    return compared()


def test_default_findings_count_gaps_and_name_the_largest_and_the_best_diagnostic(study):
    first, second, third = studies.findings(study)
    assert first == (
        "Of 5 cells, 1 cannot be distinguished from exact draws and 4 had more regret, by the 95% interval of the "
        "paired regret gap."
    )
    assert second.startswith("The largest gap has sgld on sparse: +100.0")
    assert second.endswith(" beyond the 86.8 of exact draws.")
    assert third.startswith("Of all diagnostics action TV goes closest with the regret gap: Spearman +1.00")


def test_without_exact_draws_the_least_regret_is_named():
    cells = compose(["sampler=mala,hmc,sgld", "environment=sparse", f"rounds={ROUNDS}", f"runs={RUNS}"]).cells
    levels = {"mala": 0.0, "hmc": 0.0, "sgld": 2.0}
    data = {
        cell.id: synthetic_cell(cell, levels[cell.flat["sampler"]], 0.1, seed=i)
        for i, cell in enumerate(cells)
    }
    (text,) = studies.findings(StudyResults.from_cells("default", cells, data))
    assert (
        "has the least regret, 86.8; 1 other cannot be distinguished from it; the most has sgld, +99.986 ["
        in text
    )


CONSTANT = {name: dict.fromkeys(LEVELS, 1.0) for name in METRICS}
ONE_SWAP = {"exact": 0, "mala": 2, "hmc": 1, "psgld": 3, "nuts": 4, "sgld": 5}  # LEVELS has mala before hmc


@pytest.fixture(scope="module")
def ranked():
    """Of the diagnostics one ranks samplers as regret does, one nearly so, and the others are uninformative."""
    levels = {name: level / 10 for name, level in LEVELS.items()}
    return compared(**{**CONSTANT, "total_variation": levels, "mean_error": ONE_SWAP})


def test_the_best_diagnostic_has_the_largest_rank_correlation(ranked):
    (text,) = best_diagnostic(ranked)
    assert text == (
        "Of all diagnostics action TV goes closest with the regret gap: Spearman +1.00 [+1.00, +1.00] over 5 cells."
    )


def test_uninformative_diagnostics_are_not_named():
    (text,) = best_diagnostic(compared(**CONSTANT))
    assert text == "No diagnostic's rank correlation with the regret gap over these cells excludes zero."


@pytest.fixture(scope="module")
def priced(study):
    """Exact regret is 86.8; psgld adds 2.5, mala and hmc next to nothing, sgld and nuts 25 and more."""
    prices = {"psgld": 1.0, "mala": 21.0, "hmc": 30.0, "nuts": 2.0, "sgld": 3.0, "exact": 0.0}
    cells = study.cells
    names = [cell.flat["sampler"] for cell in cells]
    trees = [
        synthetic_cell(cell, LEVELS[name], 0.1, prices[name], seed)
        for seed, (cell, name) in enumerate(zip(cells, names, strict=True))
    ]
    return StudyResults.from_cells(
        "budget", cells, dict(zip((cell.id for cell in cells), trees, strict=True))
    )


def test_the_cheapest_sampler_is_named(priced):
    first, *_ = studies.findings(priced)
    assert first == (
        "On sparse psgld comes within 10% of exact regret at 1 gradient a round (by the interval of the ratio perhaps "
        "at 1, surely at 1)."
    )
    none = {key: cost for key, cost in priced.costs.items() if key[1] in ("sgld", "nuts")}
    assert cheapest_samplers(none) == ["On sparse no sampler comes within 10% of exact regret."]


def test_samplers_findings_name_the_best_diagnostic_first(ranked):
    first, second, third = studies.findings(replace(ranked, name="samplers"))
    assert "action TV goes closest" in first
    assert second.startswith("Of 5 cells")
    assert third.startswith("The largest gap")


RNG = np.random.default_rng(5)
SHARED = RNG.gamma(2.0, 10.0, size=200)


def line(saved):
    """Regret at c = 0, at a c that saves `saved`, and at a harmful one."""
    return {0.0: SHARED, 0.1: SHARED - saved + RNG.normal(size=200), 1.0: SHARED + 50}


def test_gain_is_cross_validated_over_runs():
    gains = bonus_gains.gain(line(5.0))
    assert gains.best == (0.1, 0.1)
    assert gains.saved.mean() == pytest.approx(5, abs=5 / np.sqrt(200))
    # of ten c that all do nothing the best by chance gains nothing on the other half: 5 sd of the mean
    chance = bonus_gains.gain({0.0: SHARED} | {c: RNG.permutation(SHARED) for c in np.arange(1.0, 11)})
    assert abs(chance.saved.mean()) < 5 * np.sqrt(2 * SHARED.var() / 200)


@pytest.mark.parametrize(
    ("accurate", "inaccurate", "expected"),
    [
        (5.0, 0.0, "helps only where sampling is accurate; "),
        (0.0, 5.0, "helps only where sampling is inaccurate; "),
        (5.0, 5.0, "helps; "),
        (0.0, 0.0, "shows no help; "),
        (5.0, None, "helps; "),
        (None, 0.0, "shows no help; "),
    ],
)
def test_bonus_is_compared_between_accurate_and_inaccurate_sampling(accurate, inaccurate, expected):
    saved = {("mala", 20): (accurate, False), ("sgld", 1): (inaccurate, True)}
    gains = {
        who: bonus_gains.gain(line(much))._replace(wrong=wrong)
        for who, (much, wrong) in saved.items()
        if much is not None
    }
    (text,) = bonus_findings.when_accurate(gains)
    assert text.startswith(f"the feel-good term {expected}it saves ")
    assert (" with accurate sampling" in text) == (accurate is not None)
    assert (" with inaccurate sampling" in text) == (inaccurate is not None)


def test_bonus_findings_without_measured_accuracy_are_those_of_exact_draws():
    assert bonus_findings.when_accurate({("mala", 20): bonus_gains.gain(line(5.0))}) == []
    (text,) = bonus_findings.when_accurate({("exact", 0): bonus_gains.gain(line(5.0))})
    assert text.startswith("with exact draws the feel-good term saves +")


def test_bonus_findings_and_table_answer_the_question():
    overrides = ["posterior.c=0,0.1,1.0", "rounds=50", "runs=40"]
    study = compose(["study=bonus", "environment=sparse", *overrides])
    cells = study.cells
    assert study.diagnostics.runs == 4
    assert study.diagnostics.probes(cells[0]) == (10,)
    saved = {"exact": 1.0, "sgld": 0.0, "mala": 1.0}

    def level(cell):
        c = cell.flat["posterior.c"]
        return 5.0 if c == 1 else -saved[cell.flat["sampler"]] * (c > 0)

    def tv(cell):
        """mala at 20 steps is inaccurate at the harmful c only."""
        few, ruinous = cell.flat.get("sampler.num_steps") == 2, cell.flat["posterior.c"] == 1
        return (
            0.4
            if cell.flat["sampler"] == "sgld" or (cell.flat["sampler"] == "mala" and (few or ruinous))
            else 0.1
        )

    data = {
        cell.id: synthetic_cell(cell, 5 + level(cell), tv(cell), seed=i, total_variation_floor=0.1)
        for i, cell in enumerate(cells)
    }
    results = StudyResults.from_cells("bonus", cells, data)
    (text,) = studies.findings(results)
    assert text.startswith("sparse: the feel-good term helps; it saves +49.999")
    table = studies.tables(results)["gains"].frame.set_index("sampler")
    assert table["accurate"].to_dict() == {
        "exact draws": "yes",
        "sgld at 2 steps": "no",
        "sgld at 20 steps": "no",
        "mala at 2 steps": "no",
        "mala at 20 steps": "yes",
    }
    assert table.loc["exact draws", "best_c"] == "0.1"
    assert table.loc["exact draws", "saved"] == pytest.approx(50, abs=0.1)
    assert table.loc["sgld at 2 steps", "beyond_exact_high"] < 0
    assert table.loc["mala at 20 steps", "beyond_exact"] == pytest.approx(0, abs=0.1)


def test_warmstart_findings_name_samplers_with_more_regret():
    cells = compose(
        ["study=warmstart", "environment=sparse", "sampler=exact,sgld,mala", "rounds=50", "runs=40"]
    ).cells

    def pays(cell):
        return (
            cell.flat["sampler"] == "sgld"
            and cell.flat["sampler.num_steps"] == 1
            and not cell.flat["agent.warm_start"]
        )

    data = {cell.id: synthetic_cell(cell, 2.0 * pays(cell), 0.1, seed=0) for cell in cells}
    results = StudyResults.from_cells("warmstart", cells, data)
    (text,) = studies.findings(results)
    assert text.startswith(
        "On sparse a cold start has more regret than a warm one at 1 of 6 budgets; it costs most with sgld at 1 step: "
        "+100"
    )
    table = studies.tables(results)["cold_starts"].frame.set_index(["sampler", "steps"])
    assert len(table) == 6
    assert table.loc[("sgld", 1), "cold_minus_warm"] == pytest.approx(100)


def test_stiffness_figure_and_findings_use_the_measured_condition_number():
    overrides = ["environment=sparse", "sampler=exact,sgld", f"rounds={ROUNDS}", f"runs={RUNS}"]
    cells = compose([*overrides, "posterior.alpha=1.0,0.1"]).cells

    def tree(cell, i, stiff):
        slow = cell.flat["sampler"] == "sgld"
        return synthetic_cell(cell, slow * stiff / 100, 0.1, seed=i, condition_number=stiff)

    data = {c.id: tree(c, i, 100 / c.flat["posterior.alpha"]) for i, c in enumerate(cells)}
    results = StudyResults.from_cells("stiffness", cells, data)
    figure = sweeps.against_condition_number(results)
    (ax,) = figure.axes
    assert ax.get_xlabel() == METRICS["condition_number"].doc
    shown = {line.get_label(): line[0].get_xydata() for line in ax.containers}
    np.testing.assert_allclose(shown["sgld"][:, 0], [100, 1000])
    np.testing.assert_allclose(np.diff(shown["sgld"][:, 1]), 9 * ROUNDS, rtol=0.01)
    assert list(results.costs) == [("sparse alpha=1.0", "sgld"), ("sparse alpha=0.1", "sgld")]
    (text,) = studies.findings(results)
    assert text.startswith("From condition number 1e+02 to 1e+03 the regret gap of sgld grows: +450")
    table = studies.tables(results)["gap_by_condition"].frame
    np.testing.assert_allclose(table["gap"], [50, 500], rtol=0.01)
    np.testing.assert_allclose(table["condition_number"], [100, 1000])
    level = {c.id: tree(c, i, 100) for i, c in enumerate(cells)}
    same = StudyResults.from_cells("stiffness", cells, level)
    along = Comparison("posterior.alpha")
    assert "condition_number" in studies.figures(replace(results, comparison=along))
    assert "condition_number" not in studies.figures(replace(same, comparison=along))
    with pytest.raises(InputError, match="condition numbers differ"):
        sweeps.against_condition_number(same)
