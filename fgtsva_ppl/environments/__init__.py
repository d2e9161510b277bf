"""Environments: action sets, noise levels and mean rewards, by the names that configurations use."""

from fgtsva_ppl.environments.classification import BreastCancer, Digits, Iris, OpenML, TableBandit, Wine
from fgtsva_ppl.environments.finite import FiniteClass
from fgtsva_ppl.environments.linear import Contextual, Dense, Deterministic, Homoscedastic, Sparse
from fgtsva_ppl.environments.noise import NOISES
from fgtsva_ppl.environments.nonlinear import LogisticBandit, MLPBandit, QuadraticBandit
from fgtsva_ppl.environments.wheel import Wheel
from fgtsva_ppl.environments.with_noise import WithNoise
from fgtsva_ppl.types import Environment
from samplers.registry import Registry

ENVIRONMENTS: Registry[Environment] = Registry("environment", "fgtsva.environments")
ENVIRONMENTS.register("sparse", Sparse)
ENVIRONMENTS.register("dense", Dense)
ENVIRONMENTS.register("deterministic", Deterministic)
ENVIRONMENTS.register("homoscedastic", Homoscedastic)
ENVIRONMENTS.register("contextual", Contextual)
ENVIRONMENTS.register("finite", FiniteClass)
ENVIRONMENTS.register("logistic", LogisticBandit)
ENVIRONMENTS.register("mlp", MLPBandit)
ENVIRONMENTS.register("quadratic", QuadraticBandit)
ENVIRONMENTS.register("wheel", Wheel)
ENVIRONMENTS.register("digits", Digits)
ENVIRONMENTS.register("breast_cancer", BreastCancer)
ENVIRONMENTS.register("wine", Wine)
ENVIRONMENTS.register("iris", Iris)
ENVIRONMENTS.register("table", TableBandit)
ENVIRONMENTS.register("openml", OpenML)

__all__ = [
    "ENVIRONMENTS",
    "NOISES",
    "BreastCancer",
    "Contextual",
    "Dense",
    "Deterministic",
    "Digits",
    "FiniteClass",
    "Homoscedastic",
    "Iris",
    "LogisticBandit",
    "MLPBandit",
    "OpenML",
    "QuadraticBandit",
    "Sparse",
    "TableBandit",
    "Wheel",
    "Wine",
    "WithNoise",
]
