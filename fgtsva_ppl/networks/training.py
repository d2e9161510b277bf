"""Training on minibatches of stored rows, on a schedule, inside a compiled loop.

The number of steps is the traced length of a loop, and zero in rounds in which no training is due: under vmap a `cond`
would run both of its branches.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from fgtsva_ppl.networks.activations import ACTIVATIONS
from fgtsva_ppl.networks.mlp import Mask, Network, hidden_layer, init_network, outputs
from samplers.settings import choice, settings, static_int, traced_float, traced_int

OPTIMIZERS: dict[str, Callable[..., optax.GradientTransformation]] = {
    "adam": optax.adam,
    "rmsprop": optax.rmsprop,
    "sgd": optax.sgd,
}


class Batch(NamedTuple):
    """Rows of data.

    Attributes:
        features: Of the arms that were pulled.
        arms: Their indices.
        targets: What is fitted, the rewards.
        weights: Of the rows; zero in empty ones.
    """

    features: Float[Array, "rows dim"]
    arms: Int[Array, " rows"]
    targets: Float[Array, "rows ..."]
    weights: Float[Array, "rows ..."]


def minibatch(key: Key[Array, ""], rows: Batch, num_rows: Int[Array, ""], batch_size: int) -> Batch:
    """Rows drawn uniformly with replacement; if no more are filled than the batch holds, each of them once."""
    size = min(batch_size, rows.arms.size)
    fits = num_rows <= size
    drawn = jax.random.randint(key, (size,), 0, jnp.maximum(num_rows, 1))
    indices = jnp.where(fits, jnp.arange(size), drawn)
    return jax.tree.map(lambda column: column[indices], rows)


def least_squares(
    predictions: Float[Array, "*batch rows"],
    targets: Float[Array, "*batch rows"],
    weights: Float[Array, " rows"],
) -> Float[Array, "*batch"]:
    """sum_i w_i (r_i - f_i)^2 / 2."""
    return jnp.sum(weights * (targets - predictions) ** 2, axis=-1) / 2


def mean_loss(total: Float[Array, ""], weights: Float[Array, " rows"]) -> Float[Array, ""]:
    """The loss per row, whose gradient has the same scale whatever the number of rows."""
    return total / jnp.maximum(jnp.sum(weights), 1e-12)


@settings
class TrainedNetwork:
    """Settings of a network and of its training, for agents and rewards that learn one."""

    width: int = static_int(default=50, ge=1, doc="units of a hidden layer")
    depth: int = static_int(default=1, ge=0, doc="hidden layers; 0: a linear function of the features")
    activation: str = choice(default="relu", options=ACTIVATIONS, doc="of a hidden unit")
    heads: str = choice(
        default="shared",
        options=("shared", "disjoint"),
        doc="last layer: shared by all arms, or one for each arm (disjoint, for arms that are classes)",
    )
    refit_every: int = traced_int(default=20, ge=1, doc="rounds between two trainings of the network")
    train_steps: int = traced_int(default=100, ge=0, doc="gradient steps of each training")
    batch_size: int = static_int(default=128, ge=1, doc="rows of a gradient step")
    optimizer: str = choice(default="adam", options=OPTIMIZERS, doc="of optax; starts anew at each training")
    learning_rate: float = traced_float(default=0.01, gt=0, doc="step of the optimizer")
    learning_rate_decay: float = traced_float(
        default=0.0, ge=0, doc="d in learning_rate / (1 + d k) at step k of a training"
    )

    def start_network(self, key: Key[Array, ""], inputs: int, arms: int) -> Network:
        """Random weights for `inputs` features."""
        return init_network(
            key,
            inputs=inputs,
            width=self.width,
            depth=self.depth,
            outputs=arms if self.heads == "disjoint" else 1,
            activation=self.activation,
        )

    def last_width(self, inputs: int) -> int:
        """Number of units of the last hidden layer."""
        return self.width if self.depth else inputs

    def network_size(self, inputs: int, arms: int) -> int:
        """Number of weights and biases."""
        network = jax.eval_shape(lambda: self.start_network(jax.random.key(0), inputs, arms))
        return sum(leaf.size for leaf in jax.tree.leaves(network))

    def hidden(
        self, network: Network, features: Float[Array, "rows inputs"], mask: Mask | None = None
    ) -> Float[Array, "rows units"]:
        """The units of the last hidden layer."""
        return hidden_layer(network, features, self.activation, mask)

    def with_intercept(
        self, network: Network, features: Float[Array, "rows inputs"]
    ) -> Float[Array, "rows units_and_one"]:
        """The units of the last hidden layer and a one: what the last layer is linear in."""
        units = self.hidden(network, features)
        return jnp.concatenate([units, jnp.ones((*units.shape[:-1], 1))], axis=-1)

    def predict(
        self,
        network: Network,
        features: Float[Array, "rows inputs"],
        arms: Int[Array, " rows"],
        mask: Mask | None = None,
    ) -> Float[Array, " rows"]:
        """f(x, a) of each row: the only output, or that of the row's arm."""
        values = outputs(network, features, self.activation, mask)
        columns = arms if self.heads == "disjoint" else jnp.zeros_like(arms)
        return jnp.take_along_axis(values, columns[:, None], axis=-1)[:, 0]

    def is_due(self, rounds: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether the network is trained after so many rounds."""
        return (rounds > 0) & (rounds % self.refit_every == 0)

    def steps_after(self, rounds: Int[Array, ""]) -> Int[Array, ""]:
        """Gradient steps that are taken after so many rounds."""
        return jnp.where(self.is_due(rounds), self.train_steps, 0)

    @property
    def steps_per_round(self) -> float:
        """Gradient steps of an average round."""
        return self.train_steps / self.refit_every

    def train(
        self,
        key: Key[Array, ""],
        loss: Callable[[Key[Array, ""], Any, Batch], Float[Array, ""]],
        params: Any,
        rows: Batch,
        num_rows: Int[Array, ""],
    ) -> Any:
        """Trains if that is due.

        Args:
            key: Source of the minibatches.
            loss: Of a key, the parameters and a minibatch.
            params: A pytree.
            rows: The data.
            num_rows: How many of them are filled, which is the number of rounds.

        Returns:
            The parameters, unchanged where no training is due.
        """
        optimizer = OPTIMIZERS[self.optimizer](
            lambda count: self.learning_rate / (1 + self.learning_rate_decay * count)
        )

        def step(index: Array, carry: tuple[Any, Any]) -> tuple[Any, Any]:
            params, state = carry
            batch_key, loss_key = jax.random.split(jax.random.fold_in(key, index))
            batch = minibatch(batch_key, rows, num_rows, self.batch_size)
            gradient = jax.grad(loss, argnums=1)(loss_key, params, batch)
            updates, state = optimizer.update(gradient, state, params)
            return optax.apply_updates(params, updates), state

        carry = (params, optimizer.init(params))
        return jax.lax.fori_loop(0, self.steps_after(num_rows), step, carry)[0]
