"""What the paper proves, as numbers: complexity of a class, recommended hyper-parameters, regret bounds."""

from fgtsva_ppl.theory.bounds import (
    Recommendation,
    bound_for_any_c,
    finite_complexity,
    linear_complexity,
    partial_variances,
    recommended_alpha,
    recommended_c,
    recommended_finite,
    recommended_linear,
    weighted_variance_sum,
)
from fgtsva_ppl.theory.decoupling import (
    finite_decoupling,
    linear_decoupling,
    linear_decoupling_bound,
    linear_decoupling_search,
)
from fgtsva_ppl.theory.eluder import (
    elliptical_bound,
    elliptical_determinant,
    elliptical_potential,
    finite_bound,
    finite_eluder,
    finite_eluder_search,
    linear_eluder,
    linear_eluder_bound,
)

__all__ = [
    "Recommendation",
    "bound_for_any_c",
    "elliptical_bound",
    "elliptical_determinant",
    "elliptical_potential",
    "finite_bound",
    "finite_complexity",
    "finite_decoupling",
    "finite_eluder",
    "finite_eluder_search",
    "linear_complexity",
    "linear_decoupling",
    "linear_decoupling_bound",
    "linear_decoupling_search",
    "linear_eluder",
    "linear_eluder_bound",
    "partial_variances",
    "recommended_alpha",
    "recommended_c",
    "recommended_finite",
    "recommended_linear",
    "weighted_variance_sum",
]
