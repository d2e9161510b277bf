"""The data of the report's view of a probed round."""

import json

import numpy as np
import pytest
from helpers.report_page import embedded
from helpers.stored_study import PROBES

from experiments.report import round_view


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
    cell = round_view.ProbedCell("id", "mala", "sparse", "#000", groups["diagnostics"], chains)
    monkeypatch.setattr(round_view, "VALUES", 60_000)
    size = len(json.dumps(round_view.rounds([cell] * 40)))
    assert size < 60_000 * 4 * 4  # at least fifty draws a chain are kept: the rest does not fit


def test_the_default_study_leaves_room_for_figures_below_two_megabytes():
    """12 cells with 12 probed rounds each; figures and tables take half a megabyte."""
    from helpers.stored_study import diagnosis

    groups = diagnosis(0, "mala")
    chains = dict.fromkeys(range(1, 13), groups[f"round_{PROBES[0]}/posterior"])
    cell = round_view.ProbedCell("id", "mala", "sparse", "#000", None, chains)
    assert len(json.dumps(round_view.rounds([cell] * 12), separators=(",", ":"))) < 1_400_000
