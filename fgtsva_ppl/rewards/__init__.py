"""Reward classes as NumPyro programs."""

from fgtsva_ppl.rewards.base import (
    AnyReward,
    Embedded,
    LinearFunction,
    NoisyFunction,
    Program,
    Reward,
    RewardFunction,
    as_reward,
    reward_class,
)
from fgtsva_ppl.rewards.finite import Finite, FiniteProgram
from fgtsva_ppl.rewards.gp import GP
from fgtsva_ppl.rewards.gradients import row_gradients
from fgtsva_ppl.rewards.hierarchical import Hierarchical
from fgtsva_ppl.rewards.inspection import ZeroDensityError, flat_model
from fgtsva_ppl.rewards.linear import Linear
from fgtsva_ppl.rewards.link import LinkedFunction, LinkedReward
from fgtsva_ppl.rewards.logistic import Logistic
from fgtsva_ppl.rewards.loglinear import LogLinear
from fgtsva_ppl.rewards.mlp import MLP
from fgtsva_ppl.rewards.model import FlatModel
from fgtsva_ppl.rewards.neural_linear import LearnedFeatures, NeuralLinear
from fgtsva_ppl.rewards.noise_model import WithNoiseModel
from fgtsva_ppl.rewards.observed import ObservedFunction
from fgtsva_ppl.rewards.per_arm import PerArm
from samplers.registry import Registry

REWARDS: Registry[Reward] = Registry("reward", "fgtsva.rewards", reward_class)
REWARDS.register("linear", Linear)
REWARDS.register("per_arm", PerArm)
REWARDS.register("finite", Finite)
REWARDS.register("logistic", Logistic)
REWARDS.register("loglinear", LogLinear)
REWARDS.register("mlp", MLP)
REWARDS.register("neural_linear", NeuralLinear)
REWARDS.register("gp", GP)
REWARDS.register("hierarchical", Hierarchical)

__all__ = [
    "GP",
    "MLP",
    "REWARDS",
    "AnyReward",
    "Embedded",
    "Finite",
    "FiniteProgram",
    "FlatModel",
    "Hierarchical",
    "LearnedFeatures",
    "Linear",
    "LinearFunction",
    "LinkedFunction",
    "LinkedReward",
    "LogLinear",
    "Logistic",
    "NeuralLinear",
    "NoisyFunction",
    "ObservedFunction",
    "PerArm",
    "Program",
    "Reward",
    "RewardFunction",
    "WithNoiseModel",
    "ZeroDensityError",
    "as_reward",
    "flat_model",
    "reward_class",
    "row_gradients",
]
