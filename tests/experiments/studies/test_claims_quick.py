"""The studies of claims at their quick size: from the command to the verdict on the page.

Two are played in the fast suite, the others in the slow one. All rules meet cells with made-up regret here.
"""

import numpy as np
import pytest
from helpers.synthetic_cells import diagnosed, played

from experiments import studies
from experiments.analysis.claims import Outcome
from experiments.analysis.load import load_results
from experiments.analysis.results import StudyResults
from experiments.config.compose import compose
from experiments.config.study_files import claim_names
from experiments.execute import execute, prepare
from experiments.report import atlas
from experiments.report.analyse import analyse
from experiments.studies.claims import RULES
from fgtsva_ppl.diagnostics import METRICS

FAST = ("claims/pessimistic_class", "claims/two_divergences")
MARKED = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in claim_names()]


@pytest.mark.parametrize("name", MARKED)
def test_quick_size_gives_a_verdict(name, tmp_path):
    study = compose([f"study={name}", "quick=true", f"output={tmp_path / 'run'}"])
    written = prepare(study)
    assert all(status.status == "done" for status in execute(study, written).values())
    folder = written.path
    analyse(folder)
    claim, numbers, judgement = RULES[name].assess(load_results(folder))
    assert numbers, judgement
    assert judgement.outcome in Outcome
    assert judgement.verdict in (folder / "verdicts.md").read_text()
    (entry,) = (entry for entry in atlas.gather([folder]) if entry.study == name)
    assert entry.size == "quick size"
    assert entry.figure.startswith("<svg")
    page = atlas.render([entry])
    assert claim.id in page
    assert "a look, no evidence" in page


def made_up(name, size):
    """Results of a claim's cells whose regret is drawn at random; nothing is simulated."""
    study, rng = compose([f"study={name}", *size]), np.random.default_rng(0)
    data = {}
    for cell in study.cells:
        level = rng.uniform(0.5, 2.0)
        tree = played(cell, level * rng.gamma(2.0, 1.0, size=(40, 50)), rng.uniform(1, 20))
        metrics = {key: rng.uniform(0.1, 2.0, size=(4, 1)) for key in METRICS}
        data[cell.id] = diagnosed(tree, metrics) if study.diagnostics.runs else tree
    return StudyResults.from_cells(name, study.cells, data)


@pytest.mark.parametrize("name", claim_names())
def test_a_rule_reads_all_cells_of_its_study(name):
    """At full size, where most rules have more cells to find than at the quick one."""
    results = made_up(name, [])
    claim, numbers, judgement = RULES[name].assess(results)
    assert numbers, judgement.verdict
    assert judgement.sentence.endswith(".")
    for number in numbers.values():
        assert np.isnan(number.value) or number.low <= number.value <= number.high or np.isnan(number.low)
    first = next(iter(studies.figures(results).values()))
    assert first.draw().axes
    assert claim.id.startswith("C")
