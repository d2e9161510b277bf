"""A second reference, independent of NUTS: particles that are carried from the prior to a posterior by tempering.

Adaptive tempered SMC (Del Moral, Doucet & Jasra 2006; temperatures by the effective sample size, Jasra et al. 2011).
Particles move by simplified manifold MALA (Girolami & Calderhead 2011): the metric is the tempered precision at the
particle's own position, and the accept step accounts for its change. The stiff directions of a network differ from
particle to particle, so that no common metric serves all of them.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from blackjax.smc.resampling import systematic
from jax import Array
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float, Int, Key

from fgtsva_ppl.rewards import FlatModel
from samplers import Target

NUM_RUNS = 4  # independent runs, judged like chains
NUM_PARTICLES = 256
NUM_MOVES = 12  # of every particle at a temperature
NUM_LAST_MOVES = 60  # at the posterior itself
ESS_SHARE = 0.7  # of the particles, which the next temperature leaves
OPTIMAL_ACCEPTANCE_RATE = 0.574  # of MALA
MAX_TEMPERATURES = 200
NUM_BISECTIONS = 30


class Tempered(NamedTuple):
    """Particles of independent runs.

    Attributes:
        position: The particles at the posterior.
        num_temperatures: How many temperatures each run took; MAX_TEMPERATURES if it did not arrive.
        acceptance_rate: Of the last moves.
    """

    position: Float[Array, "runs particles size"]
    num_temperatures: Int[Array, " runs"]
    acceptance_rate: Float[Array, " runs"]


class _Progress(NamedTuple):
    positions: Array
    temperature: Array
    log_step: Array
    number: Array
    key: Array


def draw_tempered(
    key: Key[Array, ""],
    target: Target,
    model: FlatModel,
    num_runs: int = NUM_RUNS,
    num_particles: int = NUM_PARTICLES,
) -> Tempered:
    """Draws from a posterior by independent runs of tempered SMC.

    Args:
        key: A random key.
        target: The posterior; its precision at a position is the metric there.
        model: The reward program, whose prior the particles start from.
        num_runs: Number of runs.
        num_particles: Number of particles of each.
    """
    run = partial(_run, target=target, model=model, num_particles=num_particles)
    return Tempered(*jax.lax.map(run, jax.random.split(key, num_runs)))


def _run(key: Array, *, target: Target, model: FlatModel, num_particles: int) -> tuple[Array, Array, Array]:
    assert target.precision is not None
    precision, prior_precision = target.precision, jnp.asarray(model.prior_precision)
    log_prior = model.logdensity(model.program)

    def log_ratio(x: Array) -> Array:
        value = target.logdensity(x) - log_prior(x)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    def tempered(temperature: Array) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        def logdensity(x: Array) -> Array:
            return (1 - temperature) * log_prior(x) + temperature * target.logdensity(x)

        return logdensity, lambda x: prior_precision + temperature * (precision(x) - prior_precision)

    def moves(
        key: Array, positions: Array, log_step: Array, temperature: Array, number: int
    ) -> tuple[Array, ...]:
        """All particles after some transitions; the step follows their mean acceptance rate."""
        logdensity, metric = tempered(temperature)
        local = jax.vmap(partial(_local, logdensity, metric))

        def move(carry: tuple[Array, _Local, Array], key: Array) -> tuple[tuple[Array, _Local, Array], Array]:
            positions, here, log_step = carry
            positions, here, rate = _manifold_mala(key, positions, here, local, jnp.exp(log_step))
            return (positions, here, log_step + (rate - OPTIMAL_ACCEPTANCE_RATE) / 2), rate

        first = positions, local(positions), log_step
        (positions, _, log_step), rates = jax.lax.scan(move, first, jax.random.split(key, number))
        return positions, log_step, jnp.mean(rates)

    def next_temperature(progress: _Progress) -> _Progress:
        key, resampling_key, move_key = jax.random.split(progress.key, 3)
        ratios = jax.vmap(log_ratio)(progress.positions)
        increment = _increment(ratios, 1 - progress.temperature)
        weights = jax.nn.softmax(increment * ratios)
        positions = progress.positions[systematic(resampling_key, weights, num_particles)]
        temperature = progress.temperature + increment
        positions, log_step, _ = moves(move_key, positions, progress.log_step, temperature, NUM_MOVES)
        return _Progress(positions, temperature, log_step, progress.number + 1, key)

    def unfinished(progress: _Progress) -> Array:
        return (progress.temperature < 1) & (progress.number < MAX_TEMPERATURES)

    start_key, last_key, key = jax.random.split(key, 3)
    positions = jax.vmap(model.draw)(jax.random.split(start_key, num_particles))
    log_step = -jnp.log(jnp.asarray(float(model.size))) / 6
    first = _Progress(positions, jnp.zeros(()), log_step, jnp.zeros((), int), key)
    end = jax.lax.while_loop(unfinished, next_temperature, first)
    positions, _, rate = moves(last_key, end.positions, end.log_step, end.temperature, NUM_LAST_MOVES)
    return positions, end.number, rate


def _increment(ratios: Float[Array, " particles"], rest: Float[Array, ""]) -> Float[Array, ""]:
    """The step in temperature that leaves an effective sample size of ESS_SHARE; all of the rest if it leaves more."""

    def share(increment: Array) -> Array:
        log_weights = jax.nn.log_softmax(increment * ratios)
        return jnp.exp(-jax.nn.logsumexp(2 * log_weights)) / ratios.size

    def halve(_: Array, interval: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = interval
        middle = jnp.sqrt(low * high)  # the first temperatures are small
        enough = share(middle) > ESS_SHARE
        return jnp.where(enough, middle, low), jnp.where(enough, high, middle)

    low, _ = jax.lax.fori_loop(0, NUM_BISECTIONS, halve, (rest * 1e-9, rest))
    return jnp.where(share(rest) > ESS_SHARE, rest, low)


class _Local(NamedTuple):
    """The density, its gradient and the Cholesky factor of the metric, at the particles."""

    value: Array
    gradient: Array
    factor: Array


def _local(logdensity: Callable[[Array], Array], metric: Callable[[Array], Array], position: Array) -> _Local:
    value, gradient = jax.value_and_grad(logdensity)(position)
    return _Local(value, gradient, jnp.linalg.cholesky(metric(position)))


def _manifold_mala(
    key: Array, positions: Array, here: _Local, local: Callable[[Array], _Local], step: Array
) -> tuple[Array, _Local, Array]:
    noise_key, accept_key = jax.random.split(key)
    noise = jax.random.normal(noise_key, positions.shape)

    def drifted(position: Array, local: _Local) -> Array:
        half = solve_triangular(local.factor, local.gradient, lower=True)
        return position + step**2 / 2 * solve_triangular(local.factor, half, lower=True, trans=1)

    def log_proposal(to: Array, position: Array, local: _Local) -> Array:
        z = local.factor.T @ (to - drifted(position, local)) / step
        return jnp.sum(jnp.log(jnp.diagonal(local.factor))) - jnp.sum(z**2) / 2

    def propose(position: Array, local: _Local, noise: Array) -> Array:
        return drifted(position, local) + step * solve_triangular(local.factor, noise, lower=True, trans=1)

    proposals = jax.vmap(propose)(positions, here, noise)
    there = local(proposals)
    back = jax.vmap(log_proposal)(positions, proposals, there)
    forth = jax.vmap(log_proposal)(proposals, positions, here)
    ratio = there.value - here.value + back - forth
    ratio = jnp.where(jnp.isfinite(ratio), ratio, -jnp.inf)
    accept = jnp.log(jax.random.uniform(accept_key, ratio.shape)) < ratio

    def pick(new: Array, old: Array) -> Array:
        return jnp.where(accept.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    rate = jnp.mean(jnp.exp(jnp.minimum(ratio, 0.0)))
    return pick(proposals, positions), jax.tree.map(pick, there, here), rate
