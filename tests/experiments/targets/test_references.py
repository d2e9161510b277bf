"""References: two samplers that agree pass, two that differ do not."""

import jax
import numpy as np
import pytest
from helpers.montecarlo import ALARM, SEED, assert_same_moments
from scipy import stats

from experiments.targets import read_targets
from experiments.targets.reference import ReferenceDrawer, ReferenceSizes, agreement, gate


def test_gate_of_references():
    rng = np.random.default_rng(SEED)
    first, second = rng.normal(size=(2, 4, 600, 3))
    reason, facts = gate(first, second)
    assert reason == ""
    assert facts["largest_z"] < facts["z_bound"]
    apart = first + np.arange(4)[:, None, None]
    for args, expected in [
        ((apart, second), "R-hat"),
        ((first[:, :240], second), "effective sample size"),
        ((first, second, 1), "1 transitions of numpyro_nuts diverged"),
        ((first, second, 0, 2), "2 transitions of dynamic_hmc diverged"),
        ((first, second + 0.3), "differ by"),
        ((second + 0.3, first), "differ by"),
        ((first, 1.3 * second), "differ by"),
        ((1.3 * second, first), "differ by"),
        ((first, second * np.nan), "differ by nan"),
    ]:
        assert expected in gate(*args)[0]


def test_two_samplers_that_agree_are_told_apart_as_rarely_as_promised(monkeypatch):
    """Chains with autocorrelation 0.5: the share of false alarms is at most the promised one, up to chance."""
    monkeypatch.setattr("experiments.targets.reference.FALSE_ALARM", 0.1)
    rng = np.random.default_rng(SEED)
    noise = rng.normal(size=(100, 2, 4, 300, 2))
    chains = np.empty_like(noise)
    chains[..., 0, :] = noise[..., 0, :]
    for i in range(1, chains.shape[-2]):
        chains[..., i, :] = 0.5 * chains[..., i - 1, :] + np.sqrt(0.75) * noise[..., i, :]
    alarms = [z > bound for z, bound in (agreement(*pair) for pair in chains)]
    assert stats.binom.sf(sum(alarms) - 1, len(alarms), 0.1) > ALARM
    shifted = [z > bound for z, bound in (agreement(one, other + 0.35) for one, other in chains)]
    assert np.mean(shifted) > 0.9


@pytest.mark.slow
def test_two_libraries_agree_on_a_posterior_and_not_on_two(sequence):
    """End to end: NumPyro's NUTS on the program, BlackJAX's HMC on the flat density, whose data differ in one case."""
    program = read_targets.Target(sequence.facts, sequence.arrays)
    sizes = ReferenceSizes(num_draws=500, num_chain_draws=300)

    def without_oracle(arrays):
        return sequence.target_from(arrays, {})._replace(exact_draws=None, exact=None)

    drawer = ReferenceDrawer(without_oracle, program, sequence.model.draw, sizes)
    key, arrays = jax.random.key(SEED), sequence.at(1)
    right = drawer.draw(key, 1, arrays)
    assert (right.kind, right.facts["reason"]) == ("gated", "")
    assert_same_moments(right.draws, sequence.reference[1])
    wrong = drawer.draw(key, 1, {**arrays, "moment": arrays["moment"] + 0.5})
    assert wrong.kind == "rejected"
    assert "numpyro_nuts and dynamic_hmc differ by" in wrong.facts["reason"]
