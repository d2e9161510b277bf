"""`StudyResults`: cells by their settings, arrays of all cells, and derived quantities, each computed once."""

from dataclasses import replace
from pathlib import Path

import arviz
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.stored_study import DIM, PROBES, SAMPLERS, store
from helpers.stored_study import ROUNDS as STORED_ROUNDS
from helpers.stored_study import RUNS as STORED_RUNS
from helpers.synthetic_cells import LEVELS, ROUNDS, RUNS, compared, played, synthetic_cell

import experiments
from experiments import studies
from experiments.analysis import pairs, statistics
from experiments.analysis.arrays import diagnostic
from experiments.analysis.load import load_results
from experiments.analysis.results import StudyResults
from experiments.analysis.summary import records, to_csv, to_frame
from experiments.config.compose import compose
from experiments.config.study_files import claim_names, study_names
from experiments.report.tables import quality_table
from experiments.storage.files import write_tree
from fgtsva_ppl.diagnostics import METRICS
from samplers.errors import InputError


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """As a notebook opens it."""
    return experiments.load_results(str(store(tmp_path_factory.mktemp("results") / "study")))


@pytest.fixture(scope="module")
def synthetic():
    return compared("posterior.c=0.003,1")


def test_folder_is_loaded_by_path(stored):
    assert (stored.name, stored.title, stored.question) == ("default", "A study", "What does it cost?")
    assert stored.command == "fgtsva run sampler=exact,mala,sgld"
    assert stored.config["precision"] == "float64"
    assert set(stored.status.values()) == {("done", "")}
    assert [cell.flat["sampler"] for cell in stored.cells] == [*SAMPLERS] * 2
    with pytest.raises(AttributeError):
        experiments.no_such_name  # noqa: B018


def test_arrays_of_all_cells_are_selected_by_id_and_by_setting(stored):
    assert stored.regret.dims == ("cell", "run", "round")
    assert stored.regret.shape == (6, STORED_RUNS, STORED_ROUNDS)
    first = stored.cells[1]
    own = stored.data[first.id]["regret"]
    np.testing.assert_array_equal(stored.regret.sel(cell=first.id), own)
    np.testing.assert_array_equal(stored.cumulative_regret.sel(cell=first.id), np.cumsum(own, axis=1))
    by_setting = stored.final_regret.sel(sampler="mala").sel(environment="sparse")
    np.testing.assert_allclose(by_setting.values.ravel(), own.sum("round"))
    np.testing.assert_array_equal(stored.regret["round"], 1 + np.arange(STORED_ROUNDS))


def test_settings_that_differ_are_coordinates_and_what_a_cell_lacks_is_missing(synthetic):
    assert list(synthetic.regret["posterior.c"].values) == [
        cell.flat["posterior.c"] for cell in synthetic.cells
    ]
    assert set(synthetic.regret.sel({"posterior.c": 1.0})["sampler"].values) == set(LEVELS)
    assert "posterior.alpha" not in synthetic.regret.coords  # the same in all
    cells = compose(["agent=thompson,oful", "environment=sparse", f"rounds={ROUNDS}", f"runs={RUNS}"]).cells
    data = {cell.id: played(cell, np.ones((RUNS, ROUNDS))) for cell in cells}
    assert "" in StudyResults.from_cells("mine", cells, data).regret["posterior"].values


def test_cells_of_different_sizes_are_filled_with_nan_and_end_where_they_end(synthetic):
    short = synthetic.data[synthetic.cells[0].id].to_dataset().isel(run=slice(0, 3), round=slice(0, 7))
    data = {**synthetic.data, synthetic.cells[0].id: xr.DataTree(short)}
    results = StudyResults.from_cells("mine", synthetic.cells, data)
    own = results.regret.sel(cell=synthetic.cells[0].id)
    assert int(own.notnull().sum()) == 21
    assert np.isnan(results.cumulative_regret.sel(cell=synthetic.cells[0].id)[0, 7:]).all()
    np.testing.assert_allclose(
        results.final_regret.sel(cell=synthetic.cells[0].id)[:3], short["regret"].sum("round")
    )


def test_diagnostics_of_all_cells_are_one_dataset(stored):
    assert stored.diagnostics.sizes["cell"] == 6
    assert stored.diagnostics["total_variation"].dims == ("cell", "probed_run", "probe")
    np.testing.assert_array_equal(stored.diagnostics["probe"], PROBES)
    own = stored.data[stored.cells[1].id]["diagnostics/total_variation"]
    np.testing.assert_array_equal(stored.diagnostics["total_variation"].sel(cell=stored.cells[1].id), own)


