"""The report as a file: its content, and that it refers to nothing outside."""

import re
import shutil

from helpers.report_page import Elements, embedded
from helpers.stored_study import store, write

from experiments import studies
from experiments.report.svg import inline

HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>&\""


def test_report_refers_to_no_other_file(report, elements):
    for _, attributes in elements.seen:
        for key in ("src", "href", "xlink:href", "action", "srcset", "poster", "data"):
            value = attributes.get(key) or ""
            assert value == "" or value.startswith(("#", "data:")), (key, value)
    text = report.read_text()
    assert not re.findall(r"@import|url\((?!#)", text)
    namespace = "http://www.w3.org/2000/svg"  # a name, not an address
    assert not re.findall(r"https?://[^\s\"'<]+", text.replace(namespace, ""))


def test_report_allows_its_own_script_only(elements):
    scripts = elements.named("script")
    assert sorted(attributes.get("type", "") for attributes in scripts) == [
        "",
        "application/json",
        "application/json",
    ]
    (policy,) = (m["content"] for m in elements.named("meta") if m.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/=]{44}'", policy)


def test_report_has_question_answer_tables_figures_and_versions(report, elements):
    assert elements.texts["h1"] == ["A study"]
    assert "What does it cost?" in elements.texts["p"]
    assert "fgtsva run sampler=exact,mala,sgld" in elements.texts["p"]
    headings = [
        "Answer",
        "Figures",
        "A probed round",
        "Tables",
        "Settings and versions",
    ]
    assert elements.texts["h2"] == headings
    tables = [attributes["id"] for attributes in elements.named("details") if "id" in attributes]
    assert tables == ["results", "pairwise", "quality", "cost", "association", "by-round"]
    names = [text.rpartition("/")[2] for text in elements.texts["figcaption"]]
    assert names == ["gaps.svg", "regret.svg", "quality.svg"]
    assert {"python", "3.12.0", "code", "0123456789ab"} <= {*elements.texts["dt"], *elements.texts["dd"]}
    assert "c: 0.003" in "".join(elements.texts["pre"])
    identifiers = [attributes["id"] for _, attributes in elements.seen if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_report_of_an_older_run_has_no_command(tmp_path):
    folder = store(tmp_path / "study", diagnosed=False, command=None)
    assert 'class="command"' not in write(folder).read_text()


def test_a_rebuilt_report_is_the_same_to_the_byte(report):
    before = report.read_bytes()
    assert write(report.parent).read_bytes() == before
    shutil.rmtree(report.parent / "figures")
    assert write(report.parent).read_bytes() == before


def test_names_and_texts_are_escaped(tmp_path):
    folder = store(
        tmp_path / "study",
        samplers=("exact", HOSTILE),
        title=HOSTILE,
        question=HOSTILE,
        command=HOSTILE,
        study=HOSTILE,
        versions={HOSTILE: HOSTILE},
        probes=(5,),
    )
    text = write(folder).read_text()
    elements = Elements(text)
    assert not elements.named("img")
    assert len(elements.named("script")) == 3
    assert elements.texts["h1"] == [HOSTILE]
    assert embedded(text)["cells"][1]["label"] == HOSTILE


def test_reason_of_a_failed_cell_is_shown(tmp_path):
    folder = store(tmp_path / "study", failed={"mala": "ValueError: a <b>bad</b> step"}, diagnosed=False)
    text = write(folder).read_text()
    assert "Cells to look at" in Elements(text).texts["h2"]
    assert "failed: ValueError: a &lt;b&gt;bad&lt;/b&gt; step" in text


def test_report_of_failed_cells_only(tmp_path):
    folder = store(tmp_path / "study", failed=dict.fromkeys(("exact", "mala", "sgld"), "no"))
    assert "No cell was finished" in write(folder).read_text()


def test_report_without_diagnostics_has_no_round_view(tmp_path):
    text = write(store(tmp_path / "study", diagnosed=False)).read_text()
    assert 'id="round"' not in text
    assert "Sampler quality" not in text
    assert "Regret and cost" in text


def test_the_findings_of_a_study_are_its_answer(tmp_path, monkeypatch):
    sentences = ["So it is.", "And <so>.", "Third.", "Fourth."]
    monkeypatch.setattr(studies, "findings", lambda results: sentences)
    folder = store(tmp_path / "study", diagnosed=False)
    paragraphs = Elements(write(folder).read_text()).texts["p"]
    assert "So it is." in paragraphs
    assert "And <so>." in paragraphs
    answer = re.search('id="answer".*?</section>', write(folder).read_text(), re.DOTALL)[0]
    at_once = answer.partition("<details>")[0]  # the answer is at most three sentences, the others unfold
    assert "And &lt;so&gt;." in at_once
    assert "Fourth." not in at_once
    assert "1 more sentence" in answer


def test_inlined_figures_have_no_scripts_or_links(tmp_path):
    path = tmp_path / "odd.svg"
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 100 50">'
        '<script>alert(1)</script><g id="a" onclick="alert(2)"><path d="M 0 0" style="fill: url(http://x/y)"/>'
        '<use xlink:href="http://x/z"/><use xlink:href="#a"/><text>R &lt; 1</text></g></svg>'
    )
    text = str(inline(path, "f0-"))
    for fragment in ("alert", "onclick", "x/y", "x/z"):
        assert fragment not in text
    assert '<use href="#f0-a"/><text>R &lt; 1</text>' in text


def test_a_figure_that_cannot_be_drawn_does_not_affect_others(tmp_path, monkeypatch):
    def broken(*_):
        raise ValueError("too <large>")

    monkeypatch.setattr("experiments.figures.gap_plots.against_quality", broken)
    text = write(store(tmp_path / "study")).read_text()
    assert "A figure could not be drawn: quality (ValueError: too &lt;large&gt;)" in text
    assert "File: figures/regret.svg" in text


def test_old_figures_in_the_folder_are_not_in_the_report(report):
    """They may be truncated, of fewer cells, or from another program."""
    before, folder = report.read_bytes(), report.parent / "figures"
    (folder / "regret.svg").write_text("<svg")
    (folder / "regret_theirs.svg").write_text("<svg>theirs</svg>")
    (folder / "quality.svg").unlink()
    assert write(report.parent).read_bytes() == before
    (folder / "regret_theirs.svg").unlink()
    assert (folder / "quality.svg").is_file()
