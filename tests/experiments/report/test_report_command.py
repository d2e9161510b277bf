"""`fgtsva report`: unreadable folders, and reports rebuilt from a real run."""

import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import arviz
import h5py
import matplotlib
import matplotlib.pyplot as plt
import pytest
import xarray as xr
from helpers.command import call
from helpers.stored_study import seal, store, write

from experiments.cli import commands
from samplers.errors import InputError


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
