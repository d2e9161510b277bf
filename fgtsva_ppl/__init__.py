"""Approximate Thompson sampling: posteriors as NumPyro programs, samplers that can be swapped, exact references.

Importing this package sets JAX up: float64, and one host device per core if JAX has not been used yet.
"""

from fgtsva_ppl.jax_config import configure

configure()

from fgtsva_ppl.agents import AGENTS, Thompson, ThompsonAgent  # noqa: E402
from fgtsva_ppl.drift import DRIFTS, WithDrift  # noqa: E402
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
from fgtsva_ppl.feedback import FEEDBACKS, WithFeedback  # noqa: E402
from fgtsva_ppl.likelihoods import LIKELIHOODS, Bernoulli, Likelihood, Poisson, StudentT  # noqa: E402
from fgtsva_ppl.posteriors import (  # noqa: E402
    FGTSA,
    FGTSB,
    FGTSVA,
    POSTERIORS,
    TS,
    VARIANCE_MODELS,
    Estimated,
    Modelled,
    ModelledByContext,
    Revealed,
    RevealedAfter,
)
from fgtsva_ppl.rewards import (  # noqa: E402
    GP,
    MLP,
    REWARDS,
    Hierarchical,
    Linear,
    LinearFunction,
    Logistic,
    Reward,
)
from fgtsva_ppl.simulation import Simulation, simulate  # noqa: E402
from fgtsva_ppl.types import Agent, Environment, Outcome, Round, Shape  # noqa: E402
from samplers import HMC, MALA, NUTS, PSGLD, SAMPLERS, SGLD, Exact, InputError  # noqa: E402

__version__ = "0.2.0"

__all__ = [
    "AGENTS",
    "DRIFTS",
    "ENVIRONMENTS",
    "FEEDBACKS",
    "FGTSA",
    "FGTSB",
    "FGTSVA",
    "GP",
    "HMC",
    "LIKELIHOODS",
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
    "VARIANCE_MODELS",
    "Agent",
    "Bernoulli",
    "Contextual",
    "Dense",
    "Deterministic",
    "Environment",
    "Estimated",
    "Exact",
    "Hierarchical",
    "Homoscedastic",
    "InputError",
    "Likelihood",
    "Linear",
    "LinearFunction",
    "Logistic",
    "Modelled",
    "ModelledByContext",
    "Outcome",
    "Poisson",
    "Revealed",
    "RevealedAfter",
    "Reward",
    "Round",
    "Shape",
    "Simulation",
    "Sparse",
    "StudentT",
    "Thompson",
    "ThompsonAgent",
    "WithDrift",
    "WithFeedback",
    "WithNoise",
    "configure",
    "simulate",
]
