"""The quantities of the paper's analysis as numbers: complexity of a class, recommended hyperparameters, regret bounds.

"The paper" is Li & Gu (2025), "Variance-Aware Feel-Good Thompson Sampling for Contextual Bandits" (arXiv:2511.02123).
Its results are cited by name and section:

- Section 3.1: sub-Gaussian noise (assumption), generalized Eluder dimension (definition);
- Section 4: weights eta_s and lambda_t of the FGTS-VA posterior (second display);
- Section 5: generalized decoupling coefficient (definition), its bounds for linear and for general classes (first and
  second proposition), regret bound (theorem);
- Appendix A.1: elliptical potential lemma;
- Appendix B: general regret bound (theorem), per-round inequality (first lemma), bound on Z (second lemma);
- Appendix D: sum of variances (second lemma).
"""

from fgtsva_ppl.theory.bounds import (
    Recommendation,
    cumulative_variance,
    finite_complexity,
    linear_complexity,
    recommended_alpha,
    recommended_c,
    recommended_finite,
    recommended_linear,
    regret_bound,
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
    finite_eluder,
    finite_eluder_bound,
    finite_eluder_search,
    linear_eluder,
    linear_eluder_bound,
)

__all__ = [
    "Recommendation",
    "cumulative_variance",
    "elliptical_bound",
    "elliptical_determinant",
    "elliptical_potential",
    "finite_complexity",
    "finite_decoupling",
    "finite_eluder",
    "finite_eluder_bound",
    "finite_eluder_search",
    "linear_complexity",
    "linear_decoupling",
    "linear_decoupling_bound",
    "linear_decoupling_search",
    "linear_eluder",
    "linear_eluder_bound",
    "recommended_alpha",
    "recommended_c",
    "recommended_finite",
    "recommended_linear",
    "regret_bound",
    "weighted_variance_sum",
]
