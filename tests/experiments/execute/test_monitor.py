"""A cell whose sampler fails is reported while it runs, by the thresholds of its final status."""

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.execute.monitor import Monitor
from fgtsva_ppl import HMC, SAMPLERS, Thompson
from fgtsva_ppl.simulation import Record
from fgtsva_ppl.types import ActionInfo

RUNS, CHUNKS, LENGTH = 2, 8, 10
ROUNDS = CHUNKS * LENGTH


def record(acceptance_rate=0.8, num_divergent=0, num_repeats=0):
    """A chunk in which the last run has these values in each round, the other is well."""

    def both(good, value):
        return np.tile(np.array([[good], [value]]), (1, LENGTH))

    zeros = both(0, 0)
    info = ActionInfo(both(0.8, acceptance_rate), both(0, num_divergent), zeros, zeros, both(0, num_repeats))
    return Record(both(0.1, 0.1), zeros, info)


def warnings(chunks, sampler=None):
    """The warnings after each chunk."""
    cell = SimpleNamespace(
        agent=Thompson(sampler=sampler or HMC()), rounds=ROUNDS, record_every=1, name="here"
    )
    said, after = [], []
    monitor = Monitor(cell, said.append)
    for number, chunk in enumerate(chunks, 1):
        monitor(number * LENGTH, chunk)
        after.append(list(said))
        said.clear()
    return after


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ({"acceptance_rate": 0.001}, "stuck so far, at round 20: 1 of 2 runs accept less than 1%"),
        ({"num_divergent": 1}, "diverged so far, at round 20: 1 of 2 runs diverge in more than 5%"),
        ({"num_repeats": 1}, "stuck so far, at round 20: 1 of 2 runs return the same position"),
    ],
)
def test_each_failure_is_reported_once_from_a_quarter_of_the_rounds_on(bad, text):
    after = warnings([record(**bad)] * CHUNKS)
    assert after[0] == []
    (line,) = after[1]
    assert line.startswith(f"here: {text}")
    assert "; try" in line
    assert not any(after[2:])


def test_a_failure_that_comes_later_is_reported_when_half_of_the_rounds_show_it():
    after = warnings([record()] * 2 + [record(acceptance_rate=0.0)] * 6)
    assert not any(after[:3])
    assert "at round 40" in after[3][0]


def test_nothing_is_said_of_samplers_that_move():
    assert not any(warnings([record(acceptance_rate=np.nan), *[record()] * (CHUNKS - 1)]))
    assert not any(warnings([record(acceptance_rate=0.0), *[record()] * (CHUNKS - 1)]))  # a slow start


def test_a_negative_control_may_repeat_its_draws():
    assert not any(warnings([record(num_repeats=1)] * CHUNKS, SAMPLERS.build("control")))


def test_divergences_are_a_share_of_transitions():
    assert not any(warnings([record(num_divergent=1)] * CHUNKS, HMC(num_steps=21)))
