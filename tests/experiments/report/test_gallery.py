"""Updates of the gallery: one entry is replaced or added, the others stay."""

from pathlib import Path

from helpers.stored_study import store

from experiments import studies
from experiments.analysis.load import load_results
from experiments.analysis.statistics import Interval
from experiments.analysis.verdicts import Evidence, Verdict
from experiments.config.study_files import claim_names, study_names
from experiments.report import gallery
from experiments.report.gallery import (
    BEGIN,
    END,
    entry,
    evidence,
    folded,
    place,
    shown,
    standings_table,
)

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
    assert shown(["gaps", "regret", "quality"], None) == ["gaps", "quality"]
    assert shown(["exponents", "scaling"], None) == ["exponents"]


def test_every_study_is_shown():
    page = (Path(gallery.__file__).parents[1] / "README.md").read_text()
    for name in set(study_names()) - set(claim_names()):  # those are on the page of `fgtsva atlas`
        assert f"### `{name}`: " in page


def test_every_picture_of_the_page_exists():
    page = (Path(gallery.__file__).parents[1] / "README.md").read_text()
    names = [line.partition("](")[2].rstrip(")") for line in page.splitlines() if line.startswith("![")]
    assert names
    for name in names:
        assert (Path(gallery.__file__).parents[1] / name).is_file()


def test_every_picture_has_its_own_alternative_text(tmp_path):
    results = load_results(store(tmp_path / "study"))
    drafts = studies.figures(results)
    pictures = {f"gallery/mine_{name}.png": draft.title for name, draft in drafts.items()}
    lines = [line for line in entry(results, pictures, 1.0).splitlines() if line.startswith("![")]
    assert len(drafts) > 1
    assert len({line.partition("](")[0] for line in lines}) == len(drafts)


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