def test_chains_of_a_probed_round_are_what_arviz_takes(stored):
    cell = stored.cells[1]
    assert stored.probed_rounds(cell) == list(PROBES)
    tree = stored.tree(cell, round=PROBES[0])
    assert {"posterior", "sample_stats"} <= set(tree.children)
    assert stored.tree(cell.id, PROBES[0]).identical(tree)
    assert arviz.ess(tree)["theta"].shape == (DIM,)
    assert {key: list(trees) for key, trees in stored.arviz_trees.items()} == {
        cell.id: list(PROBES) for cell in stored.cells
    }


def test_gaps_are_those_of_equal_runs_and_no_others(synthetic):
    """A gap is a run minus the same run of the reference: shared randomness cancels, that of another run does not."""
    for pair in synthetic.pairs:
        exact = next(
            cell
            for cell in synthetic.cells
            if cell.flat["sampler"] == "exact" and cell.flat["posterior.c"] == pair.cell.flat["posterior.c"]
        )
        by_run = synthetic.final(pair.cell) - synthetic.final(exact)
        np.testing.assert_array_equal(pair.regret_gap_by_run, by_run)
        assert synthetic.regret_gaps[pair.cell.id].value == pytest.approx(
            LEVELS[pair.sampler] * ROUNDS, abs=0.1
        )
        permuted = synthetic.final(pair.cell) - np.roll(synthetic.final(exact), 1)
        assert by_run.std() < 0.01 * permuted.std()
        row = synthetic.summary.iloc[synthetic.cells.index(pair.cell)]
        np.testing.assert_allclose(
            row[["regret_gap", "regret_gap_low", "regret_gap_high"]].astype(float),
            statistics.mean_interval(by_run),
        )
        assert row["regret_gap_median"] == pytest.approx(np.median(by_run))


def test_a_gap_is_bootstrapped_once(monkeypatch):
    results = compared()
    calls = []
    real = pairs.mean_interval
    monkeypatch.setattr(pairs, "mean_interval", lambda values: calls.append(1) or real(values))
    for _ in range(3):
        assert len(results.regret_gaps) == len(LEVELS) - 1
        assert results.summary["regret_gap"].notna().sum() == len(LEVELS) - 1
        assert studies.findings(results)
    assert len(calls) == len(LEVELS) - 1


def test_a_cell_that_failed_has_a_row_with_its_reason_and_no_numbers(tmp_path):
    results = load_results(store(tmp_path / "study", failed={"sgld": "no memory"}, diagnosed=False))
    gone = results.summary[results.summary["status"] == "failed"]
    assert list(gone["sampler"]) == ["sgld", "sgld"]
    assert list(gone["reason"]) == ["no memory"] * 2
    assert gone["final_regret_mean"].isna().all()
    assert [cell.flat["sampler"] for cell in results.done] == ["exact", "mala"] * 2
    assert results.regret.sizes["cell"] == 4
    assert results.diagnostics.sizes == {}


def test_without_an_exact_reference_there_is_no_gap(synthetic):
    cells = [cell for cell in synthetic.cells if cell.flat["sampler"] != "exact"]
    results = StudyResults.from_cells("mine", cells, {cell.id: synthetic.data[cell.id] for cell in cells})
    assert results.pairs == []
    assert results.regret_gaps == {}
    assert "regret_gap" not in results.summary


def test_csv_keeps_types_and_column_order(tmp_path):
    rows = [
        {"name": "a, b", "whole": 3, "share": 0.1, "seen": True, "setting": 1},
        {"name": "c", "share": float("nan"), "late": float("inf"), "whole": "", "setting": 0.5},
    ]
    table = to_frame(rows)
    assert list(table.columns) == ["name", "whole", "share", "seen", "setting", "late"]
    text = 'name,whole,share,seen,setting,late\n"a, b",3,0.1,True,1,\nc,,,,0.5,inf\n'
    assert to_csv(table).decode() == text
    assert records(table) == [
        {"name": "a, b", "whole": 3, "share": 0.1, "seen": True, "setting": 1},
        {"name": "c", "setting": 0.5, "late": float("inf")},
    ]
    (tmp_path / "table.csv").write_bytes(to_csv(table))
    assert pd.read_csv(tmp_path / "table.csv")["late"][1] == float("inf")


