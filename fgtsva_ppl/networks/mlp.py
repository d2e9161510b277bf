"""A multilayer perceptron as pure functions of its weights, a pytree."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from fgtsva_ppl.networks.activations import ACTIVATIONS


class Layer(NamedTuple):
    """features -> features @ weights + bias."""

    weights: Float[Array, "*members inputs outputs"]
    bias: Float[Array, "*members outputs"]

    def __call__(self, features: Float[Array, "rows inputs"]) -> Float[Array, "rows outputs"]:
        """The layer before its activation."""
        return features @ self.weights + self.bias


type Network = tuple[Layer, ...]  # hidden layers, then the output layer, which has no activation
type Mask = Callable[[int, Array], Array]  # (number of the hidden layer, its units) -> what is passed on


def init_network(
    key: Key[Array, ""], *, inputs: int, width: int, depth: int, outputs: int, activation: str
) -> Network:
    """Random weights with variance gain / inputs of the layer (gain 2 for relu, else 1), and no biases.

    Args:
        key: Source of all randomness.
        inputs: Number of features.
        width: Units of a hidden layer.
        depth: Number of hidden layers; without any the network is linear.
        outputs: Number of outputs.
        activation: Of the hidden units.
    """
    sizes = [inputs, *[width] * depth, outputs]
    gain = 2.0 if activation == "relu" else 1.0

    def layer(index: int, size: int, units: int) -> Layer:
        last = index == depth
        scale = (1.0 if last else gain) ** 0.5 * size**-0.5
        return Layer(
            scale * jax.random.normal(jax.random.fold_in(key, index), (size, units)), jnp.zeros(units)
        )

    return tuple(layer(index, *pair) for index, pair in enumerate(itertools.pairwise(sizes)))


def hidden_layer(
    network: Network, features: Float[Array, "rows inputs"], activation: str, mask: Mask | None = None
) -> Float[Array, "rows units"]:
    """The units of the last hidden layer; the features themselves if there is none.

    Args:
        network: The weights.
        features: One row per input.
        activation: Of the hidden units.
        mask: Applied to the units of each hidden layer, for dropout.
    """
    units = features
    for index, layer in enumerate(network[:-1]):
        units = ACTIVATIONS[activation](layer(units))
        units = units if mask is None else mask(index, units)
    return units


def outputs(
    network: Network, features: Float[Array, "rows inputs"], activation: str, mask: Mask | None = None
) -> Float[Array, "rows outputs"]:
    """All outputs of the network; see `hidden_layer`."""
    return network[-1](hidden_layer(network, features, activation, mask))
