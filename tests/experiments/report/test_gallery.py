"""Updates of the gallery: one entry is replaced or added, the others stay."""

import re
from pathlib import Path

import pytest
from helpers.stored_study import store

from experiments import studies
from experiments.analysis.load import load_results
from experiments.analysis.statistics import Interval
from experiments.analysis.verdicts import Evidence, Verdict
from experiments.cli.publish import publish
from experiments.config.study_files import claim_names, study_names
from experiments.report import gallery
from experiments.report.gallery import BEGIN, END, place, shown, verdict_counts
from experiments.report.readme import ANSWERS, HEADLINES, part, update
from experiments.report.study_page import evidence, folded, standings_table

PAGE = f"# Studies\n\n{BEGIN}\n### `budget`: old\ntext\n\n### `samplers`: kept\nmore\n{END}\n\nThe end.\n"


def test_an_entry_is_replaced_and_the_others_stay():
    page = place(PAGE, "budget", "### `budget`: new\n\n")
    assert "old" not in page
    assert page.index("`budget`: new") < page.index("`samplers`: kept")
    assert page.startswith("# Studies")
    assert page.endswith("The end.\n")


def test_a_new_entry_is_inserted_in_order():
    page = place(PAGE, "claims", "### `claims`: new\n\n")
    assert page.index("`budget`") < page.index("`claims`") < page.index("`samplers`")
    assert place(page, "claims", "### `claims`: new\n\n") == page


def test_condition_figure_is_shown_for_sweeps_of_alpha_only():
    drawn = ["sweep", "condition_number", "quality"]
    assert shown(drawn, "posterior.alpha") == ["sweep", "condition_number", "quality"]
    assert shown(drawn, "posterior.c") == ["sweep", "quality"]
    assert shown(["regret"], None) == ["regret"]
    assert shown(["gaps", "regret", "quality"], None) == ["gaps", "regret", "quality"]
    assert shown(["exponents", "scaling"], None) == ["exponents"]


def test_every_study_is_shown():
    page = (Path(gallery.__file__).parents[1] / "README.md").read_text()
    for name in set(study_names()) - set(claim_names()):  # those are on the page of `fgtsva atlas`
        assert f"### `{name}`: " in page


@pytest.mark.parametrize("page", ["README.md", "experiments/README.md"])
def test_every_link_of_the_page_leads_somewhere(page):
    page = Path(gallery.__file__).parents[2] / page
    links = re.findall(r"\]\(([^)#\s]+)(?:#([^)]*))?\)", page.read_text())
    assert links
    for file, anchor in links:
        path = page.parent / file
        assert path.exists(), file
        if anchor:
            headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}


README_PARTS = "".join(
    f"<!-- {name}: begin -->\n{text}\n<!-- {name}: end -->\n"
    for name, text in (("answer", "1. a\n2. b\n3. c"), ("demo", "nothing"), ("findings", "head\n---"))
)


def test_a_stored_study_is_published(tmp_path):
    """Gallery, the study's own page and README get their numbers from the folder; a second time changes nothing."""
    here, readme = tmp_path / "experiments", tmp_path / "README.md"
    here.mkdir()
    (here / "README.md").write_text(PAGE)
    readme.write_text(README_PARTS)
    folder = store(tmp_path / "study")
    publish(folder, readme, here)
    results = load_results(folder)
    page = (here / "README.md").read_text()
    own = page.partition(f"### `{results.name}`")[2].partition("\n### ")[0]
    (picture,) = re.findall(r"!\[.+\]\((.*)\)", own)
    assert (here / picture).is_file()
    assert "`samplers`: kept" in page
    detail = (here / "studies" / results.name / "README.md").read_text()
    pictures = re.findall(r"!\[(.+)\]\((.*)\)", detail)
    assert len({text for text, _ in pictures}) == len(pictures) > 1
    for _, path in pictures:
        assert (here / "studies" / results.name / path).is_file()
    for sentence in studies.findings(results):
        assert sentence in own
        assert sentence in detail
    assert "<summary>Regret and cost of every cell</summary>" in detail
    before = page, readme.read_text(), detail
    publish(folder, readme, here)
    assert before == (
        (here / "README.md").read_text(),
        readme.read_text(),
        (here / "studies" / results.name / "README.md").read_text(),
    )


def test_numbers_of_the_readme_come_from_the_stored_study(tmp_path):
    results = load_results(store(tmp_path / "study", samplers=("exact", "psgld", "sgld")))
    page = update(README_PARTS, results, "the table")
    assert part(page, "demo") == "the table"
    first, *others = part(page, "answer").splitlines()
    gap = next(
        gap
        for key, gap in results.regret_gaps.items()
        if results.labels[key] == "sgld" and results.panels[key] == "sparse"
    )
    assert gap.format("auto") in first
    assert others == ["2. b", "3. c"]
    assert [study for study, _ in ANSWERS] == ["default", "samplers", "budget"]
    table = part(page, "findings")
    assert f"{gap.value:+.{gap.decimals}f} on " in table
    assert table.count("[`default`]") == 2


def test_findings_and_answers_are_those_of_studies():
    assert {*HEADLINES, *(name for name, _ in ANSWERS)} <= {*study_names()}


def test_outcomes_of_verdicts_are_counted():
    held = Verdict("Figure", "A", "Ratios.", (Evidence("tuned", Interval(1.3, 1.1, 1.5), True),))
    mixed = Verdict(
        "Figure", "B", "Ratios.", (*held.evidence, Evidence("textbook", Interval(1, 0, 2), False))
    )
    assert verdict_counts([held, held, mixed]) == "2 reproduced, 1 reproduced with conditions"


def test_standings_have_a_row_per_algorithm_and_nothing_along_a_sweep():
    rows = [
        {"algorithm": name, "environment": noise, "level": level, "growth": 0.5, "final_regret_mean": regret}
        for name, regret in (("ours", 12.34), ("theirs", 1234.5))
        for noise in ("sparse", "dense")
        for level in ("textbook", "tuned")
    ]
    table = standings_table(rows[:-1])
    assert table.startswith("sparse / dense:")
    assert "| ours | 0.50 / 0.50 | 12.3 / 12.3 | 0.50 / 0.50 | 12.3 / 12.3 |" in table
    assert "| theirs | 0.50 / 0.50 | 1234.5 / 1234.5 | 0.50 / - | 1234.5 / - |" in table
    assert standings_table([*rows, rows[0]]) == ""
    assert standings_table([]) == ""


def test_folded_evidence_has_the_numbers():
    assert folded("More", []) == ""
    assert folded("More", ["one.", "two."]).splitlines()[2::2] == ["one.", "two.", "</details>"]
    measured = (Evidence("tuned", Interval(1.3, 1.1, 1.5), True),)
    (lines,) = evidence([Verdict("Figure", "A beats B", "Ratios.", measured)])
    assert lines == "A beats B. Ratios.\n\n- tuned: 1.3 [1.1, 1.5], holds"
