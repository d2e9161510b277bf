"""Neural agents that people compare with: networks trained on a schedule, with some way to explore."""

from fgtsva_ppl.agents.neural.base import NeuralAgent, NeuralState
from fgtsva_ppl.agents.neural.dropout import Dropout
from fgtsva_ppl.agents.neural.ensemble_plus_plus import EnsemblePlusPlus
from fgtsva_ppl.agents.neural.ensembles import BootstrappedEnsemble, RandomisedPrior
from fgtsva_ppl.agents.neural.gradient_features import NeuralTS, NeuralUCB
from fgtsva_ppl.agents.neural.neural_linear import NeuralLinear

__all__ = [
    "BootstrappedEnsemble",
    "Dropout",
    "EnsemblePlusPlus",
    "NeuralAgent",
    "NeuralLinear",
    "NeuralState",
    "NeuralTS",
    "NeuralUCB",
    "RandomisedPrior",
]
