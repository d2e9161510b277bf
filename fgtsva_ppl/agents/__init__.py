"""Agents: Thompson sampling and the baselines, behind one base class.

FGTS-VA, FGTS-A, FGTS-B and vanilla Thompson sampling are the agent `thompson` with that posterior. Vanilla Thompson
sampling with heteroscedastic weights is the posterior `fgts_va` with c=0.
"""

from fgtsva_ppl.agents.ask_tell import ThompsonAgent
from fgtsva_ppl.agents.baselines import Clairvoyant, EpsilonGreedy, Greedy, Uniform
from fgtsva_ppl.agents.beta_ts import BetaTS
from fgtsva_ppl.agents.ensemble import Ensemble
from fgtsva_ppl.agents.linear_ensemble_plus_plus import LinearEnsemblePlusPlus
from fgtsva_ppl.agents.linear_ts import LinNATS, LinTS
from fgtsva_ppl.agents.neural import (
    BootstrappedEnsemble,
    Dropout,
    EnsemblePlusPlus,
    NeuralLinear,
    NeuralTS,
    NeuralUCB,
    RandomisedPrior,
)
from fgtsva_ppl.agents.oful import OFUL, WeightedOFUL
from fgtsva_ppl.agents.published_ulmc import PublishedULMC
from fgtsva_ppl.agents.save import SAVE, LinVDTS
from fgtsva_ppl.agents.thompson import EmbeddedRound, Thompson, ThompsonState
from fgtsva_ppl.agents.ts_sa import AveragedLangevin
from fgtsva_ppl.types import Agent
from samplers.registry import Registry

AGENTS: Registry[Agent] = Registry("agent", "fgtsva.agents")
AGENTS.register("thompson", Thompson)
AGENTS.register("ensemble", Ensemble)
AGENTS.register("linear_ensemble_plus_plus", LinearEnsemblePlusPlus)
AGENTS.register("ts_sa", AveragedLangevin)
AGENTS.register("beta_ts", BetaTS)
AGENTS.register("published_ulmc", PublishedULMC)
AGENTS.register("oful", OFUL)
AGENTS.register("weighted_oful", WeightedOFUL)
AGENTS.register("save", SAVE)
AGENTS.register("lints", LinTS)
AGENTS.register("linnats", LinNATS)
AGENTS.register("linvdts", LinVDTS)
AGENTS.register("neural_linear", NeuralLinear)
AGENTS.register("neural_ucb", NeuralUCB)
AGENTS.register("neural_ts", NeuralTS)
AGENTS.register("bootstrapped_ensemble", BootstrappedEnsemble)
AGENTS.register("randomised_prior", RandomisedPrior)
AGENTS.register("dropout", Dropout)
AGENTS.register("ensemble_plus_plus", EnsemblePlusPlus)
AGENTS.register("greedy", Greedy)
AGENTS.register("epsilon_greedy", EpsilonGreedy)
AGENTS.register("uniform", Uniform)
AGENTS.register("clairvoyant", Clairvoyant)

__all__ = [
    "AGENTS",
    "OFUL",
    "SAVE",
    "AveragedLangevin",
    "BetaTS",
    "BootstrappedEnsemble",
    "Clairvoyant",
    "Dropout",
    "EmbeddedRound",
    "Ensemble",
    "EnsemblePlusPlus",
    "EpsilonGreedy",
    "Greedy",
    "LinNATS",
    "LinTS",
    "LinVDTS",
    "LinearEnsemblePlusPlus",
    "NeuralLinear",
    "NeuralTS",
    "NeuralUCB",
    "PublishedULMC",
    "RandomisedPrior",
    "Thompson",
    "ThompsonAgent",
    "ThompsonState",
    "Uniform",
    "WeightedOFUL",
]
