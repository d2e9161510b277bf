"""Interchangeable samplers for a log-density that changes from call to call. Knows targets, not bandits."""

from samplers.base import Draw, Kernel, MarkovSampler, Sampler, SamplerState, Step
from samplers.exact import Exact
from samplers.hmc import HMC
from samplers.mala import MALA
from samplers.nuts import NUTS
from samplers.registry import Registry
from samplers.settings import InputError
from samplers.sgld import PSGLD, SGLD
from samplers.target import Gaussian, Target

SAMPLERS: Registry[Sampler] = Registry("sampler", "fgtsva.samplers")
SAMPLERS.register("exact", Exact)
SAMPLERS.register("sgld", SGLD)
SAMPLERS.register("psgld", PSGLD)
SAMPLERS.register("mala", MALA)
SAMPLERS.register("hmc", HMC)
SAMPLERS.register("nuts", NUTS)

register = SAMPLERS.register

__all__ = [
    "HMC",
    "MALA",
    "NUTS",
    "PSGLD",
    "SAMPLERS",
    "SGLD",
    "Draw",
    "Exact",
    "Gaussian",
    "InputError",
    "Kernel",
    "MarkovSampler",
    "Registry",
    "Sampler",
    "SamplerState",
    "Step",
    "Target",
    "register",
]
