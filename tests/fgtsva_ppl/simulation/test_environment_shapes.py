"""Shapes of a user's Round and Outcome are checked before anything compiles, and the message names the field."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl import Environment, InputError, Outcome, Round, Shape, Sparse, Thompson, WithNoise, simulate
from fgtsva_ppl.agents import Uniform
from fgtsva_ppl.environments.noise import ConstantNoise
from fgtsva_ppl.simulation import check
from samplers.settings import settings

ARMS, DIM = 3, 2
GOOD = {
    "actions": np.zeros((ARMS, DIM)),
    "sigma": np.asarray(1.0),
    "means": np.zeros(ARMS),
    "rewards": np.zeros(ARMS),
}


class Given(Environment):
    """An environment that returns given arrays."""

    shape = Shape(ARMS, DIM, fixed_actions=True, linear=False)

    def __init__(self, answer=None, **fields):
        self.fields, self.answer = GOOD | fields, answer

    def start(self, key):
        return ()

    def round(self, key, instance, t):
        fields = self.fields
        given = Round(fields["actions"], fields["sigma"]), Outcome(fields["means"], fields["rewards"])
        return given if self.answer is None else self.answer


jax.tree_util.register_static(Given)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("actions", np.zeros((DIM, ARMS)), r"Round.actions has shape \(2, 3\), expected \(3, 2\) = \(arms, dim\)"),
        ("actions", np.zeros(ARMS), r"Round.actions has shape \(3,\), expected \(3, 2\) = \(arms, dim\)"),
        ("sigma", np.ones(ARMS), r"Round.sigma has shape \(3,\), expected \(\): one standard deviation"),
        ("means", np.zeros((ARMS, 1)), r"Outcome.means has shape \(3, 1\), expected \(3,\) = \(arms,\)"),
        ("rewards", np.asarray(0.0), r"Outcome.rewards has shape \(\), expected \(3,\) = \(arms,\): what every arm"),
        ("rewards", np.zeros(ARMS + 1), r"Outcome.rewards has shape \(4,\), expected \(3,\)"),
        ("rewards", "none", r"Outcome.rewards must be an array of numbers, not str"),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_named_before_anything_compiles(field, value, message):
    environment = Given(**{field: value})
    for run in (
        lambda: check(environment, Thompson(), 3),
        lambda: simulate(environment, Uniform(), rounds=3, runs=1),
    ):
        with pytest.raises(InputError, match="environment Given: " + message):
            run()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Round(GOOD["actions"], GOOD["sigma"]), "Round"),
        ((GOOD["actions"], GOOD["means"]), r"\(ndarray, ndarray\)"),
    ],
)
def test_what_a_round_must_return(answer, kind):
    with pytest.raises(InputError, match=rf"round must return \(Round, Outcome\), not {kind}"):
        check(Given(answer), Thompson(), 3)


@settings
class Remembering(Uniform):
    """Remembers the last arm and its reward."""

    def start(self, key, shape):
        return jnp.zeros(2)

    def update(self, state, round, action, reward):
        return jnp.stack([action.astype(float), reward])


@pytest.mark.parametrize("rewards", [[True, False, True], [3, 0, 2]])
def test_every_arm_has_its_own_reward_and_it_need_not_be_a_float(rewards):
    """The loop pays the chosen arm's reward: a flag or a count."""
    environment = Given(means=[0.2, 0.9, 0.4], rewards=rewards)
    result = simulate(environment, Remembering(), rounds=4, runs=8, probes=[2, 4])
    seen = np.concatenate([snapshot.states for snapshot in result.snapshots])
    np.testing.assert_array_equal(seen[:, 1], np.asarray(rewards, float)[seen[:, 0].astype(int)])
    assert set(seen[:, 0]) == {0, 1, 2}
    np.testing.assert_allclose(result.regret, np.asarray([0.7, 0.0, 0.5])[result.action])


def test_only_additive_noise_can_be_replaced():
    class Paid(Given):
        additive_noise = False

    with pytest.raises(InputError, match="rewards of environment Paid are not means plus noise"):
        simulate(WithNoise(Paid(), ConstantNoise()), Thompson(), rounds=2, runs=1)
    check(WithNoise(Sparse(), ConstantNoise()), Thompson(), 2)
