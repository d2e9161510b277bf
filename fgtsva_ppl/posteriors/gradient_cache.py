"""Summaries of all data for samplers that only see minibatches: the curvature, and the anchor of a control variate.

They are updated with each datum, and refreshed from all data whenever the history grows.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.history import Anchor, History, ReplayBuffer
from fgtsva_ppl.posteriors.minibatch import (
    Loss,
    MinibatchData,
    MinibatchGradient,
    find_mode,
    loss_gradient,
    minibatch_gradient,
)
from fgtsva_ppl.rewards import FlatModel
from fgtsva_ppl.types import Round


def refresh_gradient_cache(
    posterior: Posterior, model: FlatModel, history: History, start: Float[Array, " size"]
) -> History:
    """Recomputes the cache from all data; the anchor moves to the mode, searched from `start`."""
    cache = history.gradient_cache
    assert cache is not None
    assert isinstance(history.data, ReplayBuffer)
    data = history.data.padded_with(history.data.features[0])
    padded = history._replace(data=data)
    not_empty = history.rounds > 0  # without data no row is valid, and the reward may be undefined there
    anchor = None
    if cache.anchor is not None:
        weighted_loss = partial(posterior.loss, padded, posterior.weighted_data(padded))
        start = find_mode(model, weighted_loss, partial(full_precision, posterior, model, padded), start)
        gradient = loss_gradient(model, _loss(posterior, padded), data, start)
        anchor = Anchor(start, jnp.where(not_empty, gradient, 0.0))
    curvature = jnp.where(not_empty, posterior.curvature(model, padded, data, start), 0.0)
    return history._replace(gradient_cache=cache._replace(curvature=curvature, anchor=anchor))


def update_gradient_cache(
    posterior: Posterior, model: FlatModel, history: History, position: Float[Array, " size"]
) -> History:
    """Adds the newest datum to the cache."""
    cache, anchor = history.gradient_cache, None
    assert cache is not None
    newest = jax.tree.map(lambda row: row[history.rounds - 1][None], history.data)
    curvature = cache.curvature + posterior.curvature(model, history, newest, position)
    if cache.anchor is not None:
        at_anchor = loss_gradient(model, _loss(posterior, history), newest, cache.anchor.position)
        anchor = Anchor(cache.anchor.position, cache.anchor.gradient + at_anchor)
    return history._replace(gradient_cache=cache._replace(curvature=curvature, anchor=anchor))


def minibatch_gradient_of(
    posterior: Posterior, model: FlatModel, history: History, round: Round
) -> MinibatchGradient | None:
    """Minibatch gradients of a posterior; None if no rows are kept.

    The history must not be padded, so that no more rows are read than a batch holds.
    """
    if not isinstance(history.data, ReplayBuffer):
        return None
    bonus = partial(posterior.bonus, history=history, round=round)
    data = MinibatchData(
        history.data,
        history.rounds,
        posterior.weight_scale(history),
        history.gradient_cache,
        round.actions[0],
    )
    return minibatch_gradient(model, data, _loss(posterior, history), bonus)


def precision(
    posterior: Posterior, model: FlatModel, history: History, position: Float[Array, " size"]
) -> Float[Array, "size size"]:
    """The curvature of prior and loss: from the cache if there is one, else from all data at the position."""
    if history.gradient_cache is None:
        return full_precision(posterior, model, history, position)
    scale = posterior.weight_scale(history)
    return jnp.asarray(model.prior_precision) + scale * history.gradient_cache.curvature


def full_precision(
    posterior: Posterior, model: FlatModel, history: History, position: Float[Array, " size"]
) -> Float[Array, "size size"]:
    """The Gauss-Newton curvature of prior and loss from all data."""
    curvature = posterior.curvature(model, history, posterior.weighted_data(history), position)
    return jnp.asarray(model.prior_precision) + curvature


def _loss(posterior: Posterior, history: History) -> Loss:
    """The loss of some rows of a history."""
    loss: Loss = partial(posterior.loss, history)
    return loss
