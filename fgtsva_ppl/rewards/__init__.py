"""Reward classes as NumPyro programs."""

from fgtsva_ppl.rewards.finite import Finite, FiniteProgram
from fgtsva_ppl.rewards.linear import Linear
from fgtsva_ppl.rewards.program import Latent, LinearFunction, Program, Reward, RewardFunction, latent
from samplers.registry import Registry

REWARDS: Registry[Reward] = Registry("reward", "fgtsva.rewards")
REWARDS.register("linear", Linear)
REWARDS.register("finite", Finite)

__all__ = [
    "REWARDS",
    "Finite",
    "FiniteProgram",
    "Latent",
    "Linear",
    "LinearFunction",
    "Program",
    "Reward",
    "RewardFunction",
    "latent",
]
