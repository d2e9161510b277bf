"""Likelihoods: what an observed reward says, by the names that configurations use."""

from fgtsva_ppl.likelihoods.base import Likelihood
from fgtsva_ppl.likelihoods.families import Bernoulli, Poisson, Squared, StudentT
from fgtsva_ppl.likelihoods.program import OwnLikelihood
from samplers.registry import Registry

LIKELIHOODS: Registry[Likelihood] = Registry("likelihood", "fgtsva.likelihoods")
LIKELIHOODS.register("squared", Squared)
LIKELIHOODS.register("bernoulli", Bernoulli)
LIKELIHOODS.register("poisson", Poisson)
LIKELIHOODS.register("student_t", StudentT)
LIKELIHOODS.register("own", OwnLikelihood)

__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "Likelihood",
    "OwnLikelihood",
    "Poisson",
    "Squared",
    "StudentT",
]
