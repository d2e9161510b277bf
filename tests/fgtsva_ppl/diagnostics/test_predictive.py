"""Joint predictive log-loss against its closed form: a Gaussian predictive distribution."""

import numpy as np
import pytest
from helpers.montecarlo import SEED

from fgtsva_ppl.diagnostics.predictive import NUM_TUPLES, joint_log_loss

ARMS, SIGMA = 6, 0.7


def gaussian_case(seed):
    rng = np.random.default_rng(seed)
    root = 0.5 * rng.normal(size=(ARMS, 3))
    return rng, root, 0.3 * rng.normal(size=ARMS), 0.3 * rng.normal(size=ARMS)


def closed_form(root, mean, means, tau):
    """KL(N(means_x, sigma^2 I) || N(mean_x, S_xx + sigma^2 I)), averaged over the same tuples of inputs."""
    rng = np.random.default_rng(0)
    pair = np.stack([rng.choice(ARMS, size=2, replace=False) for _ in range(NUM_TUPLES)])
    inputs = np.take_along_axis(pair, rng.integers(2, size=(NUM_TUPLES, tau)), axis=1)
    losses = []
    for x in inputs:
        covariance = root[x] @ root[x].T + SIGMA**2 * np.eye(tau)
        gap = mean[x] - means[x]
        inverse = np.linalg.inv(covariance)
        log_det = np.linalg.slogdet(covariance)[1] - tau * np.log(SIGMA**2)
        losses.append((SIGMA**2 * np.trace(inverse) - tau + gap @ inverse @ gap + log_det) / 2)
    return np.mean(losses)


@pytest.mark.parametrize("tau", [1, 2, 10])
def test_gaussian_predictive(tau):
    rng, root, mean, means = gaussian_case(100 * SEED + tau)
    draws = mean + rng.normal(size=(2, 20_000, 3)) @ root.T
    found = joint_log_loss(draws, np.stack([means, means]), np.array([SIGMA, SIGMA]), tau)
    expected = closed_form(root, mean, means, tau)
    assert found.value.shape == (2,)
    assert np.all(np.abs(found.value - expected) < 5 * found.error)
    assert np.all(found.error < 0.2)


def test_joint_quality_sees_what_marginal_quality_does_not():
    """Draws that are right at each arm but independent between arms predict single rewards as well, several not."""
    rng, root, mean, _ = gaussian_case(3)
    truth = mean + root @ rng.normal(size=3)
    joint = mean + rng.normal(size=(20_000, 3)) @ root.T
    shuffled = np.stack([rng.permutation(joint[:, arm]) for arm in range(ARMS)], axis=1)
    one, other = (joint_log_loss(x[None], truth[None], np.array([SIGMA]), 1) for x in (joint, shuffled))
    assert one.value[0] == pytest.approx(other.value[0], abs=5 * one.error[0])
    both = [joint_log_loss(x[None], truth[None], np.array([SIGMA]), 10).value[0] for x in (joint, shuffled)]
    assert both[0] != pytest.approx(both[1], abs=1e-3)


def test_without_noise_there_is_no_density():
    loss = joint_log_loss(np.zeros((1, 4, 2)), np.ones((1, 2)), np.zeros(1), 1)
    assert np.isnan(loss.value[0])


def test_the_truth_itself_has_no_loss():
    means = np.array([[0.2, -0.1]])
    assert joint_log_loss(np.tile(means, (1, 5, 1)), means, np.ones(1), 10).value[0] == pytest.approx(0)
