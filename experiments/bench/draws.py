"""How fast draws come: from the oracle, by its arms and tilt; from NUTS, against a bare loop over gradients."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from experiments.bench.timing import Measure, at_least, best
from fgtsva_ppl import FGTSVA, NUTS, Sparse, Thompson, simulate
from samplers.reference import tilted_gaussian
from samplers.target import Gaussian

DIM = 5
TURNS = 3
ALARM = 5.0  # standard errors by which an acceptance may miss what is promised
ROUNDING = 1e-9
WEIGHED = 20_000  # points at which a target is weighed against its envelope


def oracle_draws(quick: bool) -> list[Measure]:
    """Draws a second, and acceptance against the better envelope's promise."""
    arms = (8, 32) if quick else (8, 32, 256, 1024)
    pulls = (0.0, 0.3, 1.2, 5.0, 50.0)  # lam s
    number = 1000 if quick else 4000
    told, worst = [], np.inf
    draw = jax.jit(jax.vmap(tilted_gaussian.propose_until_accepted, in_axes=(0, None)))
    for K in arms:
        law = _law(K)
        longest = float(jnp.sqrt(jnp.max(jnp.sum(law.arms**2, axis=-1))))
        for pull in pulls:
            tilted = law._replace(lam=jnp.asarray(pull / longest))
            keys = jax.random.split(jax.random.key(K), number)
            seen = np.asarray(draw(keys, tilted)[1])
            time = best({"draws": partial(_done, draw, keys, tilted)}, TURNS)["draws"]
            accepted, promised = number / seen.sum(), promise(tilted)
            error = np.hypot(accepted * np.sqrt((1 - accepted) / number), promised.error)
            short = accepted - promised.value
            worst = min(worst, short / error if abs(short) > ROUNDING else 0.0)
            told.append(
                Measure(
                    "oracle",
                    f"K={K}, lam s={pull:g}: accepted {accepted:.3f}, promised {promised.value:.3f}",
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


class Promise(NamedTuple):
    """An acceptance, with the standard error of its estimate."""

    value: float
    error: float


def promise(law: tilted_gaussian.TiltedGaussian) -> Promise:
    """What the better envelope accepts: the target's mass over its own, with no proposal kept or thrown away.

    The target's mass is that of the mixture times the mean, over the mixture, of exp(lam max_a) / sum_a exp(lam .): a
    weight between 1/K and 1.
    """
    env = tilted_gaussian.envelopes(law)
    which, where = jax.random.split(jax.random.key(1))
    arm = jax.random.categorical(which, env.log_weights, shape=(WEIGHED,))
    z = jax.random.normal(where, (WEIGHED, law.mean.size)) + law.lam * law.arms[arm]
    values = law.lam * (law.offset + z @ law.arms.T)
    weights = np.exp(jnp.max(values, axis=-1) - jax.nn.logsumexp(values, axis=-1))
    scale = float(jnp.exp(env.mixture - jnp.minimum(env.mixture, env.inflated)))
    return Promise(scale * weights.mean(), scale * weights.std() / WEIGHED**0.5)


def _law(arms: int) -> tilted_gaussian.TiltedGaussian:
    rows = jax.random.normal(jax.random.key(arms), (arms, DIM))
    unit = rows / jnp.linalg.norm(rows, axis=-1, keepdims=True)
    return tilted_gaussian.tilt(Gaussian(DIM * jnp.eye(DIM), jnp.ones(DIM)), unit, jnp.asarray(0.0))


def nuts(quick: bool) -> list[Measure]:
    """Leapfrog steps a second in the paper's posterior after 200 rounds, one chain after the other."""
    chains = 50 if quick else 500
    environment, agent = Sparse(), Thompson(posterior=FGTSVA(), sampler=NUTS()).for_horizon(1000)
    played = simulate(environment, agent, rounds=200, runs=1, probes=[200])
    state = jax.tree.map(lambda x: jnp.asarray(x[0]), played.snapshots[0].states)
    seen, _ = environment.round(jax.random.key(1), environment.start(jax.random.key(0)), jnp.asarray(0))
    target = agent.target(state, agent.embed(seen))

    @jax.jit
    def sampled(keys: Array) -> Array:
        one = partial(agent.sampler.sample, target=target, state=state.sampler)
        return jax.lax.map(lambda key: one(key)[1].num_gradients, keys)

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
