"""The study `logistic` and the claim C12, on synthetic cells."""

from helpers.synthetic_cells import ROUNDS, RUNS, synthetic_cell

from experiments import studies
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.compose import compose
from experiments.studies.claims import RULES
from experiments.studies.logistic.claims import FALSE, OPEN, TRUE

# Regret a round beyond the reference's, at one step and at more.
LEVELS = {"sgld": (3.0, 2.0), "psgld": (0.5, 0.0), "mala": (0.3, 0.0), "hmc": (0.2, 0.0), "nuts": (0.1, 0.0)}
LEVELS |= {"polya_gamma": (0.05, 0.0), "laplace": (0.0, 0.0), "smc": (0.02, 0.02)}


def study(levels=LEVELS, *, noise=True):
    """All cells, with a total variation in the order of regret and the same R-hat everywhere."""
    cells = compose(["study=logistic", f"rounds={ROUNDS}", f"runs={RUNS}", "diagnostics.rounds=50"]).cells
    data = {}
    for seed, cell in enumerate(cells):
        name, steps = cell.flat["sampler"], cell.flat.get("sampler.num_steps", 10)
        level = levels[name][steps > 1] if steps < 50 else 0.0
        data[cell.id] = synthetic_cell(cell, level, 0.0, seed=seed * noise, total_variation=0.02 + level / 10)
    return StudyResults.from_cells("logistic", cells, data)


def test_every_cell_samples_the_same_posterior_of_bernoulli_rewards():
    cells = compose(["study=logistic"]).cells
    assert len(cells) == 15
    for cell in cells:
        assert cell.flat["environment.rewards"] == cell.flat["likelihood"] == "bernoulli"
    assert len({cell.reference_key() for cell in cells}) == 1


def test_findings_verdicts_table_and_figure():
    results = study()
    regret, association = studies.findings(results)
    assert regret.startswith("Of 14 cells, 8 certainly have more regret than Polya-Gamma Gibbs (")
    assert "the most has sgld at 1, +150.0" in regret
    assert association.startswith("Total variation to the gated reference tells regret, and R-hat")
    distance, rhat, langevin = studies.verdicts(results)
    assert [distance.outcome(), rhat.outcome(), langevin.outcome()] == [
        TRUE,
        OPEN,
        TRUE,
    ]  # one R-hat for all
    assert [one.holds for one in langevin.evidence] == [True, True]
    frame = studies.tables(results)["against_reference"].frame
    assert len(frame) == 14
    assert frame.set_index("cell").loc["sgld at 1", "actions"] == "wrong"
    quality = studies.figures(results)["quality"].draw()
    assert len(quality.axes[0].containers) == 14


def test_verdicts_both_ways():
    worse = study(LEVELS | {"psgld": (4.0, 2.5)})
    assert [one.outcome() for one in studies.verdicts(worse)][2] == FALSE
    same = study(dict.fromkeys(LEVELS, (0.0, 0.0)), noise=False)
    assert [one.outcome() for one in studies.verdicts(same)][2] == OPEN


def test_the_rule_of_c12_both_ways():
    judge = RULES["claims/feel_good_logistic"].judge
    near, far, wide = Interval(1.1, 1.0, 1.2), Interval(2.0, 1.8, 2.2), Interval(1.2, 0.9, 1.5)
    assert judge({"LMC": near, "MALA": near}).verdict == "supported"
    assert judge({"LMC": far, "MALA": near}).verdict == "supported only where the sampler is MALA"
    assert judge({"LMC": far, "MALA": far}).verdict == "not supported at these settings"
    assert judge({"LMC": wide, "MALA": near}).verdict.startswith(
        "cannot be tested here, because the intervals of LMC"
    )
