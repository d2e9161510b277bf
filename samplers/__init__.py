"""Interchangeable samplers for a log-density that changes from call to call. Knows targets, not bandits."""

from samplers.adapter import adapted, from_blackjax
from samplers.adjusted_mclmc import AdjustedMCLMC
from samplers.barker import Barker
from samplers.base import Card, Draw, Kernel, Sampler, SamplerState, Step, card
from samplers.control import Control
from samplers.dynamic_hmc import DynamicHMC
from samplers.elliptical_slice import EllipticalSlice
from samplers.exact import Exact
from samplers.fullrank_vi import FullrankVI
from samplers.ghmc import GHMC
from samplers.hmc import HMC
from samplers.laplace import Laplace
from samplers.mala import MALA
from samplers.markov import MarkovSampler
from samplers.mclmc import MCLMC
from samplers.meanfield_vi import MeanfieldVI
from samplers.nuts import NUTS
from samplers.pathfinder import Pathfinder
from samplers.psgld import PSGLD
from samplers.registry import Registry
from samplers.rmh import RMH
from samplers.settings import InputError
from samplers.sghmc import SGHMC
from samplers.sgld import SGLD
from samplers.sgnht import SGNHT
from samplers.slice import Slice
from samplers.smc import SMC
from samplers.svgd import SVGD
from samplers.target import Gaussian, Target
from samplers.ulmc import ULMC
from samplers.whitening import Frame

SAMPLERS: Registry[Sampler] = Registry("sampler", "fgtsva.samplers")
SAMPLERS.register("exact", Exact)
SAMPLERS.register("sgld", SGLD)
SAMPLERS.register("psgld", PSGLD)
SAMPLERS.register("sghmc", SGHMC)
SAMPLERS.register("sgnht", SGNHT)
SAMPLERS.register("ulmc", ULMC)
SAMPLERS.register("mclmc", MCLMC)
SAMPLERS.register("mala", MALA)
SAMPLERS.register("barker", Barker)
SAMPLERS.register("hmc", HMC)
SAMPLERS.register("dynamic_hmc", DynamicHMC)
SAMPLERS.register("ghmc", GHMC)
SAMPLERS.register("nuts", NUTS)
SAMPLERS.register("adjusted_mclmc", AdjustedMCLMC)
SAMPLERS.register("rmh", RMH)
SAMPLERS.register("elliptical_slice", EllipticalSlice)
SAMPLERS.register("slice", Slice)
SAMPLERS.register("smc", SMC)
SAMPLERS.register("svgd", SVGD)
SAMPLERS.register("laplace", Laplace)
SAMPLERS.register("pathfinder", Pathfinder)
SAMPLERS.register("meanfield_vi", MeanfieldVI)
SAMPLERS.register("fullrank_vi", FullrankVI)
SAMPLERS.register("control", Control)

register = SAMPLERS.register

__all__ = [
    "GHMC",
    "HMC",
    "MALA",
    "MCLMC",
    "NUTS",
    "PSGLD",
    "RMH",
    "SAMPLERS",
    "SGHMC",
    "SGLD",
    "SGNHT",
    "SMC",
    "SVGD",
    "ULMC",
    "AdjustedMCLMC",
    "Barker",
    "Card",
    "Control",
    "Draw",
    "DynamicHMC",
    "EllipticalSlice",
    "Exact",
    "Frame",
    "FullrankVI",
    "Gaussian",
    "InputError",
    "Kernel",
    "Laplace",
    "MarkovSampler",
    "MeanfieldVI",
    "Pathfinder",
    "Registry",
    "Sampler",
    "SamplerState",
    "Slice",
    "Step",
    "Target",
    "adapted",
    "card",
    "from_blackjax",
    "register",
]
