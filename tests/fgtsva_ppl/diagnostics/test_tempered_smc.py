"""Tempered SMC, the second reference: its moments against quadrature."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean

from fgtsva_ppl import TS, Logistic, Thompson
from fgtsva_ppl.diagnostics.tempered_smc import MAX_TEMPERATURES, _increment, draw_tempered
from fgtsva_ppl.types import Round, Shape

DIM, ARMS, NUM_DATA = 2, 3, 12
RNG = np.random.default_rng(0)
ACTIONS = 2 * RNG.normal(size=(NUM_DATA + 1, ARMS, DIM))
PAYS = RNG.uniform(size=NUM_DATA) < 0.7


def posterior():
    """The target and model of a logistic posterior that is far from normal."""
    agent = Thompson(Logistic(prior_scale=3.0), TS(eta=4.0)).for_horizon(100)
    state = agent.grow(agent.start(jax.random.key(0), Shape(ARMS, DIM, False, False)), NUM_DATA)
    for actions, pays in zip(ACTIONS[:NUM_DATA], PAYS, strict=True):
        round = agent.embed(Round(jnp.asarray(actions), jnp.asarray(0.5)))
        state = agent.update(state, round, jnp.asarray(0), jnp.asarray(float(pays)))
    round = agent.embed(Round(jnp.asarray(ACTIONS[-1]), jnp.asarray(0.5)))
    return agent.target(state, round), round.model


@pytest.mark.slow
def test_moments_agree_with_quadrature():
    """One value a run, because the particles of a run depend on each other."""
    target, model = posterior()
    axis = np.linspace(-20, 20, 801)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, DIM)
    logs = np.asarray(jax.jit(jax.vmap(target.logdensity))(jnp.asarray(grid)))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()

    def quantities(x):
        return np.concatenate([x, x**2, x[..., :1] * x[..., 1:]], axis=-1)

    expected = weights @ quantities(grid)
    drawn = jax.jit(lambda key: draw_tempered(key, target, model, 64, 256))(jax.random.key(SEED))
    assert np.all(drawn.num_temperatures < MAX_TEMPERATURES)
    assert np.all((np.asarray(drawn.acceptance_rate) > 0.3) & (np.asarray(drawn.acceptance_rate) < 0.9))
    assert_mean(quantities(np.asarray(drawn.position)).mean(axis=1), expected)


def test_the_next_temperature_leaves_the_effective_sample_size():
    ratios = -50 * jnp.asarray(np.random.default_rng(1).chisquare(4, size=200))
    step = _increment(ratios, jnp.asarray(1.0))
    weights = jax.nn.softmax(step * ratios)
    assert 1 / jnp.sum(weights**2) == pytest.approx(0.7 * 200, rel=1e-3)
    assert _increment(ratios / 1e4, jnp.asarray(0.5)) == 0.5  # the rest, where it leaves more
