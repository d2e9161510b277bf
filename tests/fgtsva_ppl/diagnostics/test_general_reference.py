"""HMC and NUTS for logistic and network rewards, at probe rounds, against a long reference that must pass the gate.

Compared are mean rewards of the round's arms: a network's weights have symmetries, its rewards have none. Its
curvature depends on the position, so that no whitening is good everywhere: networks are sampled in plain
coordinates, where the reference has no divergence at all (dense: half of the transitions).
"""

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean, moments

from fgtsva_ppl import FGTSVA, HMC, MLP, NUTS, Logistic, Thompson
from fgtsva_ppl.diagnostics.reference import rejection_reason
from fgtsva_ppl.environments import LogisticBandit, MLPBandit
from fgtsva_ppl.types import Round

ARMS, DIM, HORIZON = 3, 2, 40
CASES = {
    "logistic": (Logistic(), LogisticBandit(DIM, ARMS, 0.3)),
    "mlp": (MLP(width=2), MLPBandit(DIM, ARMS, 1.0, width=2)),
}
PROBES = (8, 40)
CHAINS, WARM, LENGTH = 4, 200, 800  # of the reference
REPLICAS = 400
SAMPLERS = {
    ("logistic", "hmc"): HMC(num_steps=30),
    ("logistic", "nuts"): NUTS(num_steps=10),
    ("mlp", "hmc"): HMC(num_steps=60, num_integration_steps=10, preconditioner="none"),
    ("mlp", "nuts"): NUTS(num_steps=12, preconditioner="none"),
}

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
        return agent.update(state, agent.embed(seen), arm, outcome.means[arm] + outcome.noise), state

    instance = environment.start(jax.random.key(0))
    _, states = jax.lax.scan(turn, state, jax.random.split(jax.random.key(SEED), HORIZON))
    seen, _ = environment.round(jax.random.key(5), instance, jnp.asarray(0))
    return agent, states, Round(*map(jnp.asarray, seen))


@partial(jax.jit, static_argnames="reference")
def values(agent, sampler, state, seen, keys, reference):
    """Mean rewards of the arms: (chains, draws, arms) along chains, or (replicas, arms) at the ends of short ones."""
    model = agent.model(ARMS, DIM)
    target = agent.target(state, agent.embed(seen))

    def one(key):
        start, further = jax.random.split(key)
        initial = sampler.init(start, model.draw)
        if reference:
            drawn = sampler.trace(further, target, initial, WARM + LENGTH)
            kept = drawn.position[WARM:]
            return jax.vmap(lambda x: model.function(x)(seen.actions))(kept), jnp.sum(
                drawn.num_divergent[WARM:]
            )
        drawn = sampler.sample(further, target, initial)[1]
        return model.function(drawn.position)(seen.actions), drawn.num_divergent

    return jax.lax.map(one, keys) if sampler.sequential else jax.vmap(one)(keys)


@lru_cache
def reference(case, probe):
    agent, states, seen = histories(case)
    state = jax.tree.map(lambda x: x[probe - 1], states)
    keys = jax.random.split(jax.random.key(SEED + 100), CHAINS)
    sampled, diverged = values(agent, NUTS(preconditioner="none"), state, seen, keys, reference=True)
    return state, np.asarray(sampled), int(np.sum(diverged))


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize(("case", "name"), list(SAMPLERS))
def test_mean_rewards_agree_with_the_reference(case, name, probe):
    agent, _, seen = histories(case)
    state, chains, diverged = reference(case, probe)
    assert rejection_reason(chains, diverged) == ""
    keys = jax.random.split(jax.random.key(SEED + 200), REPLICAS)
    ours, _ = values(agent, SAMPLERS[case, name], state, seen, keys, reference=False)
    flat = chains.reshape(-1, ARMS)
    centre, scale = flat.mean(axis=0), flat.std(axis=0)
    expected = moments((chains.reshape(-1, ARMS) - centre) / scale).reshape(*chains.shape[:2], -1)
    # The chains' error: of their means, with an effective size of 400 at least, as the gate demands.
    error = expected.reshape(-1, expected.shape[-1]).std(axis=0) / np.sqrt(400)
    assert_mean(moments((np.asarray(ours) - centre) / scale), expected.mean(axis=(0, 1)), error)
