"""`fgtsva evaluate`: logs in files, the log of a stored cell, and what cannot be evaluated."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

from experiments.analysis.logs import PROPENSITIES, has_propensities, log_of_cell, with_replayed_propensities
from experiments.cli.commands import app
from experiments.config.compose import compose
from experiments.storage.folder import Folder
from fgtsva_ppl import simulate
from samplers.errors import InputError


def test_a_log_in_a_file_is_evaluated(tmp_path):
    path = tmp_path / "log.csv"
    pd.DataFrame({"action": [0, 1] * 50, "reward": [0.0, 1.0] * 50, "propensity": 0.5}).to_csv(
        path, index=False
    )
    shown = CliRunner().invoke(app, ["evaluate", str(path), "--policy", "1"], env={"COLUMNS": "140"})
    assert shown.exit_code == 0
    for estimator in ("ips", "snips", "doubly_robust"):
        assert estimator in shown.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "no such file"),
        (["log.txt"], "a log is a file with the suffix"),
        (["obd:best/men"], "the Open Bandit Data are"),
    ],
)
def test_a_file_that_is_no_log_is_one_clear_line(arguments, message):
    shown = CliRunner().invoke(app, ["evaluate", *arguments])
    assert isinstance(shown.exception, InputError)
    assert message in str(shown.exception)


def test_the_log_of_a_cell_is_what_was_played():
    cell = compose(["agent=uniform", "environment=homoscedastic", "drift=walk", "rounds=20", "runs=3"]).cells[
        0
    ]
    simulation = simulate(cell.environment, cell.agent, rounds=20, runs=3)
    arrays = {name: (("run", "round"), getattr(simulation, name)) for name in ("action", *PROPENSITIES)}
    log, means, error = log_of_cell(cell, xr.DataTree(xr.Dataset(arrays)))
    regret = means.max(1) - means[np.arange(60), log.actions]
    np.testing.assert_allclose(regret, simulation.regret.ravel(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(log.propensity, 1 / cell.environment.shape.arms)
    assert not error.any()
    with pytest.raises(InputError, match="has no propensities"):
        log_of_cell(cell, xr.DataTree(xr.Dataset({"action": arrays["action"]})))


def test_propensities_are_estimated_after_the_run(tmp_path):
    """The second play has the same draws; its replicas are those that the run itself would have taken."""
    settings = ["environment=arms", "environment.arms=2", "posterior=ts", "rounds=12", "runs=2"]
    cell = compose([*settings, "sampler=sgld", "sampler.num_steps=1"]).cells[0]
    simulation = simulate(cell.environment, cell.agent, rounds=12, runs=2)
    both = ("run", "round")
    arrays = {name: (both, getattr(simulation, name)) for name in ("regret", "action", *PROPENSITIES)}
    data = xr.DataTree(xr.Dataset(arrays, {"round": 1 + np.arange(12)}))
    assert not has_propensities(data)
    folder = Folder(tmp_path)
    folder.cells.mkdir()
    found = with_replayed_propensities(cell, data, 20, folder)
    log, _, error = log_of_cell(cell, found)
    assert np.all((log.propensity > 0) & (log.propensity <= 1))
    assert np.all(error <= 0.5 / np.sqrt(21))
    in_run = compose([*settings, "sampler=sgld", "sampler.num_steps=1", "agent.propensity_draws=20"]).cells[0]
    again = simulate(in_run.environment, in_run.agent, rounds=12, runs=2)
    np.testing.assert_array_equal(again.propensity.ravel(), log.propensity)
    assert folder.holds(cell, "propensities-20")
    wrong = data.copy()
    wrong["action"] = 1 - wrong["action"]
    with pytest.raises(InputError, match="chooses other arms than the stored ones"):
        with_replayed_propensities(cell, wrong, 20)
