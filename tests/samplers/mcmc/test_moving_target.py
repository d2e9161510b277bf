"""A state that is carried to the next target must not remember the last one's log-density."""

from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.played_rounds import quick_jit

from fgtsva_ppl import SAMPLERS
from samplers import Draw, Gaussian, SamplerState, Target

DIM = 3
CHAINS = 100
TARGETS = 6
FALL = 50.0  # by which the log-density is lower from one target to the next
SHIFT = 0.5  # by which the mean moves along every axis, in standard deviations
PRECISION = 4 * jnp.eye(DIM) + jnp.ones((DIM, DIM))


def target(index: Any) -> Target:
    """The index-th target: all that is known of it, so that every sampler finds what it needs."""
    mean = SHIFT * index * jnp.ones(DIM) / jnp.sqrt(jnp.diag(PRECISION))
    spread = jnp.linalg.inv(jnp.linalg.cholesky(PRECISION)).T

    def logdensity(x):
        return -(x - mean) @ PRECISION @ (x - mean) / 2 - FALL * index

    return Target(
        logdensity,
        lambda position: PRECISION,
        Gaussian(PRECISION, PRECISION @ mean),
        lambda key: mean + spread @ jax.random.normal(key, (DIM,)),
    )


def carried(sampler) -> Draw:
    """Draws (target, chain, ...) of many chains, each carried over all targets."""

    def chain(key):
        start, *keys = jax.random.split(key, TARGETS + 1)
        state = sampler.init(start, target(0).exact)

        def visit(state, turn):
            key, index = turn
            return sampler.sample(key, target(index), state)

        return jax.lax.scan(visit, state, (jnp.stack(keys), jnp.arange(TARGETS)))[1]

    keys = jax.random.split(jax.random.key(0), CHAINS)
    draws = quick_jit(lambda keys: jax.lax.map(chain, keys, batch_size=1 if sampler.sequential else CHAINS))(
        keys
    )
    return jax.tree.map(lambda x: np.swapaxes(np.asarray(x), 0, 1), draws)


def assert_fresh(draws: Draw) -> None:
    """Acceptance is as good on the last target as on the first, chains still move and follow the targets.

    A stale log-density is too high by FALL: nothing is ever accepted again, so loose bounds are enough.
    """
    first, *_, last = draws.acceptance_rate.mean(axis=1)
    assert np.isnan(first) or last > 0.6 * first, f"acceptance fell from {first:.2f} to {last:.2f}"
    moved = np.any(draws.position[1:] != draws.position[:-1], axis=-1).mean()
    assert moved > 0.8, f"chains moved on {moved:.0%} of the targets"
    behind = np.asarray(target(TARGETS - 1).gaussian.shift @ np.linalg.inv(PRECISION)) - draws.position[
        -1
    ].mean(0)
    behind = behind * np.sqrt(np.diag(PRECISION))
    assert np.all(np.abs(behind) < 1.0), f"chains are {behind} standard deviations behind"


@pytest.mark.parametrize("name", ["exact", "sgld", "psgld", "mala", "hmc", "nuts"])
def test_a_carried_state_is_not_stale(name):
    draws = carried(SAMPLERS.build(name))
    assert np.all(np.isfinite(draws.position))
    assert_fresh(draws)


class Stale:
    """Negative control: a BlackJAX kernel whose state, log-density included, is carried to the next target."""

    sequential = False

    def __init__(self, make):
        self.make = make

    def init(self, key, start):
        state = self.make(target(0).logdensity).init(start(key))
        return SamplerState(state.position, state)

    def sample(self, key, target, state):
        algorithm = self.make(target.logdensity)
        end, infos = jax.lax.scan(
            lambda carry, k: algorithm.step(k, carry), state.carry, jax.random.split(key, 20)
        )
        rate = jnp.mean(infos.acceptance_rate)
        return SamplerState(end.position, end), Draw(end.position, rate, jnp.asarray(0), jnp.asarray(20))


@pytest.mark.parametrize(
    "make",
    [
        lambda logdensity: blackjax.mala(logdensity, 0.1),
        lambda logdensity: blackjax.hmc(logdensity, 0.3, jnp.ones(DIM), 4),
    ],
    ids=["mala", "hmc"],
)
def test_stale_caches_fail_the_check(make):
    draws = carried(Stale(make))
    assert draws.acceptance_rate[0].mean() > 0.5
    with pytest.raises(AssertionError, match="acceptance fell"):
        assert_fresh(draws)
    # and it is the cache that is caught: the same kernels, restarted from the position, pass
    fresh = Stale(make)
    fresh.sample = lambda key, target, state: Stale.sample(
        fresh, key, target, SamplerState(state.position, make(target.logdensity).init(state.position))
    )
    assert_fresh(carried(fresh))


def test_a_state_holds_a_position_and_what_was_learnt_only():
    for name in ("sgld", "psgld", "mala", "hmc", "nuts"):
        state = SAMPLERS.build(name).init(jax.random.key(0), target(0).exact)
        assert isinstance(state, SamplerState)
        learnt = state.carry if name in ("mala", "hmc", "nuts") else None  # the step size
        assert all(np.shape(leaf) == () for leaf in jax.tree.leaves(learnt))
        assert learnt is not None or state.carry == ()
