"""The regret bound of FGTS-VA with its constants, and the hyper-parameters it recommends (theorem:general).

The constants are those of the appendix, checked step by step. With gamma = 1/(2 c sqrt(Lambda_T)), beta = sbar^-2:

    E Regret(T) <= lam sqrt(Lambda_T)/(2c) + (1 + c sqrt(Lambda_T)/2) dc + 2 Z sqrt(Lambda_T)/c        for any c > 0
                <= 9/4 sqrt((alpha^2 T + Lambda) Z dc) + dc                                 at c = 2 sqrt(Z/dc), lam = 1

- lam sqrt(Lambda_T)/(2c) is gamma lam sum 1/beta_t, from the definition of dc; it is at most 1/4 of the root as Z >= 1;
- 2 Z sqrt(Lambda_T)/c is lemma:main summed with lemma:sum_1/gamma_t; with c sqrt(Lambda_T) dc/2 it is twice the root.

Z is 1 or the largest -E log E_{p0} exp(-loss + optimism), whichever is larger (eq:def_Z). For a finite class with the
uniform prior it is at most max(1, log|F|): keep f* alone in the expectation. The theorem's own c = 2 sqrt(log|F|/dc)
has no maximum; it makes a difference for classes of one or two functions only. Any upper bound on dc may stand for it:
the proof uses nothing else. It needs log-mgf <= sigma^2 l^2/8 of the noise, f in [0, 1], and sigma_t given beforehand.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fgtsva_ppl.theory.decoupling import linear_decoupling_bound
from fgtsva_ppl.theory.eluder import finite_bound


def partial_variances(sigmas: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """Lambda_t = sum_{s<=t} max(sigma_s, alpha)^2 (eq:parameters), along the last axis."""
    return np.asarray(np.cumsum(np.maximum(np.asarray(sigmas, float), alpha) ** 2, axis=-1))


def weighted_variance_sum(sigmas: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """sum_t sbar_t^2/sqrt(Lambda_t): the left side of lemma:sum_1/gamma_t, which says <= 2 sqrt(Lambda_T)."""
    own = np.maximum(np.asarray(sigmas, float), alpha) ** 2
    return np.asarray(np.sum(own / np.sqrt(partial_variances(sigmas, alpha)), axis=-1))


def recommended_alpha(rounds: int) -> float:
    """alpha = 1/sqrt(T) (theorem:regret_upper_bound)."""
    return float(rounds**-0.5)


def recommended_c(dc: float, complexity: float) -> float:
    """c = 2 sqrt(Z/dc) (theorem:general)."""
    return float(2 * np.sqrt(complexity / dc))


def finite_complexity(members: int) -> float:
    """Z of a finite class with the uniform prior: max(1, log|F|)."""
    return max(1.0, float(np.log(members)))


def linear_complexity(dim: int, rounds: int, alpha: float, c: float, sigma: float = 1.0) -> float:
    """Z of the unit ball with the uniform prior: d log(2/delta) + alpha/2 + alpha^2/(4T) + c/(2 sqrt(T)).

    delta = alpha^2 min(1, 1/sigma)/(2T), sigma the largest sigma_t. A ball of radius delta/2 lies in the unit ball and
    within delta of theta*, so p0(F_delta) >= (delta/2)^d. The proof of lemma:Z drops the 2 of 2 eps_s (f - f*); with it
    the second term is alpha/2 and not alpha/4, and the lemma's sum of alpha/2 + c/sqrt(T) would be short by
    alpha^2/(4T) for small c.
    """
    delta = alpha**2 * min(1.0, 1 / sigma) / (2 * rounds)
    near = alpha / 2 + alpha**2 / (4 * rounds) + c / (2 * np.sqrt(rounds))
    return max(1.0, float(dim * np.log(2 / delta) + near))


@dataclass(frozen=True)
class Recommendation:
    """What the theorem recommends for a class, and the bound that comes with it."""

    dc: float  # the decoupling coefficient, or an upper bound on it
    complexity: float  # Z
    alpha: float
    c: float

    def regret(self, variance: ArrayLike, rounds: ArrayLike) -> NDArray[np.float64]:
        """9/4 sqrt((alpha^2 T + Lambda) Z dc) + dc; `variance` is Lambda = sum sigma_t^2 of that many rounds."""
        total = self.alpha**2 * np.asarray(rounds, float) + np.asarray(variance, float)
        return np.asarray(9 / 4 * np.sqrt(total * self.complexity * self.dc) + self.dc)


def bound_for_any_c(
    variance: ArrayLike, c: float, dc: float, complexity: float, lam: float = 1.0
) -> NDArray[np.float64]:
    """The bound before c is chosen; `variance` is Lambda_T = sum max(sigma_t, alpha)^2. Infinite at c = 0."""
    root = np.sqrt(np.asarray(variance, float))
    with np.errstate(divide="ignore"):
        return np.asarray((lam / 2 + 2 * complexity) * root / np.float64(c) + (1 + c * root / 2) * dc)


def recommended_finite(members: int, points: int, rounds: int) -> Recommendation:
    """For a finite class: alpha = 1/sqrt(T), lam = 1, epsilon = 1/alpha^2 = T, dc by `finite_bound`."""
    dc, complexity = finite_bound(members, points, rounds, float(rounds)), finite_complexity(members)
    return Recommendation(dc, complexity, recommended_alpha(rounds), recommended_c(dc, complexity))


def recommended_linear(dim: int, rounds: int, diameter: float = 2.0, sigma: float = 1.0) -> Recommendation:
    """For linear rewards with the uniform prior on the unit ball; the paper's experiments have a normal prior instead.

    Z contains c, and c contains Z, so both are iterated to their fixed point.
    """
    alpha = recommended_alpha(rounds)
    dc = linear_decoupling_bound(dim, rounds, float(rounds), diameter=diameter)
    c = 0.0
    for _ in range(50):
        complexity = linear_complexity(dim, rounds, alpha, c, sigma)
        c = recommended_c(dc, complexity)
    return Recommendation(dc, complexity, alpha, c)
