"""Rewards that are linear in learned features: the last hidden layer of a network, which is trained on a schedule.

For given hidden layers the last layer has a Gaussian prior and a linear posterior, from which any sampler draws.
"""

from typing import NamedTuple, override

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Float, Int, Key, UInt32

from fgtsva_ppl.networks import Batch, Network, TrainedNetwork, least_squares, mean_loss
from fgtsva_ppl.rewards.base import Embedded, LinearFunction, Reward
from samplers.settings import settings, traced_float


class LearnedFeatures(NamedTuple):
    """A network, and what it is trained on.

    Attributes:
        network: Whose last hidden layer the features are.
        rows: All rounds, with room for more.
        key: Data of the key from which the minibatches are drawn.
    """

    network: Network
    rows: Batch
    key: UInt32[Array, "..."]


@settings
class NeuralLinear(TrainedNetwork, Reward):
    """f(x, a) = <theta, z(x, a)>, z being the last hidden layer of a network and a one.

    The network is trained every `refit_every` rounds, from its last weights, on the weighted squared loss of all
    rounds. Then the features of all rounds are computed anew, and with them the posterior of theta, which has the prior
    N(0, prior_scale^2 I).
    """

    prior_scale: float = traced_float(
        default=1.0, gt=0, doc="standard deviation of a coefficient of the last layer"
    )

    @override
    def embedded(self, arms: int, dim: int) -> Embedded:
        """The program takes learned features; `embed` leaves a round as it is."""
        size = (self.last_width(dim) + 1) * (arms if self.heads == "disjoint" else 1)

        def last_layer() -> LinearFunction:
            prior = dist.Normal(0, self.prior_scale).expand([size]).to_event(1)
            return LinearFunction(numpyro.sample("last_layer", prior))

        return Embedded(last_layer, lambda actions: actions, size, self)

    def start_features(self, key: Key[Array, ""], arms: int, dim: int) -> LearnedFeatures:
        """A random network, and no rounds."""
        network_key, training_key = jax.random.split(key)
        rows = Batch(jnp.zeros((1, dim)), jnp.zeros(1, int), jnp.zeros(1), jnp.zeros(1))
        network = self.start_network(network_key, dim, arms)
        return LearnedFeatures(network, rows, jax.random.key_data(training_key))

    def features(
        self, network: Network, rows: Float[Array, "rows dim"], arms: Int[Array, " rows"], num_arms: int
    ) -> Float[Array, "rows size"]:
        """z(x, a) of each row; with disjoint heads in the arm's own block, and zeros elsewhere."""
        units = self.with_intercept(network, rows)
        if self.heads == "shared":
            return units
        blocks = jax.nn.one_hot(arms, num_arms)[:, :, None] * units[:, None, :]
        return blocks.reshape(len(units), -1)

    def trained(self, learned: LearnedFeatures, rounds: Int[Array, ""]) -> LearnedFeatures:
        """With the network trained on all rounds, if that is due."""

        def loss(key: Array, network: Network, batch: Batch) -> Array:
            predictions = self.predict(network, batch.features, batch.arms)
            return mean_loss(least_squares(predictions, batch.targets, batch.weights), batch.weights)

        key = jax.random.fold_in(jax.random.wrap_key_data(learned.key), rounds)
        return learned._replace(network=self.train(key, loss, learned.network, learned.rows, rounds))

    def round_products(self, arms: int, dim: int, rounds: int) -> float:
        """Multiplications of an average round: of the training, the features, and the sums over all rounds."""
        rows = self.steps_per_round * min(self.batch_size, rounds) + arms
        size = (self.last_width(dim) + 1) * (arms if self.heads == "disjoint" else 1)
        return 6.0 * self.network_size(dim, arms) * rows + size**2 * (6 + rounds / 2 / self.refit_every)