@pytest.mark.parametrize("name", sorted(set(study_names()) - set(claim_names())))
def test_hooks_of_every_study_are_loaded_by_name(name):
    own = studies.hooks(name)
    folder = Path(studies.__file__).parent / name
    for kind, function in own._asdict().items():
        assert (folder / f"{kind}.py").is_file() == (function is not None)
        assert function is None or function.__module__ == f"experiments.studies.{name}.{kind}"


def test_an_unknown_study_has_no_hooks():
    for name in ("", "os", "../bonus", "bonus.findings", "__init__"):
        assert studies.hooks(name) == studies.Hooks()


def test_an_unknown_study_has_the_default_findings(synthetic):
    theirs, default = (studies.findings(replace(synthetic, name=name)) for name in ("theirs", "default"))
    assert theirs == default


def test_a_missing_diagnostic_is_unknown_and_no_error(synthetic):
    """Older folders may lack one that was added since."""
    cell = next(cell for cell in synthetic.cells if cell.flat["sampler"] == "mala")
    tree = synthetic_cell(cell, 1.0, 0.1)
    tree["diagnostics"] = xr.DataTree(tree["diagnostics"].to_dataset().drop_vars("rhat"))
    results = StudyResults.from_cells("mine", synthetic.cells, {**synthetic.data, cell.id: tree})
    assert np.isnan(results.summary["rhat"][cell.id])
    assert results.by_round["rhat"].isna().any()


def test_an_unknown_diagnostic_is_an_input_error(synthetic, tmp_path):
    """Also one that has another name since the folder was written: it would be missing from every table."""
    with pytest.raises(InputError, match=r"unknown diagnostic 'tv' .did you mean 'total_variation'"):
        diagnostic(synthetic.data[synthetic.cells[0].id], "tv")
    folder = store(tmp_path / "study")
    results = load_results(folder)
    old = results.data[results.cells[0].id].copy()
    old["diagnostics"] = xr.DataTree(old["diagnostics"].to_dataset().rename(total_variation="tv"))
    tree = xr.DataTree(xr.Dataset(attrs={"fgtsva": "0"}))
    tree[f"cells/{results.cells[0].id}"] = old
    write_tree(folder / "results.nc", tree)
    with pytest.raises(InputError, match=r"unknown diagnostic 'tv' .did you mean 'total_variation'"):
        load_results(folder)


def test_a_metric_is_in_every_table_by_its_entry_alone(synthetic, monkeypatch):
    """Heading, summary column and ranking come from METRICS."""
    changed = METRICS["mcse"]._replace(heading="my own", in_summary=True)
    assert "mcse" not in synthetic.summary
    monkeypatch.setitem(METRICS, "mcse", changed)
    results = replace(synthetic, name="again")
    assert "mcse" in results.summary
    assert "my own" in quality_table(results).table.headings


def test_a_missing_folder_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="not a folder"):
        load_results(tmp_path / "absent")


def test_cells_are_selected_by_several_settings_at_once(tmp_path):
    results = load_results(store(tmp_path / "study"))
    (cell,) = results.select(sampler="mala", environment="dense")
    assert results.regret.sel(cell=cell)["sampler"] == "mala"
    assert list(results.summary.index) == [cell.id for cell in results.cells]
    assert results.select(sampler="nuts") == []
    with pytest.raises(InputError, match=r"unknown setting 'smapler' .did you mean 'sampler'"):
        results.select(smapler="mala")
    assert repr(results) == "StudyResults('default': 6 cells, 6 done)"


def test_a_round_that_was_not_probed_and_an_unknown_cell_are_one_clear_line(tmp_path):
    results = load_results(store(tmp_path / "study"))
    cell = results.cells[0]
    assert set(results.tree(cell, 2).children) == {"posterior", "sample_stats"}
    with pytest.raises(InputError, match=r"round 3 was not probed; probed: 2, 5, 12"):
        results.tree(cell, 3)
    with pytest.raises(InputError, match="unknown cell 'mala'; cells with results: sparse0"):
        results.tree("mala", 2)


def test_a_module_of_a_study_that_is_not_imported_is_noticed(monkeypatch):
    monkeypatch.delattr("experiments.studies.bonus.findings")
    studies._all_hooks.cache_clear()
    try:
        with pytest.raises(ImportError, match=r"bonus/findings.py is not used"):
            studies.hooks("bonus")
    finally:
        studies._all_hooks.cache_clear()
