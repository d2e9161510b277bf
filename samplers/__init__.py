"""Interchangeable samplers for a log-density that changes from call to call. Knows targets, not bandits."""

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import Draw, Kernel, Sampler, SamplerInfo, SamplerState, Step, sampler_info
from samplers.from_blackjax import as_kernel, from_blackjax
from samplers.markov import MarkovSampler
from samplers.mcmc.adjusted_mclmc import AdjustedMCLMC
from samplers.mcmc.barker import Barker
from samplers.mcmc.dynamic_hmc import DynamicHMC
from samplers.mcmc.elliptical_slice import EllipticalSlice
from samplers.mcmc.ghmc import GHMC
from samplers.mcmc.hmc import HMC
from samplers.mcmc.mala import MALA
from samplers.mcmc.mclmc import MCLMC
from samplers.mcmc.nuts import NUTS
from samplers.mcmc.rmh import RMH
from samplers.mcmc.slice import Slice
from samplers.reference.control import Control
from samplers.reference.exact import Exact
from samplers.registry import Registry
from samplers.settings import InputError
from samplers.sgmcmc.psgld import PSGLD
from samplers.sgmcmc.sghmc import SGHMC
from samplers.sgmcmc.sgld import SGLD
from samplers.sgmcmc.sgnht import SGNHT
from samplers.sgmcmc.ulmc import ULMC
from samplers.smc.smc import SMC
from samplers.target import Gaussian, Target
from samplers.vi.fullrank_vi import FullrankVI
from samplers.vi.laplace import Laplace
from samplers.vi.meanfield_vi import MeanfieldVI
from samplers.vi.pathfinder import Pathfinder
from samplers.vi.svgd import SVGD

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
    "Control",
    "Draw",
    "DynamicHMC",
    "EllipticalSlice",
    "Exact",
    "FullrankVI",
    "Gaussian",
    "InputError",
    "Kernel",
    "Laplace",
    "MarkovSampler",
    "MeanfieldVI",
    "Pathfinder",
    "Preconditioned",
    "Registry",
    "Sampler",
    "SamplerInfo",
    "SamplerState",
    "Slice",
    "Step",
    "Target",
    "as_kernel",
    "from_blackjax",
    "register",
    "sampler_info",
]
