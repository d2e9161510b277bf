"""Dropout as approximate Thompson sampling (Gal & Ghahramani 2016; Riquelme et al. 2018)."""

from typing import ClassVar, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from fgtsva_ppl.agents.neural.base import NeuralAgent, NeuralState
from fgtsva_ppl.networks import Batch, Network, least_squares, mean_loss
from fgtsva_ppl.types import Round
from samplers.settings import settings, traced_float


@settings
class Dropout(NeuralAgent):
    """Drops hidden units at random, in every training step and once for the decision of a round.

    A unit is kept with probability 1 - rate and then divided by it. In training every row has units of its own; in a
    decision all arms share them, so that one function is drawn.
    """

    rate: float = traced_float(
        default=0.2, ge=0, le=0.95, doc="probability with which a hidden unit is dropped"
    )

    label: ClassVar[str] = "dropout"

    def mask(
        self, key: Key[Array, ""], index: int, units: Float[Array, "rows units"], *, shared: bool
    ) -> Float[Array, "rows units"]:
        """The units of hidden layer `index` that are kept, scaled to the same mean; one draw for all rows if shared."""
        shape = (1, units.shape[1]) if shared else units.shape
        kept = jax.random.uniform(jax.random.fold_in(key, index), shape) >= self.rate
        return units * kept / (1 - self.rate)

    @override
    def loss(
        self, key: Key[Array, ""], state: NeuralState, params: Network, batch: Batch
    ) -> Float[Array, ""]:
        """The squared loss per row, each with units of its own dropped."""

        def mask(index: int, units: Array) -> Array:
            return self.mask(key, index, units, shared=False)

        predictions = self.predict(params, batch.features, batch.arms, mask)
        return mean_loss(least_squares(predictions, batch.targets, batch.weights), batch.weights)

    @override
    def scores(self, key: Key[Array, ""], state: NeuralState, round: Round) -> Float[Array, " arms"]:
        """The predictions of the network without the dropped units."""

        def mask(index: int, units: Array) -> Array:
            return self.mask(key, index, units, shared=True)

        return jnp.asarray(self.predict(state.params, round.actions, self.arm_indices(round), mask))
