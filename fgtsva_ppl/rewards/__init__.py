"""Reward classes as NumPyro programs."""

from fgtsva_ppl.rewards.linear import Linear
from fgtsva_ppl.rewards.program import Latent, LinearFunction, Program, Reward, RewardFunction, latent
from samplers.registry import Registry

REWARDS: Registry[Reward] = Registry("reward", "fgtsva.rewards")
REWARDS.register("linear", Linear)

__all__ = ["REWARDS", "Latent", "Linear", "LinearFunction", "Program", "Reward", "RewardFunction", "latent"]
