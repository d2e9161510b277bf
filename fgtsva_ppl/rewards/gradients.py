"""Gradients of reward functions with respect to their parameters, row by row."""

from collections.abc import Callable

import jax
from jax import Array
from jaxtyping import Float

from fgtsva_ppl.rewards.base import RewardFunction


def row_gradients(
    function: Callable[[Array], RewardFunction],
    features: Float[Array, "rows features"],
    position: Float[Array, " size"],
) -> Float[Array, "rows size"]:
    """The gradient of each row's value with respect to the parameters, row by row in reverse mode.

    Args:
        function: Parameters -> a function from rows of features to one value for each row.
        features: The rows.
        position: The parameters.
    """

    def gradient(row: Array) -> Array:
        return jax.grad(lambda x: function(x)(row[None])[0])(position)

    return jax.vmap(gradient)(features)
