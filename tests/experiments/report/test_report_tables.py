"""Tables of the report."""

import re

import h5py
import numpy as np
import pandas as pd
from helpers.stored_study import GRADIENTS, PROBES, seal, store, write

from experiments.analysis.load import load_results
from experiments.analysis.summary import defaults_note
from experiments.report.association_tables import association_table, by_round_table, cost_table
from experiments.report.tables import summary_table
from fgtsva_ppl.diagnostics import METRICS


def texts(table):
    return [[field.text for field in row] for row in table.rows]


def test_every_table_has_a_caption_and_headings_that_are_buttons(elements):
    assert len(elements.named("caption")) == 6
    columns = [attributes for attributes in elements.named("th") if attributes["scope"] == "col"]
    assert len(columns) == len(elements.named("button"))
    assert {attributes["aria-sort"] for attributes in columns} == {"none"}
    labelled = {attributes["for"] for attributes in elements.named("label")}
    assert {attributes["id"] for attributes in elements.named("select")} == labelled


def test_report_has_tables_of_quality_against_regret():
    cost = {
        "case": "sparse",
        "sampler": "sgld",
        "gradients_per_round": 20.0,
        "gradients_per_round_low": 10.0,
        "gradients_per_round_high": np.inf,
    }
    cost |= {"seconds": 2.0, "seconds_low": 1.0, "seconds_high": np.inf, "work": "steps + 1"}
    assert texts(cost_table([cost])) == [["sgld", "sparse", "20 [10, ∞]", "steps + 1", "2.0 [1.0, ∞]"]]
    scopes = [
        ("", "across cells", 0.1),
        *((e, s, 0.1 if s == "sgld" else -0.1) for e in "ab" for s in ("mala", "sgld")),
    ]
    association = [
        {
            "diagnostic": "total_variation",
            "environment": e,
            "scope": scope,
            "spearman": 0.5,
            "spearman_low": low,
            "spearman_high": 0.9,
        }
        for e, scope, low in scopes
    ]
    assert texts(association_table(association)) == [["action TV", "0.50 [0.10, 0.90]", "0.5", "2", "0", "4"]]
    row = {
        "environment": "sparse",
        "cell": "mala",
        "round": 2,
        "regret_per_round": 1.5,
        "regret_median": 1.25,
    }
    row |= {"exact": 1.0, "regret_gap": 0.5, "regret_gap_low": 0.25}
    row |= {"regret_gap_high": 0.75, "regret_gap_median": 0.375}
    row |= dict.fromkeys(METRICS, 0.125)
    shown = [
        "mala",
        "sparse",
        "2",
        "1.5",
        "1.25",
        "1",
        "0.50 [0.25, 0.75]",
        "0.375",
        "0.125",
        "0.125",
        "0.125",
    ]
    assert texts(by_round_table([row])) == [shown]


def test_report_tables_are_those_of_the_results(report):
    text, results = report.read_text(), load_results(report.parent)

    def rows(section):
        (body,) = re.findall(rf'<details id="{section}".*?<tbody>(.*?)</tbody>', text, re.DOTALL)
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
    (head,) = re.findall(r'<details id="results".*?<thead>(.*?)</thead>', report.read_text(), re.DOTALL)
    headings = re.findall("<button[^>]*>(.*?)</button>", head)
    at = headings.index("gap to exact")
    assert headings[at - 1 : at + 3] == ["regret", "gap to exact", "median gap", "median regret"]
    (caption,) = (text for text in elements.texts["caption"] if text.startswith("Regret and cost."))
    assert "the fraction of runs with more than 3 times the mean regret of exact draws" in caption
    assert "runs above 3× exact 0" in caption.partition("The same in all cells: ")[2]
    assert "mean acceptance probability, over replicas of the round's own draw" in elements.texts["dd"]


def test_diagnostics_without_an_association_are_left_out():
    nothing = [{"diagnostic": metric, "environment": "", "scope": "across cells"} for metric in METRICS]
    assert association_table(nothing) is None
    assert association_table([]) is None
    across = {"diagnostic": "total_variation", "environment": "", "scope": "across cells", "spearman": 0.5}
    within = {"diagnostic": "rhat", "environment": "sparse", "scope": "mala", "spearman": 0.5}
    assert len(association_table([*nothing[1:], across, within]).rows) == 2


def test_reason_for_a_missing_reference_is_shown(tmp_path):
    folder = store(tmp_path / "here")
    with h5py.File(folder / "results.nc", "r+") as file:
        file["cells/sparse1/diagnostics"].attrs["rejections"] = "no reference for 1 of 2 <b>rounds</b>"
    seal(folder / "results.nc")
    page = write(folder).read_text()
    assert "sparse mala: no reference for 1 of 2 &lt;b&gt;rounds&lt;/b&gt;." in page
    assert page.count("no reference for") == 1


def test_numbers_have_the_digits_that_their_error_deserves():
    gap = {"regret_gap": -0.1994, "regret_gap_low": -0.4712, "regret_gap_high": 0.0934}
    row = {"sampler": "mala", "final_regret_mean": 12.0, "final_regret_se": 0.4712, **gap}
    row |= {"regret_gap_median": -0.00457, "final_regret_median": 11.0}
    (fields,) = texts(summary_table([row]))
    assert fields == ["mala", "12.00 ± 0.47", "−0.20 [−0.47, +0.09]", "−0.00", "11.00"]


def test_default_coordinates_that_differ_are_stated():
    def row(sampler, preconditioner):
        return {"sampler": sampler, "sampler.preconditioner": preconditioner}

    rows = [row("exact", ""), row("sgld", "none"), row("mala", "dense"), row("hmc", "dense")]
    assert defaults_note(rows).endswith("in the preconditioner: none (sgld); dense (mala, hmc).")
    assert defaults_note(rows[2:]) == ""
    assert defaults_note([*rows, row("mala", "none")]) == ""  # a grid: its column says it
