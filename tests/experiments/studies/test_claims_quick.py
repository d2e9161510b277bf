"""The quick size of every claim's study, from the command to the verdict on the page."""

import pytest

from experiments.analysis.claims import Outcome
from experiments.analysis.load import load_results
from experiments.config.compose import compose
from experiments.config.study_files import claim_names
from experiments.execute import execute, prepare
from experiments.report import atlas
from experiments.report.analyse import analyse
from experiments.studies.claims import RULES


@pytest.mark.slow
@pytest.mark.parametrize("name", claim_names())
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
