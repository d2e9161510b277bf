"""What is recorded of a round is declared once: every field is simulated, aggregated, stored and read back."""

from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jaxtyping import Float, config

from experiments.config.compose import compose
from experiments.execute.dask_backend import concatenate_runs
from experiments.storage.codecs import rounds_to_tree
from fgtsva_ppl import Sparse, simulate
from fgtsva_ppl.agents import Uniform
from fgtsva_ppl.simulation import Record
from fgtsva_ppl.simulation.record import AGGREGATES
from fgtsva_ppl.types import ActionInfo, Quantity
from samplers.settings import settings

ROUNDS, RUNS, BLOCK = 8, 3, 4


SCORE = Annotated[Float[Array, "*batch"], Quantity("float32", "mean", "a number that the agent reports")]
# The declaration with one more field.
InfoWithScore = NamedTuple("InfoWithScore", [*ActionInfo.__annotations__.items(), ("score", SCORE)])


@settings
class Scorer(Uniform):
    """Reports the number that decided."""

    def act(self, key, state, round):
        state, action, info = super().act(key, state, round)
        return state, action, InfoWithScore(*info, jax.random.uniform(key))


@pytest.fixture
def with_score(monkeypatch):
    monkeypatch.setitem(Record.__annotations__, "info", InfoWithScore)
    checked = not config.jaxtyping_disable
    config.update("jaxtyping_disable", True)  # agents are annotated to return the real ActionInfo
    yield
    config.update("jaxtyping_disable", not checked)


def test_the_declaration_is_complete():
    quantities = Record.fields()
    assert list(quantities) == ["regret", "action", *ActionInfo._fields]
    for quantity in quantities.values():
        assert quantity.aggregate in AGGREGATES
        assert quantity.doc
        np.dtype(quantity.dtype)


def test_a_declared_field_is_simulated_and_aggregated(with_score):
    single = simulate(Sparse(dim=2), Scorer(), rounds=ROUNDS, runs=RUNS)
    blocks = simulate(Sparse(dim=2), Scorer(), rounds=ROUNDS, runs=RUNS, record_every=BLOCK)
    assert single.score.shape == (RUNS, ROUNDS)
    assert np.unique(single.score).size == RUNS * ROUNDS
    means = single.score.reshape(RUNS, -1, BLOCK).mean(axis=2)
    np.testing.assert_allclose(blocks.score, means, rtol=1e-12)
    assert "score" in dir(single)


def test_a_declared_field_is_stored_and_joined(with_score):
    overrides = ["environment=sparse", "environment.dim=2", "agent=uniform", "diagnostics.runs=0"]
    (cell,) = compose([*overrides, f"rounds={ROUNDS}", f"runs={RUNS}"]).cells
    whole, *parts = (
        simulate(Sparse(dim=2), Scorer(), rounds=ROUNDS, runs=runs, first_run=first)
        for first, runs in ((0, RUNS), (0, 2), (2, 1))
    )
    stored = rounds_to_tree(cell, concatenate_runs(parts))["score"]
    assert stored.dims == ("run", "round")
    assert stored.dtype == np.float32
    np.testing.assert_array_equal(stored, whole.score.astype(np.float32))


def test_record_survives_a_round_trip_to_arrays():
    arrays = {name: np.full((2, 3), number) for number, name in enumerate(Record.fields())}
    record = Record.from_arrays(arrays)
    assert record.info.num_resets is arrays["num_resets"]
    assert record.arrays() == arrays
    with pytest.raises(KeyError, match="action"):
        Record.from_arrays({"regret": np.zeros(1)})


def test_each_quantity_is_aggregated_in_its_own_way():
    values = jnp.asarray([1.0, 2.0, 6.0])
    record = Record.from_arrays(dict.fromkeys(Record.fields(), values)).aggregate()
    assert record.regret == 9
    assert record.action == 6
    assert record.info.acceptance_rate == 3
    assert record.info.num_gradients == 9


def test_other_attributes_of_a_simulation_are_errors():
    simulation = simulate(Sparse(dim=2), Uniform(), rounds=2, runs=1)
    with pytest.raises(AttributeError, match="'Simulation' object has no attribute 'regrets'"):
        _ = simulation.regrets
