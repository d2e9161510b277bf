"""Draws per second of the exact sampler, and of NUTS against a bare loop over gradients."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from experiments.bench.timing import Measure, at_least, at_most, fastest
from fgtsva_ppl import FGTSVA, NUTS, Sparse, Thompson, simulate
from samplers.gaussian import Gaussian
from samplers.reference import tilted_gaussian

DIM = 5
TURNS = 3
ALARM = 5.0  # standard errors by which an acceptance rate may fall short of the prediction
ROUNDING = 1e-9
NUM_POINTS = 20_000  # at which target and envelope are compared


def exact_draws(quick: bool) -> list[Measure]:
    """Draws per second, and acceptance rate against its prediction from the masses of target and envelope."""
    arms = (8, 32) if quick else (8, 32, 256, 1024)
    pulls = (0.0, 0.3, 1.2, 5.0, 50.0)  # lam s
    number = 1000 if quick else 4000
    measures, worst = [], np.inf
    draw = jax.jit(jax.vmap(tilted_gaussian.propose_until_accepted, in_axes=(0, None)))
    for K in arms:
        untilted = _untilted(K)
        longest = float(jnp.sqrt(jnp.max(jnp.sum(untilted.arms**2, axis=-1))))
        for pull in pulls:
            tilted = untilted._replace(lam=jnp.asarray(pull / longest))
            keys = jax.random.split(jax.random.key(K), number)
            seen = np.asarray(draw(keys, tilted)[1])
            time = fastest({"draws": partial(_wait_for, draw, keys, tilted)}, TURNS)["draws"]
            accepted, predicted = number / seen.sum(), predicted_acceptance(tilted)
            error = np.hypot(accepted * np.sqrt((1 - accepted) / number), predicted.error)
            short = accepted - predicted.value
            worst = min(worst, short / error if abs(short) > ROUNDING else 0.0)
            measures.append(
                Measure(
                    "exact_draws",
                    f"K={K}, lam s={pull:g}: accepted {accepted:.3f}, predicted {predicted.value:.3f}",
                    number / time.seconds,
                    "draws/s",
                )
            )
    measures.append(
        at_least(
            "exact_draws", "acceptance - prediction, in standard errors, at worst", worst, -ALARM, "errors"
        )
    )
    return measures


def _wait_for(program: Callable[..., Any], *arguments: Any) -> None:
    jax.block_until_ready(program(*arguments))


class Prediction(NamedTuple):
    """An acceptance rate, with the standard error of its estimate."""

    value: float
    error: float


def predicted_acceptance(tilted: tilted_gaussian.TiltedGaussian) -> Prediction:
    """The acceptance rate of the better envelope: the target's mass over the envelope's, by importance sampling.

    The target's mass is that of the mixture times the mean, over the mixture, of exp(lam max_a) / sum_a exp(lam .),
    a weight between 1/K and 1.
    """
    env = tilted_gaussian.envelopes(tilted)
    which, where = jax.random.split(jax.random.key(1))
    arm = jax.random.categorical(which, env.log_weights, shape=(NUM_POINTS,))
    z = jax.random.normal(where, (NUM_POINTS, tilted.mean.size)) + tilted.lam * tilted.arms[arm]
    values = tilted.lam * (tilted.offset + z @ tilted.arms.T)
    weights = np.exp(jnp.max(values, axis=-1) - jax.nn.logsumexp(values, axis=-1))
    scale = float(jnp.exp(env.mixture - jnp.minimum(env.mixture, env.inflated)))
    return Prediction(scale * weights.mean(), scale * weights.std() / NUM_POINTS**0.5)


def _untilted(arms: int) -> tilted_gaussian.TiltedGaussian:
    rows = jax.random.normal(jax.random.key(arms), (arms, DIM))
    unit = rows / jnp.linalg.norm(rows, axis=-1, keepdims=True)
    return tilted_gaussian.tilt(Gaussian(DIM * jnp.eye(DIM), jnp.ones(DIM)), unit, jnp.asarray(0.0))


def nuts(quick: bool) -> list[Measure]:
    """Leapfrog steps per second in the paper's posterior after 200 rounds, one chain after the other."""
    chains = 50 if quick else 500
    environment, agent = Sparse(), Thompson(posterior=FGTSVA(), sampler=NUTS()).for_horizon(1000)
    simulation = simulate(environment, agent, rounds=200, runs=1, probes=[200])
    state = jax.tree.map(lambda x: jnp.asarray(x[0]), simulation.snapshots[0].states)
    seen, _ = environment.round(jax.random.key(1), environment.start(jax.random.key(0)), jnp.asarray(0))
    target = agent.target(state, agent.embed(seen))

    @jax.jit
    def sample_chains(keys: Array) -> Array:
        one = partial(agent.sampler.sample, target=target, state=state.sampler)
        return jax.lax.map(lambda key: one(key)[1].num_gradients, keys)

    @jax.jit
    def bare_loop(position: Array, steps: Array) -> Array:
        slope = jax.grad(target.logdensity)
        return jax.lax.fori_loop(0, steps, lambda _, x: x + 1e-12 * slope(x), position)

    keys = jax.random.split(jax.random.key(2), chains)
    steps = int(np.sum(sample_chains(keys)))
    works = {
        "NUTS": partial(_wait_for, sample_chains, keys),
        "bare": partial(_wait_for, bare_loop, state.sampler.position, jnp.asarray(steps)),
    }
    works["bare"]()
    times = fastest(works, TURNS)
    return [
        Measure("nuts", "leapfrog steps", steps / times["NUTS"].seconds, "1/s"),
        Measure("nuts", "gradients in a bare loop", steps / times["bare"].seconds, "1/s"),
        at_most("nuts", "NUTS / bare loop", times["NUTS"].seconds / times["bare"].seconds, 2.5),
    ]
