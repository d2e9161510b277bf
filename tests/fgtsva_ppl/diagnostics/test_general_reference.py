"""Default samplers on logistic and network rewards, against long NUTS chains that pass the gate.

Compared are mean rewards of the round's arms: a network's weights have symmetries, its rewards have none.
"""

import dataclasses
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean, moments

from fgtsva_ppl import FGTSVA, HMC, MALA, MLP, Logistic, Thompson
from fgtsva_ppl.diagnostics.reference import draw_reference, rejection_reason
from fgtsva_ppl.environments import LogisticBandit, MLPBandit
from fgtsva_ppl.types import Round

ARMS, DIM, HORIZON = 3, 2, 40
CASES = {
    "logistic": (Logistic(), LogisticBandit(DIM, ARMS, 0.3)),
    "mlp": (MLP(width=2), MLPBandit(DIM, ARMS, 1.0, width=2)),
}
PROBES = (8, 40)
REPLICAS, ROUNDS = 400, 30  # chains from prior draws, and rounds without new data that each of them plays
SAMPLERS = {"mala": MALA(), "hmc": HMC()}

pytestmark = pytest.mark.slow


@lru_cache
def histories(case):
    """Histories after every round, arms pulled at random; and the round that comes next."""
    reward, environment = CASES[case]
    agent = Thompson(reward, FGTSVA(c=0.1)).for_horizon(HORIZON)
    state = agent.grow(agent.start(jax.random.key(1), environment.shape), HORIZON)

    def turn(state, key):
        round_key, arm_key = jax.random.split(key)
        seen, outcome = environment.round(round_key, instance, jnp.asarray(0))
        arm = jax.random.randint(arm_key, (), 0, ARMS)
        return agent.update(state, agent.embed(seen), arm, outcome.rewards[arm]), state

    instance = environment.start(jax.random.key(0))
    _, states = jax.lax.scan(turn, state, jax.random.split(jax.random.key(SEED), HORIZON))
    seen, _ = environment.round(jax.random.key(5), instance, jnp.asarray(0))
    return agent, states, Round(*map(jnp.asarray, seen))


@jax.jit
def reference(agent, state, seen, key):
    """Mean rewards of the arms and the log-density (chains, draws, arms + 1), and the number of divergences."""
    round = agent.embed(seen)
    target = agent.target(state, round)
    position, num_divergent = draw_reference(key, target, round.model.draw, 0)

    def quantities(x):
        return jnp.append(round.model.function(x)(seen.actions), target.logdensity(x))

    return jax.vmap(jax.vmap(quantities))(position), num_divergent


@lru_cache
def gated(case, probe):
    agent, states, seen = histories(case)
    state = jax.tree.map(lambda x: x[probe - 1], states)
    quantities, num_divergent = reference(agent, state, seen, jax.random.key(SEED + 100))
    return state, np.asarray(quantities), int(num_divergent)


@partial(jax.jit, static_argnames="num_rounds")
def play(agent, state, seen, keys, num_rounds):
    """Mean rewards of the arms (replicas, arms) after some rounds, each from a draw of the prior."""
    round = agent.embed(seen)

    def one(key):
        start, further = jax.random.split(key)
        sampler = agent.sampler.init(start, round.model.draw)

        def turn(sampler, key):
            return agent.draw(key, state._replace(sampler=sampler), round)[0], None

        sampler, _ = jax.lax.scan(turn, sampler, jax.random.split(further, num_rounds))
        return round.model.function(sampler.position)(seen.actions)

    return jax.vmap(one)(keys)


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("case", CASES)
def test_mean_rewards_agree_with_the_reference(case, name, probe):
    agent, _, seen = histories(case)
    state, quantities, num_divergent = gated(case, probe)
    assert rejection_reason(quantities, num_divergent) == ""
    agent = dataclasses.replace(agent, sampler=SAMPLERS[name])
    ours = play(agent, state, seen, jax.random.split(jax.random.key(SEED + 200), REPLICAS), ROUNDS)
    flat = quantities[..., :-1].reshape(-1, ARMS)
    centre, scale = flat.mean(axis=0), flat.std(axis=0)
    expected = moments((flat - centre) / scale)
    # The chains' error: of their means, with an effective size of 400 at least, as the gate demands.
    error = expected.std(axis=0) / np.sqrt(400)
    assert_mean(moments((np.asarray(ours) - centre) / scale), expected.mean(axis=0), error)
