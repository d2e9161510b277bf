"""The curvature by which chains on posteriors without a closed form are preconditioned.

A metric that is taken at the chain's own position changes with the chain, and no kernel then leaves the posterior
invariant. It is also a poor metric: the stiff directions of a network turn within its posterior. So the Gauss-Newton
curvature is averaged over earlier positions of the chain (at first, draws from the prior). A new datum is evaluated at
NUM_POINTS of them. At most NUM_POINTS times while the number of rounds doubles, all data are evaluated at the current
position, and the average moves there by 1/NUM_POINTS.

Cost of a round in gradients of all data: NUM_POINTS / t + 1 up to round 2 NUM_POINTS, then NUM_POINTS / t and at most
one more in NUM_POINTS of every t rounds.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.history import CurvatureCache, Data, History, ReplayBuffer, SufficientStatistics
from fgtsva_ppl.posteriors.loss import Matrix, product
from fgtsva_ppl.posteriors.minibatch import find_mode
from fgtsva_ppl.rewards import FlatModel
from samplers.adaptation.curvature import POWER_ITERATION_GRADIENTS, power_iteration
from samplers.adaptation.preconditioning import Preconditioner
from samplers.target import Target

NUM_POINTS = 32  # positions that are averaged over
MAX_DENSE = 400  # parameters; above, only the diagonal is kept
ROWS_PER_BLOCK = 256
NUM_STIFFNESS_POINTS = 2
MAX_STIFFNESS_ROWS = 1024


def initial_curvature(model: FlatModel, key: Key[Array, ""]) -> CurvatureCache:
    """The cache before the first round."""
    shape = (model.size, model.size) if model.size <= MAX_DENSE else (model.size,)
    points = jax.vmap(model.draw)(jax.random.split(key, NUM_POINTS))
    return CurvatureCache(jnp.zeros(shape), points, jnp.zeros((), int), jnp.ones(()))


def update_curvature(
    posterior: Posterior,
    model: FlatModel,
    history: History,
    datum: ReplayBuffer,
    position: Float[Array, " size"],
    *,
    coordinates: Preconditioner | None,
) -> History:
    """Adds the newest datum to the average, and all data at the current position if that is due.

    Args:
        posterior: The posterior.
        model: The reward program.
        history: The rounds so far, the newest included.
        datum: The newest round's datum, a single row.
        position: The last draw.
        coordinates: In which the sampler needs the stiffness; None if it does not.
    """
    cache = history.curvature_cache
    assert cache is not None
    diagonal = cache.curvature.ndim == 1
    rows = jax.vmap(lambda point: posterior.curvature_factor(model, datum, point))(cache.points)
    rows = rows.reshape(-1, model.size)
    curvature = cache.curvature + product(rows, rows, diagonal) / NUM_POINTS
    due = is_due(history.rounds)
    padding = datum.features[0]
    here = _curvature_here(posterior, model, history, padding, position, due, diagonal)
    curvature = jnp.where(due, curvature + (here - curvature) / NUM_POINTS, curvature)
    slot = cache.num_points % NUM_POINTS
    points = cache.points.at[slot].set(jnp.where(due, position, cache.points[slot]))
    cache = CurvatureCache(curvature, points, cache.num_points + due, cache.stiffness)
    history = history._replace(curvature_cache=cache)
    if coordinates is None:
        return history
    largest = _stiffness(posterior, model, history, padding, coordinates)
    return history._replace(curvature_cache=cache._replace(stiffness=largest))


def is_due(rounds: Int[Array, ""]) -> Bool[Array, ""]:
    """Whether all data are evaluated at the position after so many rounds."""
    return rounds % jnp.maximum(_power_of_two_below(rounds) // NUM_POINTS, 1) == 0


def num_gradients(rounds: Int[Array, ""], *, stiffness: bool) -> Int[Array, ""]:
    """What the last update cost, in gradients of all data, rounded up."""
    count = -(-NUM_POINTS // jnp.maximum(rounds, 1)) + is_due(rounds)
    if stiffness:
        is_power = rounds == _power_of_two_below(rounds)
        count = count + is_power * NUM_STIFFNESS_POINTS * POWER_ITERATION_GRADIENTS
    return jnp.where(rounds > 0, count, 0)


def metric(posterior: Posterior, model: FlatModel, history: History) -> Matrix:
    """The prior's precision plus the averaged curvature of the loss; without a cache, the precision at a mode.

    Neither depends on the position of a chain in the current round.
    """
    prior_precision, cache = jnp.asarray(model.prior_precision), history.curvature_cache
    if cache is None:
        loss = partial(posterior.loss, history, posterior.weighted_data(history))
        precision = partial(full_precision, posterior, model, history)
        return precision(find_mode(model, loss, precision, model.draw(jax.random.key(0))))
    if cache.curvature.ndim == 1:
        prior_precision = jnp.diagonal(prior_precision)
    return prior_precision + posterior.weight_scale(history) * cache.curvature


def full_precision(
    posterior: Posterior, model: FlatModel, history: History, position: Float[Array, " size"]
) -> Float[Array, "size size"]:
    """The Gauss-Newton curvature of prior and loss from all data at a position."""
    curvature = posterior.curvature(model, history, posterior.weighted_data(history), position)
    return jnp.asarray(model.prior_precision) + curvature


def _power_of_two_below(number: Int[Array, ""]) -> Int[Array, ""]:
    """The largest power of two that is not above a number; 1 for 0."""
    number = jnp.maximum(number, 1)
    bits = 8 * number.dtype.itemsize
    return jnp.left_shift(jnp.ones_like(number), bits - 1 - jax.lax.clz(number))


def _curvature_here(
    posterior: Posterior,
    model: FlatModel,
    history: History,
    padding: Array,
    position: Array,
    due: Array,
    diagonal: bool,
) -> Array:
    """The curvature of the loss of all data at a position; zero where it is not due.

    The loop has a traced length rather than a `cond` around it: under vmap a `cond` runs both branches.
    """
    assert history.curvature_cache is not None
    zero = jnp.zeros_like(history.curvature_cache.curvature)
    sums = history.data
    if isinstance(sums, SufficientStatistics):

        def evaluate(_: Array, total: Array) -> Array:
            return total + posterior.curvature(model, history, sums, position, diagonal=diagonal)

        return jax.lax.fori_loop(0, jnp.asarray(due, int), evaluate, zero)
    data = history.data
    assert isinstance(data, ReplayBuffer)  # a window has no cache
    capacity = data.rewards.size
    size = min(ROWS_PER_BLOCK, capacity)

    def add_block(index: Array, total: Array) -> Array:
        begin = jnp.minimum(index * size, capacity - size)
        rows = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, begin, size), data)
        # The last block overlaps the one before if the capacity is not a multiple of the size.
        is_new = begin + jnp.arange(size) >= index * size
        rows = rows._replace(weights=jnp.where(is_new, rows.weights, 0.0))
        factor = posterior.curvature_factor(model, rows.padded_with(padding), position)
        return total + product(factor, factor, diagonal)

    num_blocks = jnp.where(due, -(-history.rounds // size), 0)
    return jax.lax.fori_loop(0, num_blocks, add_block, zero)


def _newest_data(history: History, padding: Array) -> Data:
    """At most MAX_STIFFNESS_ROWS of the newest rows, whose weights are scaled up to represent all; or all sums."""
    data = history.data
    if isinstance(data, SufficientStatistics):
        return data
    assert isinstance(data, ReplayBuffer)  # a window has no cache
    size = min(MAX_STIFFNESS_ROWS, data.rewards.size)
    begin = jnp.maximum(history.rounds - size, 0)
    rows = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, begin, size), data)
    return rows.padded_with(padding).scaled(jnp.maximum(history.rounds / size, 1.0))


def _stiffness(
    posterior: Posterior, model: FlatModel, history: History, padding: Array, coordinates: Preconditioner
) -> Array:
    """The stiffness, computed again whenever the number of rounds has doubled."""
    cache = history.curvature_cache
    assert cache is not None
    log_prior = model.logdensity(model.program)

    def evaluate(_: Array, stiffness: Array) -> Array:
        weighted = _newest_data(history, padding).scaled(posterior.weight_scale(history))

        def logdensity(x: Array) -> Array:
            return log_prior(x) - posterior.loss(history, weighted, model.function(x))

        newest = cache.num_points - 1 - jnp.arange(NUM_STIFFNESS_POINTS)
        points = cache.points[newest % NUM_POINTS]
        current = partial(metric, posterior, model, history)
        target = Target(logdensity, lambda _: current(), metric=current)
        preconditioned = coordinates.apply(target, points[0])

        def largest(x: Array) -> Array:
            return power_iteration(preconditioned.logdensity, preconditioned.from_target(x))

        return jnp.max(jax.vmap(largest)(points)) / preconditioned.curvature

    doubled = history.rounds == _power_of_two_below(history.rounds)
    return jax.lax.fori_loop(0, jnp.asarray(doubled, int), evaluate, cache.stiffness)
