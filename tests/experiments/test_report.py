"""The report as a file: its content, and that it refers to nothing outside."""

import json
import re
import shutil
import sys
from contextlib import redirect_stdout
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import arviz
import h5py
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.stored_study import GRADIENTS, PROBES, seal, store, write

from experiments.analysis.load import load_results
from experiments.analysis.results import StudyResults
from experiments.cli import commands
from experiments.report import round_view
from experiments.report.answer import answer
from experiments.report.association_tables import association_table, by_round_table, cost_table
from experiments.report.svg import inline
from fgtsva_ppl.diagnostics import METRICS
from samplers.errors import InputError

HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>&\""


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the text of some."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.within: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self.within.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        while self.within and self.within.pop() != tag:
            pass

    def handle_data(self, data):
        if self.within:
            self.texts[self.within[-1]][-1] += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.seen if name == tag]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write(store(tmp_path_factory.mktemp("report") / "study"))


@pytest.fixture(scope="module")
def elements(report):
    return Elements(report.read_text())


def embedded(text: str) -> dict:
    (seen,) = re.findall(r'<script type="application/json" id="rounds-data">(.*?)</script>', text)
    return json.loads(seen)


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
    assert sorted(attributes.get("type", "") for attributes in scripts) == ["", "application/json"]
    (policy,) = (m["content"] for m in elements.named("meta") if m.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/=]{44}'", policy)


def test_report_has_question_answer_tables_figures_and_versions(report, elements):
    assert elements.texts["h1"] == ["A study"]
    assert "What does it cost?" in elements.texts["p"]
    assert "fgtsva run sampler=exact,mala,sgld" in elements.texts["p"]
    headings = [
        "Answer",
        "Results",
        "Sampler quality",
        "Work to come close to exact regret",
        "Diagnostics against regret",
        "Regret around the probe rounds",
        "Figures",
        "A probed round",
        "Settings and versions",
    ]
    assert elements.texts["h2"] == headings
    assert len(elements.named("table")) == 5
    names = [text.rpartition("/")[2] for text in elements.texts["figcaption"]]
    assert names == ["regret.svg", "quality.svg"]
    assert {"python", "3.12.0", "code", "0123456789ab"} <= {*elements.texts["dt"], *elements.texts["dd"]}
    assert "c: 0.003" in "".join(elements.texts["pre"])
    identifiers = [attributes["id"] for _, attributes in elements.seen if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_every_table_has_a_caption_and_headings_that_are_buttons(elements):
    assert len(elements.named("caption")) == 5
    columns = [attributes for attributes in elements.named("th") if attributes["scope"] == "col"]
    assert len(columns) == len(elements.named("button"))
    assert {attributes["aria-sort"] for attributes in columns} == {"none"}
    labelled = {attributes["for"] for attributes in elements.named("label")}
    assert {attributes["id"] for attributes in elements.named("select")} == labelled


def texts(table):
    return [[field.text for field in row] for row in table.rows]


def test_report_has_tables_of_quality_against_regret():
    cost = {
        "case": "sparse",
        "sampler": "sgld",
        "gradients": 20.0,
        "gradients_low": 10.0,
        "gradients_high": np.inf,
    }
    cost |= {"seconds": 2.0, "seconds_low": 1.0, "seconds_high": np.inf, "work": "steps + 1"}
    assert texts(cost_table([cost])) == [["sgld", "sparse", "20 [10, ∞]", "steps + 1", "2 [1, ∞]"]]
    scopes = [
        ("", "across cells", 0.1),
        *((e, s, 0.1 if s == "sgld" else -0.1) for e in "ab" for s in ("mala", "sgld")),
    ]
    association = [
        {"diagnostic": "tv", "environment": e, "scope": scope, "spearman": 0.5, "low": low, "high": 0.9}
        for e, scope, low in scopes
    ]
    assert texts(association_table(association)) == [["action TV", "0.5 [0.1, 0.9]", "0.5", "2", "0", "4"]]
    row = {
        "environment": "sparse",
        "cell": "mala",
        "round": 2,
        "regret_per_round": 1.5,
        "regret_median": 1.25,
    }
    row |= {"exact": 1.0, "gap": 0.5, "gap_low": 0.25, "gap_high": 0.75, "gap_median": 0.375}
    row |= dict.fromkeys(METRICS, 0.125)
    shown = [
        "mala",
        "sparse",
        "2",
        "1.5",
        "1.25",
        "1",
        "0.5 [0.25, 0.75]",
        "0.375",
        "0.125",
        "0.125",
        "0.125",
    ]
    assert texts(by_round_table([row])) == [shown]


def test_report_tables_are_those_of_the_results(report):
    text, results = report.read_text(), load_results(report.parent)

    def rows(section):
        (body,) = re.findall(rf'<section id="{section}".*?<tbody>(.*?)</tbody>', text, re.DOTALL)
        return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("</tr>")[:-1]]

    assert rows("cost") == texts(cost_table(results.cost_table.to_dict(orient="records")))
    assert [row[:2] for row in rows("cost")] == [
        [s, e] for e in ("sparse", "dense") for s in ("mala", "sgld")
    ]
    assert rows("cost")[0][2].startswith(f"{GRADIENTS} [{GRADIENTS}, ")
    assert rows("by-round") == texts(by_round_table(results.by_round.to_dict(orient="records")))
    assert len(rows("by-round")) == 4 * len(PROBES)
    for name, table in (("cost", results.cost_table), ("by_round", results.by_round)):
        stored = pd.read_csv(report.parent / f"{name}.csv")
        pd.testing.assert_frame_equal(stored, table, check_dtype=False, rtol=0, atol=0)


