"""Approximate Thompson sampling: posteriors as NumPyro programs, samplers that can be swapped, exact references.

Importing this package sets JAX up: float64, and one host device per core if JAX has not been used yet.
"""

from fgtsva_ppl.jax_config import configure

configure()

from fgtsva_ppl.agents import AGENTS, Thompson, ThompsonAgent  # noqa: E402
from fgtsva_ppl.environments import (  # noqa: E402
    ENVIRONMENTS,
    NOISES,
    Contextual,
    Dense,
    Deterministic,
    Homoscedastic,
    Sparse,
    WithNoise,
)
from fgtsva_ppl.posteriors.feel_good import FGTSA, FGTSB, FGTSVA, POSTERIORS, TS  # noqa: E402
from fgtsva_ppl.rewards import GP, MLP, REWARDS, Hierarchical, Linear, LinearFunction, Logistic  # noqa: E402
from fgtsva_ppl.simulation.loop import Simulation, simulate  # noqa: E402
from samplers import HMC, MALA, NUTS, PSGLD, SAMPLERS, SGLD, Exact, InputError  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "AGENTS",
    "ENVIRONMENTS",
    "FGTSA",
    "FGTSB",
    "FGTSVA",
    "GP",
    "HMC",
    "MALA",
    "MLP",
    "NOISES",
    "NUTS",
    "POSTERIORS",
    "PSGLD",
    "REWARDS",
    "SAMPLERS",
    "SGLD",
    "TS",
    "Contextual",
    "Dense",
    "Deterministic",
    "Exact",
    "Hierarchical",
    "Homoscedastic",
    "InputError",
    "Linear",
    "LinearFunction",
    "Logistic",
    "Simulation",
    "Sparse",
    "Thompson",
    "ThompsonAgent",
    "WithNoise",
    "configure",
    "simulate",
]
