"""The file of a cell: rounds counted from 1, chains of the first run, and a lossless round trip."""

from dataclasses import replace
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from experiments.config.compose import compose
from experiments.execute import diagnose as diagnose_module
from experiments.execute.cell_status import DONE, CellStatus
from experiments.execute.diagnose import diagnose
from experiments.execute.runner import execute, prepare
from experiments.storage.codecs import (
    rounds_to_tree,
    snapshots_to_tree,
    tree_to_simulation,
    tree_to_snapshots,
    values,
)
from experiments.storage.files import read_tree
from experiments.storage.folder import Folder
from fgtsva_ppl import Simulation, simulate
from fgtsva_ppl.diagnostics import METRICS, Samples, probe_async
from fgtsva_ppl.simulation import Record, Snapshot
from fgtsva_ppl.timing import Seconds
from samplers import Draw

OVERRIDES = (
    "environment=sparse",
    "environment.dim=2",
    "sampler=exact",
    "rounds=8",
    "runs=2",
    "diagnostics.runs=0",
)


def synthetic_simulation(cell, snapshots=()):
    """A simulation of a cell with numbers that are all different."""
    shape = (cell.runs, cell.rounds // cell.record_every)
    numbers = np.arange(np.prod(shape)).reshape(shape)
    arrays = {
        name: (100 * i + numbers).astype(quantity.dtype)
        for i, (name, quantity) in enumerate(Record.fields().items())
    }
    record = Record.from_arrays(arrays | {"num_resets": np.zeros(shape, int)})
    return Simulation(record, np.zeros(cell.runs, bool), Seconds(1.5, 2.5), tuple(snapshots))


@pytest.mark.parametrize(
    ("overrides", "rounds"), [((), [1, 2, 3, 4, 5, 6, 7, 8]), (("record_every=4",), [4, 8])]
)
def test_stored_rounds_are_counted_from_one_and_a_block_has_its_last_round(overrides, rounds):
    (cell,) = compose([*OVERRIDES, *overrides]).cells
    simulation = synthetic_simulation(cell)
    tree = rounds_to_tree(cell, simulation)
    assert values(tree, "round").tolist() == rounds
    assert values(tree, "run").tolist() == [0, 1]
    assert tree["regret"].dims == ("run", "round")
    np.testing.assert_array_equal(values(tree, "regret"), simulation.regret)


def test_simulation_and_states_survive_a_round_trip():
    (cell,) = compose(OVERRIDES).cells
    states = {"position": np.arange(6.0).reshape(2, 3), "carry": (np.arange(2), np.ones((2, 1, 4), bool))}
    snapshots = [Snapshot(t, jax.tree.map(lambda leaf, t=t: leaf * t, states)) for t in (3, 8)]
    back = tree_to_snapshots(snapshots_to_tree(snapshots[::-1]), jax.tree.structure(states))
    assert [snapshot.round for snapshot in back] == [3, 8]
    for ours, theirs in zip(back, snapshots, strict=True):
        jax.tree.map(np.testing.assert_array_equal, ours.states, theirs.states)
    simulation = synthetic_simulation(cell, snapshots)
    again = tree_to_simulation(rounds_to_tree(cell, simulation), back)
    assert again.seconds == simulation.seconds
    assert len(again.snapshots) == 2
    for name in (*Record.fields(), "outside_support"):
        np.testing.assert_array_equal(getattr(again, name), getattr(simulation, name))


def test_stored_chains_are_those_of_the_first_run(monkeypatch):
    """The draws are synthetic: every number of a run's chains contains the number of that run."""
    (cell,) = compose([*OVERRIDES]).cells
    runs, chains, draws, arms = 3, 2, 4, cell.environment.shape.arms
    run = np.arange(runs, dtype=float)[:, None, None]
    numbers = run + np.arange(chains * draws).reshape(chains, draws) / 100
    drawn = Draw(np.stack([numbers, -numbers], axis=-1), numbers, numbers > 2, 10 * numbers, numbers)
    samples = Samples(*[np.zeros(runs)] * 6, drawn, *[np.zeros(runs)] * 4)
    measured = SimpleNamespace(
        rejections=[""] * runs,
        metrics=dict.fromkeys(METRICS, np.arange(runs)),
        action_probabilities=np.zeros((runs, arms)),
        reference_probabilities=np.zeros((runs, arms)),
    )
    monkeypatch.setattr(diagnose_module, "probe_async", lambda *_, **__: lambda: samples)
    monkeypatch.setattr(diagnose_module, "quality", lambda _: measured)
    groups = diagnose(cell, [Snapshot(3, None), Snapshot(8, None)], runs, lambda: None)
    for t in (3, 8):
        np.testing.assert_array_equal(groups[f"round_{t}/posterior"]["theta"], drawn.position[0])
        stats = groups[f"round_{t}/sample_stats"]
        np.testing.assert_array_equal(stats["acceptance_rate"], numbers[0])
        np.testing.assert_array_equal(stats["energy"], numbers[0])
        assert not stats["diverging"].values.any()
    assert groups["diagnostics"]["rhat"].dims == ("probed_run", "probe")
    np.testing.assert_array_equal(groups["diagnostics"]["rhat"], np.repeat([[0], [1], [2]], 2, axis=1))
    assert groups["diagnostics"]["probe"].values.tolist() == [3, 8]


@pytest.mark.slow
def test_drawn_chains_are_those_of_the_first_run():
    (cell,) = compose(OVERRIDES).cells
    simulation = simulate(cell.environment, cell.agent, rounds=8, runs=2, seed=cell.seed, probes=[8])
    (snapshot,) = simulation.snapshots
    stored = diagnose(cell, simulation.snapshots, 2, lambda: None)["round_8/posterior"]["theta"].values
    samples = probe_async(cell.environment, cell.agent, snapshot, runs=2, seed=cell.seed)()
    shape = cell.environment.shape
    constrain = cell.agent.model(shape.arms, shape.dim).constrain
    first, second = (jax.vmap(jax.vmap(constrain))(samples.chains.position[run])["theta"] for run in range(2))
    np.testing.assert_array_equal(stored, first)
    assert not np.array_equal(stored, second)


def test_results_have_a_group_with_status_and_reason_for_every_cell(tmp_path, monkeypatch):
    """A failed cell's group has no arrays."""
    study = compose([*OVERRIDES, "sampler=exact,sgld", f"output={tmp_path / 'here'}"])
    exact, sgld = study.cells

    def faulty(environment, agent, **settings):
        if type(agent.sampler).__name__ == "SGLD":
            raise ZeroDivisionError("in a user's program")
        simulation = synthetic_simulation(exact)
        nothing = np.zeros_like(simulation.num_divergent)
        info = simulation.record.info._replace(num_divergent=nothing, num_repeats=nothing)
        return replace(simulation, record=simulation.record._replace(info=info))

    monkeypatch.setattr("experiments.execute.job.simulate", faulty)
    folder = prepare(study)
    status = execute(study, folder)
    assert status == {
        exact.id: DONE,
        sgld.id: CellStatus("failed", "ZeroDivisionError: in a user's program"),
    }
    tree = read_tree(folder.path / "results.nc")
    for cell in study.cells:
        group = tree["cells"][cell.id]
        assert (group.attrs["status"], group.attrs["reason"]) == status[cell.id]
        assert group.attrs["cell"] == cell.id
    assert not tree["cells"][sgld.id].variables
    assert values(tree["cells"][exact.id], "regret").shape == (2, 8)
    written = {path.name for path in folder.path.iterdir()}
    assert written == {"config.yaml", "results.nc", "cells"}  # nothing that analysis derives from them
    assert isinstance(folder, Folder)