def test_tail_share_is_shown_beside_the_gap_and_explained(report, elements):
    (head,) = re.findall(r'<section id="results".*?<thead>(.*?)</thead>', report.read_text(), re.DOTALL)
    headings = re.findall("<button[^>]*>(.*?)</button>", head)
    at = headings.index("gap to exact")
    assert headings[at - 1 : at + 3] == ["median regret", "gap to exact", "median gap", "runs above 3× exact"]
    (caption,) = (text for text in elements.texts["caption"] if text.startswith("Regret and cost."))
    assert "the share of runs with more than 3 times the mean regret of exact draws" in caption
    assert "mean acceptance probability, over replicas of the round's own draw" in elements.texts["dd"]


def test_report_of_an_older_run_has_no_command(tmp_path):
    folder = store(tmp_path / "study", diagnosed=False, command=None)
    assert 'class="command"' not in write(folder).read_text()


def test_diagnostics_without_an_association_are_left_out():
    nothing = [{"diagnostic": metric, "environment": "", "scope": "across cells"} for metric in METRICS]
    assert association_table(nothing) is None
    assert association_table([]) is None
    across = {"diagnostic": "tv", "environment": "", "scope": "across cells", "spearman": 0.5}
    within = {"diagnostic": "rhat", "environment": "sparse", "scope": "mala", "spearman": 0.5}
    assert len(association_table([*nothing[1:], across, within]).rows) == 2


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
    assert len(elements.named("script")) == 2
    assert elements.texts["h1"] == [HOSTILE]
    assert embedded(text)["cells"][1]["label"] == HOSTILE


def test_reason_of_a_failed_cell_is_shown(tmp_path):
    folder = store(tmp_path / "study", failed={"mala": "ValueError: a <b>bad</b> step"}, diagnosed=False)
    text = write(folder).read_text()
    assert "Cells that failed" in Elements(text).texts["h2"]
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
    monkeypatch.setattr(StudyResults, "findings", ["So it is.", "And <so>.", "Third.", "Fourth."])
    folder = store(tmp_path / "study", diagnosed=False)
    paragraphs = Elements(write(folder).read_text()).texts["p"]
    assert "So it is." in paragraphs
    assert "And <so>." in paragraphs
    numbers = next(i for i, text in enumerate(paragraphs) if "exact reference" in text)
    assert paragraphs.index("So it is.") < numbers
    answer = re.search('id="answer".*?</section>', write(folder).read_text(), re.DOTALL)[0]
    at_once = answer.partition("<details>")[0]  # the answer is a sentence or two, the others unfold
    assert "And &lt;so&gt;." in at_once
    assert "Third." not in at_once
    assert "2 more sentences" in answer


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


def test_round_view_has_the_stored_values(report):
    data = embedded(report.read_text())
    assert [cell["label"] for cell in data["cells"]] == ["exact", "mala", "sgld"] * 2
    for cell in data["cells"]:
        assert [one["round"] for one in cell["rounds"]] == list(PROBES)
        for one in cell["rounds"]:
            assert sum(one["probability"]) == pytest.approx(1, abs=1e-3)
            assert len(one["chains"]) == round_view.COORDINATES
            for chains in one["chains"].values():
                assert len(chains["trace"]) == 4
                assert len(chains["trace"][0]) <= round_view.DRAWS
                assert np.sum(chains["ranks"]) == 4 * 300
    frozen = data["cells"][2]["rounds"][0]
    assert len(set(frozen["chains"]["theta[0]"]["trace"][0])) == 1
    assert frozen["metrics"]["rhat"] == "∞"
    assert frozen["metrics"]["ebfmi"] is None


