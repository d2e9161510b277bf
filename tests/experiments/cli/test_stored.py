"""`fgtsva show` and `fgtsva compare` on stored studies."""

import re
from io import StringIO

import numpy as np
import pytest
import xarray as xr
import yaml
from helpers import stored_study
from rich.console import Console

from experiments.analysis.load import load_results
from experiments.cli import stored
from experiments.storage.files import write_tree
from experiments.storage.netcdf import from_netcdf
from samplers.errors import InputError


def printed(function, *folders):
    console = Console(file=StringIO(), width=120, highlight=False)
    function(console, *folders)
    return console.file.getvalue()


def change(folder, settings):
    """Changes settings of all cells in config.yaml."""
    path = folder / "config.yaml"
    content = yaml.safe_load(path.read_text())
    for cell in content["cells"].values():
        cell |= {
            key: {**cell[key], **value} if isinstance(value, dict) else value
            for key, value in settings.items()
        }
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return folder


def unfinished(folder, kept):
    """Stores only some cells, as a study that was interrupted does."""
    cells = from_netcdf(folder / "results.nc").children["cells"].children
    (folder / "results.nc").unlink()
    (folder / "cells").mkdir()
    for key in kept:
        tree = xr.DataTree(cells[key].to_dataset())
        write_tree(folder / "cells" / f"{key}.nc", tree)
    return folder


def test_a_stored_study_is_shown(tmp_path):
    text = printed(stored.show, stored_study.store(tmp_path / "study"))
    assert "A study" in text
    assert "fgtsva run sampler=exact,mala,sgld" in text
    assert re.search(r"sparse +sgld", text)


def test_an_unfinished_study_shows_what_it_has(tmp_path):
    folder = unfinished(stored_study.store(tmp_path / "study"), ["sparse0", "sparse2"])
    results = load_results(folder)
    assert [cell.id for cell in results.done] == ["sparse0", "sparse2"]
    assert results.status["dense1"][0] == "unfinished"
    assert np.isfinite(results.regret_gaps["sparse2"].value)
    assert "4 of 6 cells have no results" in printed(stored.show, folder)


def test_a_folder_without_a_finished_cell_is_one_line(tmp_path):
    folder = unfinished(stored_study.store(tmp_path / "study"), [])
    with pytest.raises(InputError, match="no cell in it is finished"):
        load_results(folder)


def test_two_studies_are_compared_in_what_differs(tmp_path):
    first = stored_study.store(tmp_path / "first")
    second = change(stored_study.store(tmp_path / "second"), {"posterior": {"c": 0.1}})
    text = printed(stored.compare, first, second)
    assert "posterior.c: 0.003 -> 0.1" in text
    assert len(re.findall(r"\+0\.0 \[\+0\.0, \+0\.0\]", text)) == 6  # the same numbers were stored
    assert "not paired" not in text


def test_studies_of_other_seeds_are_not_paired(tmp_path):
    first = stored_study.store(tmp_path / "first")
    second = change(stored_study.store(tmp_path / "second"), {"seed": 1})
    text = printed(stored.compare, first, second)
    assert "seed: 0 -> 1" in text
    assert text.count("not paired") == 6


def test_studies_without_common_cells_are_one_line(tmp_path):
    first = stored_study.store(tmp_path / "first", samplers=("exact", "mala"))
    second = stored_study.store(tmp_path / "second", samplers=("hmc", "nuts"))
    with pytest.raises(InputError, match="no cells with the same settings"):
        printed(stored.compare, first, second)


def test_an_unpaired_interval_covers_the_difference():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        first, second = rng.normal(size=30), rng.normal(1.0, 2.0, size=40)
        interval = stored.unpaired_difference(first, second)
        covered += interval.low <= 1.0 <= interval.high
    assert 175 <= covered <= 200  # 95% nominal; a percentile bootstrap of 30 values covers about 93%
