"""Small fully connected networks as pure functions, and their training inside compiled loops."""

from fgtsva_ppl.networks.mlp import Layer, Network, hidden_layer, init_network, outputs
from fgtsva_ppl.networks.training import Batch, TrainedNetwork, least_squares, mean_loss, minibatch

__all__ = [
    "Batch",
    "Layer",
    "Network",
    "TrainedNetwork",
    "hidden_layer",
    "init_network",
    "least_squares",
    "mean_loss",
    "minibatch",
    "outputs",
]