def test_ranks_are_flat_for_mixed_chains_only():
    separated = np.arange(400.0).reshape(4, 100)
    counts = round_view._ranks(separated)
    assert counts.shape == (4, round_view.BINS)
    assert np.array_equal(np.argwhere(counts[0] > 0).ravel(), np.arange(5))
    mixed = np.arange(400.0).reshape(100, 4).T
    assert np.all(round_view._ranks(mixed) == 5)


def test_report_of_many_cells_stays_small(monkeypatch):
    from helpers.stored_study import diagnosis

    groups = diagnosis(0, "mala")
    chains = {t: groups[f"round_{t}/posterior"] for t in PROBES}
    cell = round_view.ProbedCell("mala", "sparse", "#000", groups["diagnostics"], chains)
    monkeypatch.setattr(round_view, "VALUES", 60_000)
    size = len(json.dumps(round_view.rounds([cell] * 40)))
    assert size < 60_000 * 4 * 4  # at least fifty draws a chain are kept: the rest does not fit


def row(environment, sampler, mean, gap=None, low=None, high=None):
    known = {
        "environment": environment,
        "sampler": sampler,
        "final_regret_mean": mean,
        "final_regret_se": 1.0,
    }
    known |= {} if gap is None else {"regret_gap": gap}
    known |= {} if low is None else {"regret_gap_low": low, "regret_gap_high": high}
    return known


def sentences_of(rows):
    return answer(rows, [one["sampler"] for one in rows], [one["environment"] for one in rows])


def test_answer_distinguishes_cells_by_their_intervals():
    first, sparse, dense = sentences_of(
        [
            row("sparse", "exact", 100.0),
            row("sparse", "mala", 101.0, 1.0, -2.0, 4.0),
            row("sparse", "sgld", 150.0, 50.0, 40.0, 60.0),
            row("dense", "exact", 200.0),
            row("dense", "mala", 190.0, -10.0, -12.0, -8.0),
            row("dense", "sgld", 2200.0, 2000.0, 1900.0, 2100.0),
        ]
    )
    assert first.startswith(
        "Of 4 cells with an exact reference, 1 cannot be distinguished from exact draws, 2 had more regret and 1 had "
        "less regret"
    )
    assert sparse == (
        "On sparse: more regret than exact draws (regret 100): sgld +50 [+40, +60]; "
        "no difference from exact draws (regret 100) found: mala +1 [−2, +4]."
    )
    assert "less regret than exact draws (regret 200): mala −10 [−12, −8]" in dense
    assert "sgld +2000 [+1900, +2100]" in dense


def test_answer_counts_cells_beyond_those_it_names():
    rows = [row("sparse", "exact", 1.0), *(row("sparse", f"s{i}", 2.0, 1.0 + i, 0.5, 9.0) for i in range(9))]
    assert sentences_of(rows)[1].endswith("s5 +6 [+0.5, +9] and 3 more.")


def test_answer_without_a_reference_or_an_interval():
    (text,) = sentences_of([row("sparse", "mala", 10.0), row("sparse", "sgld", 30.0)])
    assert "mala" in text
    assert "the least of 2; sgld the most, 30 ± 1" in text
    assert "no interval" in sentences_of([row("sparse", "exact", 1.0), row("sparse", "mala", 2.0, 1.0)])[0]


