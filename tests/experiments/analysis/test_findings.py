"""Findings of studies, on synthetic cells whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.synthetic_cells import LEVELS, ROUNDS, RUNS, compared, synthetic_cell

from experiments import studies
from experiments.analysis.findings import best_diagnostics, cheapest_samplers
from experiments.analysis.results import StudyResults
from experiments.config.comparison import Comparison
from experiments.config.compose import compose
from experiments.figures import sweeps
from experiments.studies.bonus import findings as bonus
from fgtsva_ppl.diagnostics import METRICS
from samplers.errors import InputError


@pytest.fixture(scope="module")
def study():
    return compared()


def test_default_findings_name_close_samplers_others_and_the_best_diagnostics(study):
    first, second, third = studies.findings(study)
    assert first.startswith(
        "Regret added to that of exact draws, by paired 95% intervals, on sparse: sgld +100.0 [+100.0, +100.0], psgld "
    )
    assert first.endswith(", 1 of 5 within sampling error.")
    assert second.startswith("total_variation (Spearman +1.00")
    even, different = third.split("95% intervals: ")[1].split(". ", 1)
    assert "mala" in even
    assert "sgld: +100" in different
    assert "nuts: +25" in different


CONSTANT = {name: dict.fromkeys(LEVELS, 1.0) for name in METRICS}
ONE_SWAP = {"exact": 0, "mala": 2, "hmc": 1, "psgld": 3, "nuts": 4, "sgld": 5}  # LEVELS has mala before hmc


@pytest.fixture(scope="module")
def ranked():
    """Of the diagnostics one ranks samplers as regret does, one nearly so, and the others are uninformative."""
    levels = {name: level / 10 for name, level in LEVELS.items()}
    return compared(**{**CONSTANT, "total_variation": levels, "mean_error": ONE_SWAP})


def test_best_diagnostics_are_those_with_the_largest_rank_correlation(ranked):
    (text,) = best_diagnostics(ranked)
    near = "mean_error (Spearman +0.90 [+0.40, +1.00])"  # two of five ranks swapped: 1 - 6 * 2 / (5 * 24)
    assert text == (
        f"total_variation (Spearman +1.00 [+1.00, +1.00]), {near}: of all diagnostics, their ranks go closest with "
        "those of the regret gap, over 5 cells of 5 samplers."
    )


def test_uninformative_diagnostics_are_not_named():
    (text,) = best_diagnostics(compared(**CONSTANT))
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


def test_cheapest_samplers_are_ordered_by_gradients(priced):
    (text,) = cheapest_samplers(priced.costs)
    assert text == (
        "Within 10% of exact regret for the least gradients, on sparse: psgld (1 gradient a round; 1.0 s), "
        "mala (21 gradients a round; 1.0 s), hmc (30 gradients a round; 1.0 s)."
    )


def test_budget_findings_name_every_sampler(priced):
    first, _, *others = studies.findings(priced)
    assert first.startswith(
        "Within 10% of exact regret for the least gradients, on sparse: psgld (1 gradient"
    )
    never = "does not come within 10% of exact regret at any of these budgets, by its whole interval"
    assert others == [
        f"sparse: sgld {never}.",
        "sparse: psgld comes within 10% of exact regret at 1 gradient a round; 1.0 s.",
        "sparse: mala comes within 10% of exact regret at 21 gradients a round; 1.0 s.",
        "sparse: hmc comes within 10% of exact regret at 30 gradients a round; 1.0 s.",
        f"sparse: nuts {never}.",
    ]


def test_samplers_findings_answer_in_the_first_two_sentences(ranked):
    first, second, *others = studies.findings(replace(ranked, name="samplers"))
    assert first.startswith("total_variation (Spearman +1.00")
    assert second.startswith("Regret added to that of exact draws")
    assert len(others) == 2
    assert [text.endswith(".") for text in (first, second, *others)] == [True] * 4


RNG = np.random.default_rng(5)
SHARED = RNG.gamma(2.0, 10.0, size=200)


def line(saved):
    """Regret at c = 0, at a c that saves `saved`, and at a harmful one."""
    return {0.0: SHARED, 0.1: SHARED - saved + RNG.normal(size=200), 1.0: SHARED + 50}


def test_gain_is_cross_validated_over_runs():
    gains = bonus.gain(line(5.0))
    assert gains.best == (0.1, 0.1)
    assert gains.saved.mean() == pytest.approx(5, abs=5 / np.sqrt(200))
    # of ten c that all do nothing the best by chance gains nothing on the other half: 5 sd of the mean
    chance = bonus.gain({0.0: SHARED} | {c: RNG.permutation(SHARED) for c in np.arange(1.0, 11)})
    assert abs(chance.saved.mean()) < 5 * np.sqrt(2 * SHARED.var() / 200)


@pytest.mark.parametrize(
    ("exact", "sampler", "expected"),
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
def test_effect_of_the_bonus_is_attributed_to_posterior_or_sampler(exact, sampler, expected):
    gains = {("exact", 0): bonus.gain(line(exact)), ("sgld", 2): bonus.gain(line(sampler))}
    (text,) = bonus.whose_effect(gains)
    assert expected in text


@pytest.mark.parametrize(
    ("accurate", "inaccurate", "expected"),
    [
        (5.0, 0.0, "helps only where sampling is accurate. "),
        (0.0, 5.0, "helps only where sampling is inaccurate. "),
        (5.0, 5.0, "helps whether sampling is accurate or not. "),
        (0.0, 0.0, "shows no help, whether sampling is accurate or not. "),
        (5.0, None, "helps. "),
        (None, 0.0, "shows no help. "),
    ],
)
def test_bonus_is_compared_between_accurate_and_inaccurate_sampling(accurate, inaccurate, expected):
    saved = {("mala", 20): accurate, ("sgld", 1): inaccurate}
    gains = {who: bonus.gain(line(much)) for who, much in saved.items() if much is not None}
    (text,) = bonus.when_accurate(gains, {who: who[0] == "sgld" for who in gains})
    assert text.startswith(f"the feel-good term {expected}Regret that it saves per run: ")
    for name, who, much in (
        ("accurate", "mala at 20 steps", accurate),
        ("inaccurate", "sgld at 1 step", inaccurate),
    ):
        assert (f" with {name} sampling ({who})" in text) == (much is not None)
        assert (f"no sampler here is {name}" in text) == (much is None)


def test_bonus_findings_omit_accuracy_that_was_not_measured():
    assert bonus.when_accurate({("mala", 20): bonus.gain(line(5.0))}, {}) == []


def test_bonus_findings_answer_the_question():
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
    first, *others = studies.findings(StudyResults.from_cells("bonus", cells, data))
    assert first.startswith(
        "sparse: the feel-good term helps whether sampling is accurate or not. Regret that it saves"
    )
    assert (
        "+50.0 [+50.0, +50.0], median +50.0 with accurate sampling (exact draws, mala at 20 steps)" in first
    )
    assert (
        "with inaccurate sampling (sgld at 2 steps, sgld at 20 steps, mala at 2 steps). A c above zero"
        in first
    )
    assert "effect of the posterior; less than exact draws gain: sgld at 2 steps (-50" in first
    assert "no difference in gain found between exact draws and mala at 2 steps, mala at 20 steps" in first
    assert "with exact draws the c that is best on the other half of the runs (0.1) saves +50.0" in others[0]
    assert sum("no different by c at 20 than at 2 steps" in sentence for sentence in others) == 2


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
    first, *others = studies.findings(StudyResults.from_cells("warmstart", cells, data))
    assert first == (
        "sparse: a cold start has more regret than a warm one with sgld at 1 step, less with none, of 6 compared at "
        "equal budget."
    )
    assert (
        "sparse: sgld at 1 step, cold minus warm start: +100.0 [+100.0, +100.0], median +100.0 regret per run."
        in others
    )
    assert len(others) == 6


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
    assert "1e+02 (alpha=1): +50.0 [+50.0, +50.0], median +50.0; " in text
    assert "1e+03 (alpha=0.1): +500" in text
    assert "From the least stiff to the stiffest it grows (+450" in text
    level = {c.id: tree(c, i, 100) for i, c in enumerate(cells)}
    same = StudyResults.from_cells("stiffness", cells, level)
    along = Comparison("posterior.alpha")
    assert "condition_number" in studies.figures(replace(results, comparison=along))
    assert "condition_number" not in studies.figures(replace(same, comparison=along))
    with pytest.raises(InputError, match="condition numbers differ"):
        sweeps.against_condition_number(same)
