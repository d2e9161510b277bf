"""References: two samplers that agree pass, two that differ do not."""

import jax
import numpy as np
import pytest
from helpers.montecarlo import ALARM, SEED, assert_mean, assert_same_moments
from scipy import stats

from experiments.targets import read_targets
from experiments.targets.quadrature import pooled_draws
from experiments.targets.reference import ReferenceDrawer, ReferenceSizes, agreement, gate
from experiments.targets.stored import StoredSequence
from samplers.diagnostics import kernel_stein_discrepancy


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


def pooled_sequence(rng):
    """A hierarchical posterior with 2 coefficients and 4 arms, of which one has never been played."""
    rows = np.concatenate([rng.normal(size=(9, 2)), np.eye(4)[rng.integers(0, 3, 9)]], axis=1)
    settings = {"prior_scale": None, "bias_scale": 1.5}
    arrays = {
        "round": np.array([10]),
        "actions": rng.normal(size=(1, 4, 2)),
        "sigma": np.ones(1),
        "total_variance": np.ones(1),
        "num_rows": np.array([9]),
        "bonus_scale": np.zeros(1),
        "gram": (rows.T @ rows)[None],
        "moment": (rows.T @ rng.normal(2.0, 1.0, size=9))[None],
        "square": np.ones(1),
    }
    facts = {
        "reward": ["hierarchical", settings],
        "posterior": ["ts", {"eta": 1.0}],
        "compared": "parameters",
    }
    return StoredSequence("pooled", arrays, facts)


def test_quadrature_draws_from_the_density_of_the_program():
    """By the Stein discrepancy, which needs only the program's gradients: zero on average, and not for wrong draws."""
    rng = np.random.default_rng(SEED)
    sequence = pooled_sequence(rng)
    arrays = sequence.arrays
    settings = sequence.facts["reward"][1]

    def discrepancies(settings, replicates=40, number=100):
        found = []
        for _ in range(replicates):
            draws = pooled_draws(rng, settings, arrays["gram"][0], arrays["moment"][0], 4, number)
            _, scores = sequence.densities(0, draws)
            found.append(kernel_stein_discrepancy(draws, scores, scale=2.0, unbiased=True))
        return np.array(found)[:, None]

    assert sequence.model.size == 8
    assert_mean(discrepancies(settings), 0.0)
    with pytest.raises(AssertionError):
        assert_mean(discrepancies({**settings, "bias_scale": 3.0}), 0.0)


def test_quadrature_has_the_marginal_that_an_integral_gives():
    """One arm and one coefficient: the mean of the scale by two-dimensional integration over scale and bias mean."""
    rng = np.random.default_rng(SEED)
    gram, moment = np.array([[0.0, 0.0], [0.0, 2.0]]), np.array([0.0, 3.0])
    draws = pooled_draws(rng, {"prior_scale": 1.0, "bias_scale": 1.0}, gram, moment, 1, 40_000)
    bias = draws[:, 0] + np.exp(draws[:, 1]) * draws[:, 2]
    # bias | s ~ N(0, 1 + s^2) before data, and the likelihood is exp(-2 b^2 + 6 b).
    scales, biases = np.meshgrid(np.linspace(5e-4, 8, 8000), np.linspace(-12, 12, 1601), indexing="ij")
    density = np.exp(-(scales**2) / 2 - biases**2 / (2 * (1 + scales**2)) - 2 * biases**2 + 6 * biases)
    density /= np.sqrt(1 + scales**2)
    density /= density.sum()
    features = np.stack([np.exp(draws[:, 1]), np.exp(2 * draws[:, 1]), bias, bias**2, draws[:, 3]], axis=1)
    expected = [(density * x).sum() for x in (scales, scales**2, biases, biases**2)]
    assert_mean(features, np.array([*expected, 0.0]))
