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
from fgtsva_ppl.rewards.hierarchical import Hierarchical
from fgtsva_ppl.rewards.inspection import ZeroDensityError, flat_model
from fgtsva_ppl.rewards.linear import Linear
from fgtsva_ppl.rewards.logistic import Logistic
from fgtsva_ppl.rewards.mlp import MLP
from fgtsva_ppl.rewards.model import FlatModel
from fgtsva_ppl.rewards.noise_model import WithNoiseModel
from samplers.registry import Registry

REWARDS: Registry[Reward] = Registry("reward", "fgtsva.rewards", reward_class)
REWARDS.register("linear", Linear)
REWARDS.register("finite", Finite)
REWARDS.register("logistic", Logistic)
REWARDS.register("mlp", MLP)
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
    "Linear",
    "LinearFunction",
    "Logistic",
    "NoisyFunction",
    "Program",
    "Reward",
    "RewardFunction",
    "WithNoiseModel",
    "ZeroDensityError",
    "as_reward",
    "flat_model",
    "reward_class",
]
