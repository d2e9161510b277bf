"""Progress of a run: a table that fills on a terminal, lines elsewhere; and where the time went."""

import re
from io import StringIO

import numpy as np
import pytest
import xarray as xr
from helpers.synthetic_comparison import study
from rich.console import Console

from experiments.cli import progress as module
from experiments.cli import signals, stages
from experiments.cli.progress import progress
from experiments.execute.estimate import Estimate

ADDED = {"exact": 0.0, "sgld": 5.0}


class Stored:
    """A folder that holds cells once they are put there."""

    def __init__(self):
        self.cells = {}

    def put(self, cell):
        rng = np.random.default_rng(0)  # common random numbers
        regret = rng.random((8, 4)) + ADDED.get(cell.flat["sampler"], 0.01)
        self.cells[cell.id] = xr.DataTree(xr.Dataset({"regret": (("run", "round"), regret)}))

    def holds(self, cell):
        return cell.id in self.cells

    def read(self, cell):
        return self.cells[cell.id]


@pytest.fixture
def cells():
    return study("default").cells


def test_a_line_for_each_finished_cell_where_there_is_no_terminal(cells):
    folder, lines = Stored(), Console(file=StringIO(), width=40)
    ahead = Estimate(len(cells), 0, 2, 100, 40.0, {cell.id: 1.0 for cell in cells})
    with progress(Console(file=StringIO()), cells, 0, ahead, folder, lines) as tell:
        tell(cells[0], 3, 0)
        assert lines.file.getvalue() == ""
        for cell in cells[:2]:
            folder.put(cell)
            tell(cell, cell.rounds, 0)
            tell(cell, cell.rounds, 0)
    exact, sgld = lines.file.getvalue().splitlines()  # one each, not wrapped
    assert re.fullmatch(r"1/12 sparse exact: regret \d.\d ± \d.\d; left: \d+ seconds", exact)
    assert re.fullmatch(
        r"2/12 sparse sgld: regret 2\d.\d ± \d.\d, gap to exact \+20.0 \[\+20.0, \+20.0\]; left: \d+ seconds",
        sgld,
    )


def test_a_long_cell_has_a_line_now_and_then(cells, monkeypatch):
    monkeypatch.setattr(module, "LINE_EVERY", 0.0)
    lines = Console(file=StringIO(), width=200)
    with progress(Console(file=StringIO()), cells, 0, None, Stored(), lines) as tell:
        tell(cells[0], 300, 0)
    assert lines.file.getvalue() == f"0/12 sparse exact: 300 of {cells[0].rounds} rounds\n"


def test_the_table_fills_above_the_bar_and_fits_the_terminal(cells):
    folder = Stored()
    console = Console(file=StringIO(), force_terminal=True, width=80, height=10)
    with progress(console, cells, 12, None, folder) as tell:
        for number, cell in enumerate(cells[:6], 1):
            folder.put(cell)
            tell(cell, cell.rounds, 1)
            shown = min(number, 10 - module.BELOW)
            assert signals._shown_lines == [2 + shown + module.HEADER]
    assert signals._shown_lines == [1]
    text = console.file.getvalue()  # drawn once more at the end
    assert "sparse nuts" in text
    assert "sparse exact" not in text.rpartition("sparse nuts")[0].rpartition("finished")[2]  # three rows fit
    finished = module.Finished(cells, folder)
    finished.new(cells)
    assert finished.texts(cells[1])[2] == "+20.0 [+20.0, +20.0]"
    seen = Console(file=StringIO(), width=80)
    seen.print(finished.table(2))
    lines = seen.file.getvalue().splitlines()
    assert len(lines) == 2 + module.HEADER
    assert [line.split()[1] for line in lines if "sparse" in line] == ["hmc", "nuts"]


def test_the_seconds_of_a_run_add_up():
    start = stages.STARTED
    rows = [
        {"seconds": 4.0, "compile_seconds": 9.0, "diagnose_seconds": 7.0},
        {"seconds": 100.0, "compile_seconds": 0.0},  # stored before
        {"status": "failed"},
    ]
    text = stages.describe_time([start + 6, start + 21, start + 30], rows, [0, 2], processes=2)
    assert text == (
        "Time: 30 s: loading 6, cells 15 (computing 4, compiling 9, diagnosing 7, storing and waiting 10, "
        "in 2 processes), tables, figures and report 9"
    )
