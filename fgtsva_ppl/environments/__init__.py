"""Environments: action sets, noise levels and mean rewards, by the names that configurations use."""

from fgtsva_ppl.environments.arms import Arms
from fgtsva_ppl.environments.classification import (
    MNIST,
    Adult,
    BreastCancer,
    Covertype,
    Digits,
    Iris,
    Magic,
    Mushroom,
    OpenML,
    Shuttle,
    TableBandit,
    Wine,
)
from fgtsva_ppl.environments.cube import Cube
from fgtsva_ppl.environments.disjoint import Disjoint
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
ENVIRONMENTS.register("disjoint", Disjoint)
ENVIRONMENTS.register("cube", Cube)
ENVIRONMENTS.register("finite", FiniteClass)
ENVIRONMENTS.register("arms", Arms)
ENVIRONMENTS.register("logistic", LogisticBandit)
ENVIRONMENTS.register("mlp", MLPBandit)
ENVIRONMENTS.register("quadratic", QuadraticBandit)
ENVIRONMENTS.register("wheel", Wheel)
ENVIRONMENTS.register("digits", Digits)
ENVIRONMENTS.register("breast_cancer", BreastCancer)
ENVIRONMENTS.register("wine", Wine)
ENVIRONMENTS.register("iris", Iris)
ENVIRONMENTS.register("shuttle", Shuttle)
ENVIRONMENTS.register("mushroom", Mushroom)
ENVIRONMENTS.register("magic", Magic)
ENVIRONMENTS.register("adult", Adult)
ENVIRONMENTS.register("covertype", Covertype)
ENVIRONMENTS.register("mnist", MNIST)
ENVIRONMENTS.register("table", TableBandit)
ENVIRONMENTS.register("openml", OpenML)

__all__ = [
    "ENVIRONMENTS",
    "MNIST",
    "NOISES",
    "Adult",
    "Arms",
    "BreastCancer",
    "Contextual",
    "Covertype",
    "Cube",
    "Dense",
    "Deterministic",
    "Digits",
    "Disjoint",
    "FiniteClass",
    "Homoscedastic",
    "Iris",
    "LogisticBandit",
    "MLPBandit",
    "Magic",
    "Mushroom",
    "OpenML",
    "QuadraticBandit",
    "Shuttle",
    "Sparse",
    "TableBandit",
    "Wheel",
    "Wine",
    "WithNoise",
]
