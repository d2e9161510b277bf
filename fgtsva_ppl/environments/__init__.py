"""Who answers: action sets, variances, rewards."""

from fgtsva_ppl.environments.finite import FiniteClass
from fgtsva_ppl.environments.linear import Contextual, Dense, Deterministic, Homoscedastic, Sparse
from fgtsva_ppl.protocols import Environment
from samplers.registry import Registry

ENVIRONMENTS: Registry[Environment] = Registry("environment", "fgtsva.environments")
ENVIRONMENTS.register("sparse", Sparse)
ENVIRONMENTS.register("dense", Dense)
ENVIRONMENTS.register("deterministic", Deterministic)
ENVIRONMENTS.register("homoscedastic", Homoscedastic)
ENVIRONMENTS.register("contextual", Contextual)
ENVIRONMENTS.register("finite", FiniteClass)

__all__ = ["ENVIRONMENTS", "Contextual", "Dense", "Deterministic", "FiniteClass", "Homoscedastic", "Sparse"]
