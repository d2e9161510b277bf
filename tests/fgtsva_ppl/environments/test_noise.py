"""Noise models: each can be combined with any environment and changes only sigma_t and the noise."""

import numpy as np
import pytest
from helpers.environment_rounds import MANY, noise, rounds
from helpers.montecarlo import assert_distribution, assert_mean
from helpers.played_rounds import rest_is_slow
from scipy import stats

from experiments.config.compose import compose
from fgtsva_ppl import NOISES, Contextual, InputError, Sparse, WithNoise

BANDIT = Contextual(dim=3, arms=4)
REPLACING = [name for name in NOISES.names() if name != "default"]


@pytest.mark.parametrize("name", rest_is_slow(REPLACING, ["sparse", "by_context"]))
def test_noise_model_can_be_combined_with_any_environment(name):
    bare, noisy = rounds(BANDIT), rounds(WithNoise(BANDIT, NOISES.build(name)))
    np.testing.assert_array_equal(noisy[0].inner.theta, bare[0].theta)
    np.testing.assert_array_equal(noisy[1].actions, bare[1].actions)
    np.testing.assert_array_equal(noisy[2].means, bare[2].means)
    sigma, errors = noisy[1].sigma, noise(noisy[2])
    assert_distribution(errors[sigma > 0] / sigma[sigma > 0], stats.norm.cdf)
    assert np.all(errors[sigma == 0] == 0)
    if name == "decaying":
        np.testing.assert_allclose(sigma, np.arange(1, MANY + 1) ** -0.5)
    if name == "by_context":
        # z is sqrt(3) times a coordinate of a uniform point on the sphere, which is uniform in R^3
        assert_distribution(np.log(sigma), stats.uniform(-(3**0.5), 2 * 3**0.5).cdf)
        assert_mean(np.log(sigma)[:, None] ** 2, [1.0])


def test_noise_follows_the_environments_sub_gaussian_convention():
    for subgaussian, factor in ((False, 1.0), (True, 0.5)):
        noisy = WithNoise(Sparse(subgaussian=subgaussian), NOISES.build("constant", {"scale": 2.0}))
        _, seen, outcome = rounds(noisy)
        assert np.all(seen.sigma == 2.0)
        assert_distribution(noise(outcome), stats.norm(0, 2 * factor).cdf)


def test_noise_is_a_group_of_the_command_line():
    overrides = ["environment=quadratic", "reward=mlp", "sampler=mala", "rounds=3", "runs=1"]
    plain, *noisy = compose([*overrides, "noise=default,sparse,decaying", "noise.power=0.25"]).cells
    assert "noise" not in plain.parts  # so that its id is that of a cell without a noise setting
    assert plain.id == compose(overrides).cells[0].id
    assert [cell.flat["noise"] for cell in noisy] == ["sparse", "decaying"]
    assert noisy[1].flat["noise.power"] == 0.25
    assert isinstance(noisy[1].environment, WithNoise)
    assert noisy[1].name == "quadratic decaying thompson fgts_va mala"
    assert len({cell.id for cell in (plain, *noisy)}) == 3


def test_the_default_noise_is_never_drawn():
    with pytest.raises(NotImplementedError, match="leaves the environment as it is"):
        rounds(WithNoise(BANDIT, NOISES.build("default")))


def test_the_old_name_of_the_default_noise_is_suggested():
    with pytest.raises(InputError, match=r"unknown noise 'own' \(did you mean 'default'\?\); valid: default"):
        NOISES.build("own")
