"""A claim of one's own is one folder: its study runs, its rule judges, and the atlas has it."""

import pytest

from experiments import studies
from experiments.analysis.claims import Outcome
from experiments.analysis.load import load_results
from experiments.config import study_files
from experiments.config.compose import compose
from experiments.execute import execute, prepare
from experiments.report import atlas, atlas_table
from experiments.report.analyse import analyse
from experiments.studies import claims

STUDY = """
title: "Uniform play against the best arm"
question: Does uniform play lose to the clairvoyant?
claim:
  id: C99
  paper: "Nobody 2030, a made-up paper"
  sentence: "Uniform play has linear regret."
  setting: "Two Gaussian arms."
  source: "made up"
grids:
  - environment: [arms]
    environment.arms: [2]
    environment.gap: [0.5]
    agent: [uniform]
    rounds: [400]
    runs: [20]
quick: {rounds: [40], runs: [8]}
"""

RULE = """
from experiments.analysis.claims import above, by_parts
from experiments.analysis.measures import growth_of


def measure(results):
    return {"growth exponent": growth_of(results, {"agent": "uniform"})}


def judge(numbers):
    growth = numbers["growth exponent"]
    return by_parts({"arms are two": above(growth, 0.8)}, f"Regret grows with the power {growth.format('.2f')}.")
"""


@pytest.fixture
def own_claim(tmp_path, monkeypatch):
    """A folder of studies with this claim only."""
    folder = tmp_path / "studies" / "claims" / "made_up_claim"
    folder.mkdir(parents=True)
    (folder / "study.yaml").write_text(STUDY)
    (folder / "rule.py").write_text(RULE)
    (folder / "__init__.py").write_text("")
    (folder.parent / "pending.yaml").write_text("claims: []\n")
    monkeypatch.setattr(study_files, "STUDIES", tmp_path / "studies")
    monkeypatch.setattr(claims, "__path__", [*claims.__path__, str(folder.parent)])
    yield "claims/made_up_claim"
    claims.RULES.pop("claims/made_up_claim", None)


def test_a_folder_with_a_study_and_a_rule_is_a_claim(own_claim, tmp_path):
    assert study_files.claim_names() == [own_claim]
    written = prepare(study := compose([f"study={own_claim}", f"output={tmp_path / 'run'}"]))
    execute(study, written)
    analyse(written.path)
    results = load_results(written.path)
    assert claims.RULES[own_claim].assess(results).judgement.outcome == Outcome.SUPPORTED
    assert "made-up paper" in (written.path / "verdicts.md").read_text()
    assert "Supported." in studies.findings(results)
    (entry,) = atlas.gather([tmp_path / "run"])
    assert (entry.claim.id, entry.size, entry.runs) == ("C99", "", 20)
    (tmp_path / "studies" / own_claim / "study.yaml").write_text(STUDY.replace("[400]", "[500]"))
    (older,) = atlas.gather([tmp_path / "run"])
    assert older.size == "cells of an earlier version of this study"
    page = atlas.render([entry])
    assert "Uniform play has linear regret." in page
    assert "20 runs, each with its own seed" in page
    atlas_table.write(
        [entry], {own_claim: 90.0}, readme=tmp_path / "README.md", pictures=tmp_path / "pictures"
    )
    table = (tmp_path / "README.md").read_text()
    assert f"| supported | 1.5 (took {entry.minutes:.1f}) | `fgtsva run study={own_claim}` |" in table
    assert (tmp_path / "pictures" / "made_up_claim.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_tested_says_why(own_claim):
    (waiting,) = atlas.gather([])
    assert "Not run: `fgtsva run study=claims/made_up_claim`" in atlas_table.markdown([waiting])
    missing = atlas.Entry("", waiting.claim._replace(missing="there are no such data"))
    assert "Cannot be tested here, because there are no such data." in atlas_table.markdown([missing])
    assert "Cannot be tested here, because there are no such data." in atlas.render([missing])
