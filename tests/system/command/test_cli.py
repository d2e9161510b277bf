"""The command line as a user meets it."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from omegaconf import OmegaConf
from typer import rich_utils

from experiments.cli import completion
from experiments.config.compose import compose
from experiments.execute import job

SMALL = ("environment=sparse", "sampler=exact,mala", "rounds=12", "runs=3", "diagnostics.runs=0")


def rows(folder: Path) -> list[dict[str, str]]:
    with open(folder / "summary.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_a_study_of_a_users_table_has_figures_with_bounds(fgtsva):
    """A stored cell has the content digest of its table, which the command does not have."""
    Path("mine.csv").write_text("a,b,kind\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(12)))
    overrides = ("environment=table", "environment.path=mine.csv", "environment.label=kind", "sampler=mala")
    numbers = ("rounds=4", "runs=2", "diagnostics.runs=0", "bounds=true")
    code, _, err = fgtsva("run", *overrides, *numbers, "output=here")
    assert (code, err.strip()) == (0, "")
    page = Path("here/report.html").read_text()
    assert "figures/regret.svg" in page
    assert fgtsva("report", "here")[0] == 0
    assert Path("here/report.html").read_text() == page


def test_run_writes_all_documented_files(fgtsva):
    code, out, _ = fgtsva("run", *SMALL, "output=here")
    assert code == 0
    assert "mala" in out
    assert {"config.yaml", "results.nc", "summary.csv", "figures"} <= {p.name for p in Path("here").iterdir()}
    assert (Path("here") / "figures" / "regret.svg").stat().st_size > 1000
    exact, mala = rows(Path("here"))
    assert [exact["sampler"], mala["sampler"]] == ["exact", "mala"]
    named = {"environment", "agent", "posterior", "sampler", "runs", "rounds"}
    named |= {"final_regret_mean", "final_regret_se", "final_regret_median"}
    assert named <= set(mala)
    assert exact["acceptance_rate"] == ""  # no such notion
    assert 0 < float(mala["acceptance_rate"]) <= 1
    assert float(mala["gradients_per_round"]) == 21


def test_stored_tree_agrees_with_the_summary(fgtsva):
    fgtsva("run", *SMALL, "output=here")
    config = OmegaConf.to_container(OmegaConf.load("here/config.yaml"))
    with xr.open_datatree("here/results.nc", engine="h5netcdf") as tree:
        for row in rows(Path("here")):
            (cell,) = (
                data
                for data in tree["cells"].children.values()
                if json.loads(data.attrs["settings"])["sampler"]["name"] == row["sampler"]
            )
            assert dict(cell.sizes) == {"run": 3, "round": 12}
            np.testing.assert_allclose(
                float(row["final_regret_mean"]), cell["regret"].values.sum(1).mean(), rtol=1e-12
            )
            assert config["cells"][cell.attrs["cell"]] == json.loads(cell.attrs["settings"])


def test_derived_settings_are_resolved_in_the_stored_config(fgtsva):
    fgtsva("run", *SMALL, "output=here")
    cells = OmegaConf.to_container(OmegaConf.load("here/config.yaml"))["cells"]
    for cell in cells.values():
        assert cell["posterior"]["alpha"] == pytest.approx(12**-0.5)


def test_gap_is_the_paired_difference_to_exact(fgtsva):
    fgtsva("run", *SMALL, "output=here")
    exact, mala = rows(Path("here"))
    assert exact["regret_gap"] == ""
    difference = float(mala["final_regret_mean"]) - float(exact["final_regret_mean"])
    assert float(mala["regret_gap"]) == pytest.approx(difference)
    assert float(mala["regret_gap_low"]) <= difference <= float(mala["regret_gap_high"])


def test_the_same_command_reuses_stored_cells(fgtsva, monkeypatch):
    fgtsva("run", *SMALL, "output=here")
    before = (Path("here") / "summary.csv").read_text()

    def forbidden(*args, **kwargs):
        raise AssertionError("computed again")

    monkeypatch.setattr(job, "simulate", forbidden)
    code, _, err = fgtsva("run", *SMALL, "output=here")
    assert code == 0, err
    assert (Path("here") / "summary.csv").read_text() == before


def test_a_damaged_cell_is_reported_and_computed_again(fgtsva):
    fgtsva("run", *SMALL, "output=here")
    before = rows(Path("here"))
    victim = min((Path("here") / "cells").glob("*.nc"))
    victim.write_bytes(victim.read_bytes()[:-500])
    code, _, err = fgtsva("run", *SMALL, "output=here")
    assert code == 0
    assert victim.name in err.replace("\n", "")
    after = rows(Path("here"))
    for old, new in zip(before, after, strict=True):
        for key in old.keys() - {"seconds", "compile_seconds", "diagnose_seconds"}:
            assert old[key] == new[key]


def test_a_seed_gives_the_same_numbers_again(fgtsva):
    fgtsva("run", *SMALL, "output=a")
    fgtsva("run", *SMALL, "output=b")
    fgtsva("run", *SMALL, "seed=1", "output=c")
    a, b, c = (rows(Path(name))[1]["final_regret_mean"] for name in "abc")
    assert a == b != c


@pytest.mark.slow
def test_rounds_recorded_in_blocks_have_the_same_regret(fgtsva):
    fgtsva("run", *SMALL, "output=a")
    assert fgtsva("run", *SMALL, "record_every=4", "output=b")[0] == 0
    with xr.open_datatree("b/results.nc", engine="h5netcdf") as tree:
        assert [list(cell["round"].values) for cell in tree["cells"].children.values()] == [[4, 8, 12]] * 2
    for alone, together in zip(rows(Path("a")), rows(Path("b")), strict=True):
        for key in ("final_regret_mean", "regret_gap", "gradients_per_round", "num_resets", "status"):
            if alone[key] in ("", "done"):
                assert together[key] == alone[key]
            else:
                assert float(together[key]) == pytest.approx(float(alone[key]), rel=1e-12)


def test_without_output_the_folder_is_named_after_study_and_settings(fgtsva):
    code, out, _ = fgtsva("run", *SMALL)
    (created,) = Path("results").iterdir()
    assert code == 0
    assert created.name.startswith("default-")
    assert str(created) in out.replace("\n", "")


def test_a_dry_run_counts_and_writes_nothing(fgtsva):
    overrides = ("sampler=exact,mala", "posterior.c=0,0.1,1", "rounds=50", "runs=3", "output=here")
    code, out, err = fgtsva("run", "environment=sparse", *overrides, "--dry-run")
    assert (code, err.strip()) == (0, "")
    assert "6 cells; 2 programs to compile, 900 decisions" in out
    assert "exact, mala" in out
    assert list(Path.cwd().iterdir()) == []
    assert fgtsva("run", "sampler=malla", "--dry-run")[0] == 2


def test_a_dry_run_counts_stored_cells(fgtsva):
    fgtsva("run", *SMALL, "output=here")
    assert (
        "2 cells, 2 of them stored already; 0 programs"
        in fgtsva("run", *SMALL, "output=here", "--dry-run")[1]
    )


def test_list_names_every_member(fgtsva):
    code, out, _ = fgtsva("list")
    assert code == 0
    for name in ("nuts", "contextual", "fgts_va", "thompson", "linear", "default"):
        assert name in out
    for group in ("samplers", "environments", "rewards", "posteriors", "agents", "studies"):
        code, out, _ = fgtsva("list", group)
        assert code == 0
        assert len(out) > 100


def test_a_comma_makes_a_grid_and_equal_cells_are_computed_once():
    study = compose(
        ["environment=sparse", "sampler=exact,mala", "sampler.num_steps=1,5", "posterior.c=0,0.1"]
    )
    chosen = [
        (c.flat["sampler"], c.flat.get("sampler.num_steps"), c.flat["posterior.c"]) for c in study.cells
    ]
    assert sorted(chosen, key=str) == sorted(
        [
            ("exact", None, 0.0), ("exact", None, 0.1),
            ("mala", 1, 0.0), ("mala", 5, 0.0), ("mala", 1, 0.1), ("mala", 5, 0.1),
        ],
        key=str,
    )  # fmt: skip


def test_another_precision_is_another_cell():
    ours, theirs = (compose([*SMALL, f"precision={p}"]).cells for p in ("float64", "float32"))
    assert not {cell.id for cell in ours} & {cell.id for cell in theirs}


def test_cells_that_differ_only_in_numbers_share_one_program():
    from fgtsva_ppl.simulation import play_rounds

    study = compose(
        [*SMALL, "sampler=mala", "posterior.c=0.001,0.01", "posterior.alpha=0.1,0.2", "environment.p=0.1,0.3"]
    )
    assert len(study.cells) == 8
    before = None
    for cell in study.cells:
        job.simulate(cell.environment, cell.agent, rounds=cell.rounds, runs=cell.runs, seed=cell.seed)
        before = play_rounds._cache_size() if before is None else before
    assert play_rounds._cache_size() == before


def test_a_cell_that_raises_is_reported_and_the_others_finish(fgtsva, monkeypatch):
    real = job.simulate

    def faulty(environment, agent, **kwargs):
        if type(agent.sampler).__name__ == "MALA":
            raise ZeroDivisionError("in a user's program")
        return real(environment, agent, **kwargs)

    monkeypatch.setattr(job, "simulate", faulty)
    code, _, err = fgtsva("run", *SMALL, "output=here")
    assert code == 1
    assert "1 of 2" in err
    exact, mala = rows(Path("here"))
    assert exact["status"] == "done"
    assert mala["status"] == "failed"
    assert mala["reason"] == "ZeroDivisionError: in a user's program"
    assert mala["final_regret_mean"] == ""


@pytest.mark.parametrize(
    ("args", "incomplete", "offered"),
    [
        ([], "sampler=m", ["sampler=mclmc", "sampler=mala", "sampler=meanfield_vi"]),
        ([], "sampler=sgld,nu", ["sampler=sgld,nuts"]),
        (["sampler", "="], "nu", ["nuts"]),  # as bash splits it
        (["study"], "=bl", ["blindness"]),
        ([], "posterior.al", ["posterior.alpha="]),
        ([], "samp", None),
        ([], "rounds=", []),
    ],
)
def test_tab_completes_keys_and_names(args, incomplete, offered):
    chosen = completion.complete_override(args, incomplete)
    if offered is None:
        assert {"sampler=", "sampler.num_steps="} <= set(chosen)
    else:
        assert chosen == offered


def test_groups_and_parts_are_completed():
    assert completion.complete_group("sam") == ["samplers"]
    assert completion.complete_benchmark("ex") == ["exact_draws"]


@pytest.mark.parametrize("command", [(), ("run",), ("list",), ("report",), ("bench",)])
def test_every_help_shows_an_example(fgtsva, command):
    code, out, _ = fgtsva(*command, "--help")
    assert code == 0
    assert "Example: fgtsva" in out


@pytest.mark.parametrize(("command", "argument"), [("run", "KEY=VALUE"), ("bench", "PART")])
def test_help_is_legible_at_80_columns(fgtsva, monkeypatch, command, argument):
    monkeypatch.setattr(rich_utils, "MAX_WIDTH", 80)
    _, out, _ = fgtsva(command, "--help")
    assert f"fgtsva {command} [OPTIONS] [{argument}]...\n" in re.sub(" +\n", "\n", out)
    for sentence in re.findall("^ *(Exit code .*?) *$", out, re.MULTILINE):
        assert sentence.endswith(".")  # a line each, none broken
