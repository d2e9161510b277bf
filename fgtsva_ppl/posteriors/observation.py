"""What an observed reward changes: the data, with their weights, and everything that is cached of them."""

from typing import NamedTuple

from jax import Array
from jaxtyping import Float, Int

from fgtsva_ppl.posteriors import curvature
from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.forgetting import add_datum
from fgtsva_ppl.posteriors.gradient_cache import update_gradient_cache
from fgtsva_ppl.posteriors.history import History, ReplayBuffer
from fgtsva_ppl.posteriors.learned_features import learn_features
from fgtsva_ppl.rewards import FlatModel
from fgtsva_ppl.types import Round
from samplers.adaptation.preconditioning import Preconditioner


class Datum(NamedTuple):
    """An observed reward.

    Attributes:
        round: The round in which it was earned, with features as the reward's program takes them.
        action: The arm that was pulled.
        reward: The reward.
        age: Rounds since then; 0 if it is observed at the end of its own round.
        raw: The environment's own features, where the reward's are learned.
    """

    round: Round
    action: Int[Array, ""]
    reward: Float[Array, ""]
    age: Int[Array, ""] | int = 0
    raw: Float[Array, "arms raw_dim"] | None = None


def with_datum(
    posterior: Posterior,
    model: FlatModel,
    history: History,
    datum: Datum,
    position: Float[Array, " size"],
    *,
    coordinates: Preconditioner | None,
) -> History:
    """The history with one more datum, weighted by the variance of its own round.

    Args:
        posterior: The posterior.
        model: The reward program.
        history: What has been observed so far.
        datum: The datum.
        position: The last draw, where curvatures are evaluated.
        coordinates: In which the sampler needs the stiffness; None if it does not.
    """
    (actions, sigma), action, reward, age, raw = datum

    def residual() -> Array:
        return reward - model.function(position)(actions[action][None])[0]

    sigma = posterior.variance_model.observed_sigma(sigma, residual)
    weight, variance = posterior.weight(sigma), posterior.round_variance(sigma)
    if posterior.forgets:
        history, weight = add_datum(posterior, history, actions, action, reward, weight, variance, age)
    else:
        history = history.added(actions, action, reward, weight, variance)
    if raw is not None:
        history = learn_features(model, history, raw[action], action, reward, weight, len(raw))
    if history.gradient_cache is not None:
        history = update_gradient_cache(posterior, model, history)
    if history.curvature_cache is not None:
        row = ReplayBuffer(actions[action][None], reward[None], weight[None])
        history = curvature.update_curvature(
            posterior, model, history, row, position, coordinates=coordinates
        )
    return history
