"""The status of a cell follows from its recorded rounds, at documented thresholds."""

import numpy as np
import pytest
import xarray as xr

from experiments.execute.cell_status import (
    DONE,
    MAX_DIVERGENT,
    MAX_REPEATS,
    MIN_ACCEPTANCE,
    status_of_rounds,
)

RUNS, ROUNDS, TRANSITIONS = 3, 200, 20


def rounds(record_every=1, **quantities):
    """Rounds of runs in which all is well but these quantities of the last run, per round."""
    length = ROUNDS // record_every
    nothing = dict.fromkeys(("num_divergent", "num_resets", "num_repeats"), 0.0)
    usual = {"regret": 0.1, "acceptance_rate": 0.8, **nothing}
    variables = {name: np.full((RUNS, length), value) for name, value in usual.items()}
    for name, values in quantities.items():
        blocks = np.reshape(np.broadcast_to(values, ROUNDS), (length, record_every))
        variables[name][-1] = blocks.mean(1) if name == "acceptance_rate" else blocks.sum(1)
    return xr.DataTree(
        xr.Dataset(
            {name: (("run", "round"), values) for name, values in variables.items()}
            | {"outside_support": ("run", np.zeros(RUNS, int))},
            {"round": record_every * (1 + np.arange(length))},
        )
    )


LATE = np.arange(ROUNDS) >= ROUNDS // 2  # the rounds that are judged


@pytest.mark.parametrize("record_every", [1, 10])
@pytest.mark.parametrize(
    ("quantity", "bad", "good", "status"),
    [
        ("acceptance_rate", 0.9 * MIN_ACCEPTANCE, 1.1 * MIN_ACCEPTANCE, "stuck"),
        ("num_divergent", 1.1 * MAX_DIVERGENT * TRANSITIONS, 0.9 * MAX_DIVERGENT * TRANSITIONS, "diverged"),
        ("num_repeats", 1.0, 0.99 * MAX_REPEATS, "stuck"),
    ],
)
def test_each_threshold(quantity, bad, good, status, record_every):
    def status_with(values):
        return status_of_rounds(rounds(record_every, **{quantity: values}), num_transitions=TRANSITIONS)

    found = status_with(bad)
    assert found.status == status
    assert found.reason.startswith(f"1 of {RUNS} runs")
    assert "; try" in found.reason
    assert status_with(good) == DONE
    usual = 0.8 if quantity == "acceptance_rate" else 0.0
    assert status_with(np.where(LATE, usual, bad)) == DONE
    assert status_with(np.where(LATE, bad, usual)).status == status


def test_a_negative_control_may_repeat_its_draws():
    assert status_of_rounds(rounds(num_repeats=1.0), is_control=True) == DONE


def test_samplers_without_an_accept_step_are_not_judged_by_it():
    assert status_of_rounds(rounds(acceptance_rate=np.nan)) == DONE


def test_rounds_of_an_earlier_version_have_no_repeats():
    tree = rounds()
    assert status_of_rounds(xr.DataTree(tree.to_dataset().drop_vars("num_repeats"))) == DONE
