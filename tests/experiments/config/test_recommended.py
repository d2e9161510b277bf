"""Settings that an environment recommends apply where neither the study nor the command line has a value."""

import jax.numpy as jnp
import numpy as np
import pytest

from experiments.config.compose import compose
from experiments.storage.folder import study_config
from fgtsva_ppl import ENVIRONMENTS, InputError, Thompson, simulate
from fgtsva_ppl.agents import EpsilonGreedy, Uniform
from fgtsva_ppl.environments import Iris, literature
from fgtsva_ppl.rewards import PerArm, flat_model


def settings(*overrides):
    (cell,) = compose(["sampler=exact", *overrides]).cells
    return cell.flat


def test_data_have_a_model_for_each_arm_and_a_weight_of_their_own():
    flat = settings("environment=iris", "posterior=ts")
    assert (flat["reward"], flat["posterior.eta"], flat["environment.sigma"]) == ("per_arm", 204.0, 0.07)
    assert settings("environment=iris", "posterior=fgts_b")["posterior.eta"] == 204
    assert settings("environment=iris", "posterior=ts", "environment.sigma=0.5")["posterior.eta"] == 4
    assert settings("environment=iris", "environment.encoding=joint")["reward"] == "linear"


def test_what_is_set_is_not_overridden():
    flat = settings("environment=iris", "posterior=ts", "posterior.eta=3", "reward=linear")
    assert (flat["reward"], flat["posterior.eta"]) == ("linear", 3)


def test_other_environments_recommend_nothing():
    for name, cls in ENVIRONMENTS:
        if not hasattr(cls, "encoding") or name == "wheel":
            assert not cls().recommended
    flat = settings("environment=sparse", "posterior=ts")
    assert (flat["reward"], flat["posterior.eta"]) == ("linear", 0.5)


def test_what_was_chosen_is_stated_and_stored():
    study = compose(["environment=iris,sparse", "posterior=ts", "sampler=exact"])
    (note,) = study.notes()
    assert note == (
        "iris: 150 rows, 3 classes, 4 standardized columns (text is one-hot); a linear model with intercept per class; "
        "sigma=0.07; recommended for these: reward=per_arm posterior.eta=204.0"
    )
    assert study_config(study)["notes"] == [note]
    assert "notes" not in study_config(compose(["environment=sparse"]))
    (note,) = compose(["environment=digits", "sampler=exact"]).notes()
    assert "61 standardized columns (text is one-hot), 20 principal components of them" in note


def test_a_study_leaves_out_data_that_are_not_installed(monkeypatch):
    monkeypatch.setattr(literature, "is_installed", lambda name, origin: name == "mnist")
    study = compose(["study=data", "seed=0"])
    names = {cell.flat["environment"] for cell in study.cells}
    assert names == {"digits", "breast_cancer", "wine", "iris", "mnist"}
    assert set(study.left_out) == {"shuttle", "mushroom", "magic", "adult", "covertype"}
    assert "Left out, as the data are not installed: shuttle, mushroom" in study.notes()[-1]
    assert not compose(["study=data", "environment=mnist", "agent=uniform"]).left_out


def test_the_prior_of_an_arm_is_a_guess_among_all_whose_sum_is_nearly_known():
    model = flat_model(PerArm(prior_scale=0.5, common=0.1), dim=12, arms=3)
    assert model.gaussian is not None
    covariance = np.linalg.inv(model.gaussian.precision)
    context = np.array([2.0, -1.0, 3.0, 1.0])
    features = np.asarray(model.embed(jnp.asarray(np.kron(np.eye(3), context))))
    np.testing.assert_allclose(features @ model.gaussian.mean, 1 / 3, rtol=1e-5)
    # Var f(x, a) = 0.25 |x|^2 (1 - 1/3 + 0.01/3); the sum over arms has 3 * 0.01 * 0.25 |x|^2.
    values = features @ covariance @ features.T / (0.25 * context @ context)
    np.testing.assert_allclose(np.diag(values), 1 - 0.99 / 3, rtol=1e-5)
    np.testing.assert_allclose(values[0, 1:], -0.99 / 3, rtol=1e-5)
    np.testing.assert_allclose(np.sum(values), 0.03, rtol=1e-4)


def test_arms_with_nothing_in_common_are_independent():
    model = flat_model(PerArm(common=1.0), dim=12, arms=3)
    assert model.gaussian is not None
    np.testing.assert_allclose(model.gaussian.precision, 4 / 0.3**2 * np.eye(12), atol=1e-4)
    with pytest.raises(InputError, match="needs an environment with a block of features for each arm"):
        flat_model(PerArm(), dim=10, arms=3)


@pytest.mark.slow
def test_the_default_beats_exploring_at_random():
    (cell,) = compose(["environment=iris", "sampler=exact", "posterior=ts"]).cells
    assert isinstance(cell.agent, Thompson)
    regret = [
        simulate(Iris(), agent, rounds=400, runs=10, seed=0).cumulative_regret[:, -1]
        for agent in (cell.agent, EpsilonGreedy(), Uniform())
    ]
    for other in regret[1:]:  # in every run; at the former weight 1/2 it was in none
        assert np.all(regret[0] < other)
