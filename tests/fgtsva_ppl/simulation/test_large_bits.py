"""Bits at larger sizes: a run is the same alone, among others, on one device and after an interruption."""

import jax
import numpy as np
import pytest

from fgtsva_ppl import MLP, PSGLD, Contextual, Exact, Simulation, Thompson, simulate
from fgtsva_ppl.environments.nonlinear import MLPBandit
from fgtsva_ppl.simulation import Record
from samplers import HMC

CASES = {
    "psgld": (Contextual(dim=100, arms=50), Thompson(sampler=PSGLD())),
    "exact": (Contextual(dim=100, arms=50), Thompson(sampler=Exact())),
    "network": (
        MLPBandit(dim=5, arms=8, width=20),
        Thompson(reward=MLP(width=20), sampler=HMC(num_steps=1, num_integration_steps=3)),
    ),
}
ROUNDS, RUNS, LAST = 18, 3, slice(2, 3)


class StopHereError(Exception):
    """Raised in the middle of a simulation."""


class InterruptOnce:
    """A checkpoint that interrupts after some chunks."""

    def __init__(self, chunks):
        self.chunks, self.saved = chunks, None

    def load(self):
        return self.saved

    def save(self, state):
        self.saved = state()
        self.chunks -= 1
        if self.chunks == 0:
            raise StopHereError


def assert_same(ours: Simulation, theirs: Simulation, runs: slice = slice(None)) -> None:
    for name in Record.fields():
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name)[runs], err_msg=name)


@pytest.mark.parametrize(
    "name",
    [
        "psgld",
        pytest.param("exact", marks=pytest.mark.slow),
        pytest.param("network", marks=pytest.mark.slow),
    ],
)
def test_a_large_run_depends_on_its_number_alone(name):
    case, setting = CASES[name], {"rounds": ROUNDS, "runs": RUNS}
    whole = simulate(*case, **setting)
    assert np.unique(whole.regret.sum(axis=1)).size == RUNS
    assert_same(simulate(*case, rounds=ROUNDS, runs=1, first_run=2), whole, LAST)
    assert_same(simulate(*case, **setting, devices=jax.devices()[:1]), whole)
    checkpoint = InterruptOnce(4)
    with pytest.raises(StopHereError):
        simulate(*case, **setting, checkpoint=checkpoint)
    assert_same(simulate(*case, **setting, checkpoint=checkpoint), whole)
