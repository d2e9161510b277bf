"""A Bayesian neural network: fully connected layers with normal weights."""

import itertools
from typing import override

import numpyro
import numpyro.distributions as dist
from jax import Array

from fgtsva_ppl.networks.activations import ACTIVATIONS
from fgtsva_ppl.rewards.base import Program, Reward, RewardFunction
from samplers.settings import choice, settings, static_int, traced_float


@settings
class MLP(Reward):
    """A network of `depth` hidden layers; a weight has variance prior_scale^2 over the number of its layer's inputs."""

    width: int = static_int(default=16, ge=1, doc="units of a hidden layer")
    depth: int = static_int(default=1, ge=1, doc="hidden layers")
    activation: str = choice(default="tanh", options=ACTIVATIONS, doc="of a hidden unit")
    prior_scale: float = traced_float(default=1.0, gt=0, doc="scale of all weights and biases")

    @override
    def program(self, dim: int) -> Program:
        """Sites weights_0, bias_0, weights_1, ...; the last layer has one output and no activation."""
        sizes = [dim, *[self.width] * self.depth, 1]
        activation = ACTIVATIONS[self.activation]

        def network() -> RewardFunction:
            layers = [self._layer(i, *pair) for i, pair in enumerate(itertools.pairwise(sizes))]

            def function(features: Array) -> Array:
                hidden = features
                for weights, bias in layers[:-1]:
                    hidden = activation(hidden @ weights + bias)
                weights, bias = layers[-1]
                return (hidden @ weights + bias)[..., 0]

            return function

        return network

    def _layer(self, index: int, inputs: int, outputs: int) -> tuple[Array, Array]:
        prior = dist.Normal(0, self.prior_scale * inputs**-0.5).expand([inputs, outputs]).to_event(2)
        weights = numpyro.sample(f"weights_{index}", prior)
        bias = numpyro.sample(f"bias_{index}", dist.Normal(0, self.prior_scale).expand([outputs]).to_event(1))
        return weights, bias