def call(*arguments, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fgtsva", *arguments])
    try:
        commands.main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    return code, *capsys.readouterr()


def damage(folder: Path, how: str) -> Path:
    target = folder / how.partition(":")[0]
    match how.partition(":")[2]:
        case "missing":
            target.unlink()
        case "cut":
            target.write_bytes(target.read_bytes()[:-2000])
        case "foreign":
            target.write_text("a: [1, 2]\n")
        case "broken":
            target.write_bytes(b"{{{ \xff\xfe")
        case "changed":  # which HDF5 does not mind
            with h5py.File(target, "r+") as file:
                file["cells/sparse1/regret"][0, 0] += 1
        case "other":  # ours by its digest only
            with h5py.File(target, "w") as file:
                file["numbers"] = [1.0]
            seal(target)
        case "variables":
            with h5py.File(target, "r+") as file:
                del file["cells/sparse1/num_gradients"]
            seal(target)
        case "cells":
            target.write_text("fgtsva: 1\ncells: {a: {environment: 3}}\n")
    return folder


@pytest.mark.parametrize(
    "how",
    [
        "config.yaml:missing", "config.yaml:foreign", "config.yaml:broken", "config.yaml:cells",
        "results.nc:missing", "results.nc:cut", "results.nc:foreign", "results.nc:changed", "results.nc:other",
        "results.nc:variables",
    ],
)  # fmt: skip
def test_an_unreadable_folder_is_one_line_and_exit_code_2(how, tmp_path, capsys, monkeypatch):
    folder = damage(store(tmp_path / "study", diagnosed=False), how)
    code, out, err = call("report", str(folder), capsys=capsys, monkeypatch=monkeypatch)
    assert code == 2, out + err
    assert err.count("\n") == 1
    assert how.partition(":")[0] in err
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize("how", ["missing", "foreign"])
def test_tables_are_rebuilt_from_the_stored_cells(how, tmp_path):
    folder = store(tmp_path / "study", diagnosed=False)
    write(folder)
    before = (folder / "summary.csv").read_bytes()
    page = write(damage(folder, f"summary.csv:{how}")).read_bytes()
    assert (folder / "summary.csv").read_bytes() == before
    assert write(folder).read_bytes() == page


def test_report_of_a_missing_folder_is_rejected(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for name in ("empty", "file", "absent"):
        with pytest.raises(InputError, match=name):
            write(tmp_path / name)
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The output folder of a real run, small, and what was printed."""
    folder = tmp_path_factory.mktemp("run") / "here"
    arguments = ("environment=sparse", "sampler=exact,mala", "rounds=12", "runs=3", "diagnostics.rounds=2,12")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as printed:
        patch.setattr(sys, "argv", ["fgtsva", "run", *arguments, f"output={folder}"])
        with pytest.raises(SystemExit) as stop:
            commands.main()
    assert not stop.value.code
    return folder, printed.getvalue()


@pytest.mark.slow
def test_a_run_writes_the_report_that_the_command_rebuilds(ran, capsys, monkeypatch):
    folder, printed = ran
    report_file = folder / "report.html"
    assert str(report_file) in printed
    before = report_file.read_bytes()
    report_file.unlink()
    code, out, err = call("report", str(folder), capsys=capsys, monkeypatch=monkeypatch)
    assert code == 0, err
    assert "report.html" in out
    assert report_file.read_bytes() == before
    text = before.decode()
    for fragment in ("mala", "numpyro", "blackjax", "arviz", "python"):
        assert fragment in text


@pytest.mark.slow
def test_diagnostics_do_not_change_the_run(ran, tmp_path, capsys, monkeypatch):
    arguments = ("environment=sparse", "sampler=exact,mala", "rounds=12", "runs=3", "diagnostics.runs=0")
    code, _, err = call(
        "run", *arguments, f"output={tmp_path / 'plain'}", capsys=capsys, monkeypatch=monkeypatch
    )
    assert code == 0, err
    with (
        xr.open_datatree(ran[0] / "results.nc") as one,
        xr.open_datatree(tmp_path / "plain/results.nc") as other,
    ):
        assert len(one["cells"].children) == 2
        for key, cell in one["cells"].children.items():
            assert "diagnostics" in cell.children
            assert "diagnostics" not in other["cells"][key].children
            xr.testing.assert_identical(
                cell.to_dataset().drop_attrs(), other["cells"][key].to_dataset().drop_attrs()
            )


@pytest.mark.slow
def test_arviz_plots_the_stored_chains(ran):
    """As a user would: stored chains are read and passed to ArviZ unchanged."""
    matplotlib.use("Agg")
    with xr.open_datatree(ran[0] / "results.nc") as tree:
        (cell,) = (cell for cell in tree["cells"].children.values() if "mala" in cell.attrs["settings"])
        stored = cell["round_12"].load()
    assert {"posterior", "sample_stats"} <= set(stored.children)
    for plot in (arviz.plot_trace, arviz.plot_rank, arviz.plot_ess):
        assert len(plot(stored, backend="matplotlib").viz["figure"].item().axes) > 0
        plt.close("all")


def test_reason_for_a_missing_reference_is_shown(tmp_path):
    folder = store(tmp_path / "here")
    with h5py.File(folder / "results.nc", "r+") as file:
        file["cells/sparse1/diagnostics"].attrs["refused"] = "no reference for 1 of 2 <b>rounds</b>"
    seal(folder / "results.nc")
    page = write(folder).read_text()
    assert "sparse mala: no reference for 1 of 2 &lt;b&gt;rounds&lt;/b&gt;." in page
    assert page.count("no reference for") == 1
