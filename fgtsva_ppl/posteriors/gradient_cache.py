"""The control variate of minibatch gradients: the gradient of all data at an anchor.

It is updated with each datum. Whenever the history grows, the anchor moves to the mode.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.curvature import full_precision
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
    """Moves the anchor to the mode, searched from `start`, and recomputes its gradient from all data."""
    cache = history.gradient_cache
    assert cache is not None
    assert isinstance(history.data, ReplayBuffer)
    data = history.data.padded_with(history.data.features[0])
    padded = history._replace(data=data)
    not_empty = history.rounds > 0  # without data no row is valid, and the reward may be undefined there
    weighted_loss = partial(posterior.loss, padded, posterior.weighted_data(padded))
    mode = find_mode(model, weighted_loss, partial(full_precision, posterior, model, padded), start)
    gradient = loss_gradient(model, _loss(posterior, padded), data, mode)
    anchor = Anchor(mode, jnp.where(not_empty, gradient, 0.0))
    return history._replace(gradient_cache=cache._replace(anchor=anchor))


def update_gradient_cache(posterior: Posterior, model: FlatModel, history: History) -> History:
    """Adds the newest datum to the gradient at the anchor."""
    cache = history.gradient_cache
    assert cache is not None
    newest = jax.tree.map(lambda row: row[history.rounds - 1][None], history.data)
    at_anchor = loss_gradient(model, _loss(posterior, history), newest, cache.anchor.position)
    anchor = Anchor(cache.anchor.position, cache.anchor.gradient + at_anchor)
    return history._replace(gradient_cache=cache._replace(anchor=anchor))


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
        history.rounds
        if history.window_variances is None
        else jnp.minimum(history.rounds, history.window_variances.size),
        posterior.weight_scale(history),
        history.gradient_cache,
        round.actions[0],
    )
    return minibatch_gradient(model, data, _loss(posterior, history), bonus)


def _loss(posterior: Posterior, history: History) -> Loss:
    """The loss of some rows of a history."""
    loss: Loss = partial(posterior.loss, history)
    return loss
