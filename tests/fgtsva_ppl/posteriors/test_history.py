"""Histories: rows in the order of play, and spare room that changes nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.played_rounds import ENVIRONMENTS, ROUNDS, PlainLinear, history_after, played

from fgtsva_ppl import FGTSA, Linear
from fgtsva_ppl.posteriors import posterior_target
from fgtsva_ppl.posteriors.history import grown
from fgtsva_ppl.rewards import flat_model

POSTERIOR = FGTSA(eta=0.3, lam=0.7)


@pytest.mark.parametrize("reward", [Linear(), PlainLinear()], ids=["sums", "rows"])
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_spare_room_in_a_history_changes_nothing(environment, reward):
    tight, roomy = (history_after(POSTERIOR, environment, reward, spare) for spare in (0, 20))
    model, position = flat_model(reward, 3), jnp.asarray([0.3, -0.2, 0.9])
    values = [
        jax.value_and_grad(posterior_target(POSTERIOR, model, history, played(environment).next).logdensity)(
            position
        )
        for history in (tight, roomy, grown(tight, ROUNDS + 20))
    ]
    for value, gradient in values[1:]:
        np.testing.assert_allclose(value, values[0][0], rtol=1e-14)
        np.testing.assert_allclose(gradient, values[0][1], rtol=1e-13)


def test_rows_and_action_sets_are_in_the_order_of_play():
    log = played("contextual")
    history = history_after(POSTERIOR, "contextual", PlainLinear())
    np.testing.assert_array_equal(history.data.features[:ROUNDS], log.features)
    np.testing.assert_array_equal(history.data.rewards[:ROUNDS], log.reward)
    np.testing.assert_array_equal(history.data.weights, np.repeat([POSTERIOR.eta, 0], [ROUNDS, 3]))
    np.testing.assert_array_equal(history.past.actions[:ROUNDS], log.actions)
    np.testing.assert_array_equal(history.past.present, np.repeat([1, 0], [ROUNDS, 3]))
