"""How fast draws come: from the oracle, by its arms and tilt; from NUTS, against a bare loop over gradients."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from experiments.bench.clock import Measure, at_least, best
from fgtsva_ppl import FGTSVA, NUTS, Sparse, Thompson, oracle, simulate
from samplers.target import Gaussian

DIM = 5
TURNS = 3
ALARM = 5.0  # standard errors by which an acceptance may miss what is promised


def oracle_draws(quick: bool) -> list[Measure]:
    """Draws a second, and acceptance against the better envelope's promise."""
    arms = (8, 32) if quick else (8, 32, 256, 1024)
    pulls = (0.0, 0.3, 1.2, 5.0, 50.0)  # lam s
    number = 1000 if quick else 4000
    told, worst = [], np.inf
    draw = jax.jit(jax.vmap(oracle.propose_until_kept, in_axes=(0, None)))
    for K in arms:
        law = _law(K)
        longest = float(jnp.sqrt(jnp.max(jnp.sum(law.arms**2, axis=-1))))
        for pull in pulls:
            tilted = law._replace(lam=jnp.asarray(pull / longest))
            keys = jax.random.split(jax.random.key(K), number)
            seen = np.asarray(draw(keys, tilted)[1])
            time = best({"draws": partial(_done, draw, keys, tilted)}, TURNS)["draws"]
            accepted, promised = number / seen.sum(), float(promise(tilted))
            error = accepted * np.sqrt((1 - accepted) / number)
            worst = min(worst, (accepted - promised) / max(error, 1e-9))
            told.append(
                Measure(
                    "oracle",
                    f"K={K}, lam s={pull:g}: accepted {accepted:.2f}, promised {promised:.2f}",
                    number / time.seconds,
                    "draws/s",
                )
            )
    told.append(
        at_least("oracle", "acceptance - promise, in standard errors, at worst", worst, -ALARM, "errors")
    )
    return told


def _done(program: Callable[..., Any], *arguments: Any) -> None:
    jax.block_until_ready(program(*arguments))


def promise(law: oracle.Tilted) -> Array:
    """The better envelope's acceptance is at least this: the target's mass is at least that of any one arm's tilt."""
    env = oracle.envelopes(law)
    return jnp.exp(jnp.max(env.log_weights) - jnp.minimum(env.mixture, env.inflated))


def _law(arms: int) -> oracle.Tilted:
    rows = jax.random.normal(jax.random.key(arms), (arms, DIM))
    unit = rows / jnp.linalg.norm(rows, axis=-1, keepdims=True)
    return oracle.tilted(Gaussian(DIM * jnp.eye(DIM), jnp.ones(DIM)), unit, jnp.asarray(0.0))


def nuts(quick: bool) -> list[Measure]:
    """Leapfrog steps a second in the paper's posterior after 200 rounds, one chain after the other."""
    chains = 50 if quick else 500
    environment, agent = Sparse(), Thompson(posterior=FGTSVA(), sampler=NUTS()).for_horizon(1000)
    played = simulate(environment, agent, rounds=200, runs=1, probes=[200])
    state = jax.tree.map(lambda x: jnp.asarray(x[0]), played.snapshots[0].states)
    seen, _ = environment.round(jax.random.key(1), environment.start(jax.random.key(0)))
    target = agent.target(state, seen)

    @jax.jit
    def sampled(keys: Array) -> Array:
        one = partial(agent.sampler.sample, target=target, state=state.sampler)
        return jax.lax.map(lambda key: one(key)[1].gradients, keys)

    @jax.jit
    def bare(position: Array, steps: Array) -> Array:
        slope = jax.grad(target.logdensity)
        return jax.lax.fori_loop(0, steps, lambda _, x: x + 1e-12 * slope(x), position)

    keys = jax.random.split(jax.random.key(2), chains)
    steps = int(np.sum(sampled(keys)))
    works = {
        "NUTS": partial(_done, sampled, keys),
        "bare": partial(_done, bare, state.sampler.position, jnp.asarray(steps)),
    }
    works["bare"]()
    times = best(works, TURNS)
    return [
        Measure("nuts", "leapfrog steps", steps / times["NUTS"].seconds, "1/s"),
        Measure("nuts", "gradients in a bare loop", steps / times["bare"].seconds, "1/s"),
        Measure("nuts", "NUTS / bare loop", times["NUTS"].seconds / times["bare"].seconds, "ratio"),
    ]
