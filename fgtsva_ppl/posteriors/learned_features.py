"""The posterior over learned features: computed anew from all rounds whenever the features have changed."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.networks import Batch
from fgtsva_ppl.posteriors.exact import gaussian_part
from fgtsva_ppl.posteriors.history import GaussianCache, History, SufficientStatistics
from fgtsva_ppl.rewards import FlatModel, NeuralLinear
from fgtsva_ppl.types import Shape
from samplers.errors import InputError


def start_features(model: FlatModel, history: History, key: Key[Array, ""], shape: Shape) -> History:
    """Adds a random network to an empty history."""
    if not isinstance(history.data, SufficientStatistics):
        raise InputError(
            "reward neural_linear needs likelihood=squared, whose sums are computed anew for new features"
        )
    if history.past is not None:
        raise InputError(
            "reward neural_linear keeps no past action sets, whose features change with the network: use a posterior "
            "other than fgts_a where action sets change"
        )
    return history._replace(learned=_learner(model).start_features(key, shape.arms, shape.dim))


def current_features(
    model: FlatModel, history: History, actions: Float[Array, "arms dim"]
) -> Float[Array, "arms size"]:
    """The features of all arms of a round by the current network."""
    assert history.learned is not None
    arms = len(actions)
    return _learner(model).features(history.learned.network, actions, jnp.arange(arms), arms)


def _learner(model: FlatModel) -> NeuralLinear:
    assert isinstance(model.learner, NeuralLinear)
    return model.learner


def learn_features(
    model: FlatModel,
    history: History,
    features: Float[Array, " dim"],
    arm: Int[Array, ""],
    reward: Float[Array, ""],
    weight: Float[Array, ""],
    num_arms: int,
) -> History:
    """Stores the newest round, trains the network if that is due, and then computes the sufficient statistics anew.

    Args:
        model: Of a reward with learned features.
        history: The rounds so far, the newest included.
        features: The environment's own features of the arm that was pulled.
        arm: Its index.
        reward: Its reward.
        weight: eta_t of the datum.
        num_arms: Number of arms.
    """
    learner, learned = _learner(model), history.learned
    assert learned is not None
    assert model.gaussian is not None
    prior, index = model.gaussian, history.rounds - 1
    row = Batch(features[None], arm[None], reward[None], weight[None])
    rows = jax.tree.map(lambda column, new: column.at[index].set(new[0]), learned.rows, row)
    learned = learner.trained(learned._replace(rows=rows), history.rounds)

    def sums(_: Array, data: SufficientStatistics) -> SufficientStatistics:
        units = learner.features(learned.network, rows.features, rows.arms, num_arms)
        weighted = rows.weights[:, None] * units
        return SufficientStatistics(
            weighted.T @ units, weighted.T @ rows.targets, jnp.sum(rows.weights * rows.targets**2)
        )

    due = jnp.asarray(learner.is_due(history.rounds), int)  # the length of a loop: see networks.training
    data = history.data
    assert isinstance(data, SufficientStatistics)
    data = jax.lax.fori_loop(0, due, sums, data)
    cache = history.gaussian_cache
    if cache is not None:
        moments = jax.lax.fori_loop(0, due, lambda *_: gaussian_part(prior, data).moments(), cache.moments)
        cache = GaussianCache(moments, cache.shape)
    return history._replace(data=data, learned=learned, gaussian_cache=cache)
