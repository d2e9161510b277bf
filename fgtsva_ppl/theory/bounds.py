"""The general regret bound of FGTS-VA (theorem of Appendix B) with its constants, and recommended hyperparameters.

With gamma = 1/(2 c sqrt(Lambda_T)) and beta_t = sbar_t^-2, where sbar_t = max(sigma_t, alpha),

    E Regret(T) <= lam sqrt(Lambda_T)/(2c) + (1 + c sqrt(Lambda_T)/2) dc + 2 Z sqrt(Lambda_T)/c        for any c > 0
                <= 9/4 sqrt((alpha^2 T + Lambda) Z dc) + dc                                 at c = 2 sqrt(Z/dc), lam = 1

- lam sqrt(Lambda_T)/(2c) is gamma lam sum_t 1/beta_t in the definition of dc; it is at most 1/4 of the root as Z >= 1.
- 2 Z sqrt(Lambda_T)/c is the per-round inequality (first lemma of Appendix B), summed over rounds by the lemma on the
  sum of variances (Appendix D); together with c sqrt(Lambda_T) dc/2 it is twice the root.

Z is the maximum of 1 and of -E log E_{p0} exp(-loss + optimism) over all rounds. For a finite class with the uniform
prior it is at most max(1, log|F|): keep f* alone in the expectation. The regret bound of Section 5 has
c = 2 sqrt(log|F|/dc), without the maximum; that differs for classes of one or two functions only. An upper bound on dc
may replace it, as the proof uses nothing else. The assumptions are log-mgf <= sigma_t^2 l^2/8 of the noise, values of f
in [0, 1], and sigma_t known before the action is chosen.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Num

from fgtsva_ppl.theory.decoupling import linear_decoupling_bound
from fgtsva_ppl.theory.eluder import finite_eluder_bound

FIXED_POINT_ITERATIONS = 50


def cumulative_variance(
    sigmas: Float[np.ndarray, "*runs rounds"], alpha: float
) -> Float[np.ndarray, "*runs rounds"]:
    """Lambda_t = sum_{s<=t} max(sigma_s, alpha)^2, of the FGTS-VA weights (Section 4)."""
    return np.asarray(np.cumsum(np.maximum(np.asarray(sigmas, float), alpha) ** 2, axis=-1))


def weighted_variance_sum(
    sigmas: Float[np.ndarray, "*runs rounds"], alpha: float
) -> Float[np.ndarray, "*runs"]:
    """sum_t sbar_t^2/sqrt(Lambda_t), which is at most 2 sqrt(Lambda_T) (second lemma of Appendix D)."""
    variances = np.maximum(np.asarray(sigmas, float), alpha) ** 2
    return np.asarray(np.sum(variances / np.sqrt(cumulative_variance(sigmas, alpha)), axis=-1))


def recommended_alpha(rounds: int) -> float:
    """alpha = 1/sqrt(T) (theorem of Section 5)."""
    return float(rounds**-0.5)


def recommended_c(dc: float, complexity: float) -> float:
    """c = 2 sqrt(Z/dc) (theorem of Appendix B)."""
    return float(2 * np.sqrt(complexity / dc))


def finite_complexity(members: int) -> float:
    """Upper bound max(1, log|F|) on Z, for a finite class with the uniform prior."""
    return max(1.0, float(np.log(members)))


def linear_complexity(dim: int, rounds: int, alpha: float, c: float, sigma: float = 1.0) -> float:
    """Upper bound on Z for linear rewards with the uniform prior on the unit ball (second lemma of Appendix B).

    Z <= d log(2/delta) + alpha/2 + alpha^2/(4T) + c/(2 sqrt(T)) with delta = alpha^2 min(1, 1/sigma)/(2T). A ball of
    radius delta/2 lies in the unit ball and within delta of theta*, so p0(F_delta) >= (delta/2)^d. The lemma's proof
    drops the 2 of 2 eps_s (f - f*); with it the second term is alpha/2 instead of alpha/4, and for small c the lemma's
    alpha/2 + c/sqrt(T) would be too small by alpha^2/(4T).

    Args:
        dim: Dimension d of the features.
        rounds: Horizon T.
        alpha: Lower limit of sbar_t.
        c: Coefficient of the feel-good term.
        sigma: The largest sigma_t.

    Returns:
        The bound, at least 1.
    """
    delta = alpha**2 * min(1.0, 1 / sigma) / (2 * rounds)
    remainder = alpha / 2 + alpha**2 / (4 * rounds) + c / (2 * np.sqrt(rounds))
    return max(1.0, float(dim * np.log(2 / delta) + remainder))


@dataclass(frozen=True)
class Recommendation:
    """The hyperparameters that the general regret bound recommends for a class.

    Attributes:
        dc: The generalized decoupling coefficient, or an upper bound on it.
        complexity: Z, or an upper bound on it.
        alpha: Lower limit of sbar_t.
        c: Coefficient of the feel-good term.
    """

    dc: float
    complexity: float
    alpha: float
    c: float

    def regret_bound(
        self, variance: Float[np.ndarray, "*points"] | float, rounds: Num[np.ndarray, "*points"] | float | int
    ) -> Float[np.ndarray, "*points"]:
        """Bound on the expected regret (theorem of Appendix B): 9/4 sqrt((alpha^2 T + Lambda) Z dc) + dc.

        Args:
            variance: Lambda = sum_t sigma_t^2 up to each of several rounds.
            rounds: The numbers T of these rounds.

        Returns:
            The bound at each of these rounds.
        """
        total = self.alpha**2 * np.asarray(rounds, float) + np.asarray(variance, float)
        return np.asarray(9 / 4 * np.sqrt(total * self.complexity * self.dc) + self.dc)


def regret_bound(
    variance: Float[np.ndarray, "*points"] | float, c: float, dc: float, complexity: float, lam: float = 1.0
) -> Float[np.ndarray, "*points"]:
    """Bound on the expected regret for any c (proof of the theorem of Appendix B, before c is chosen).

    lam sqrt(Lambda_T)/(2c) + (1 + c sqrt(Lambda_T)/2) dc + 2 Z sqrt(Lambda_T)/c.

    Args:
        variance: Lambda_T = sum_t max(sigma_t, alpha)^2, for each of several horizons.
        c: Coefficient of the feel-good term.
        dc: The generalized decoupling coefficient, or an upper bound on it.
        complexity: Z, or an upper bound on it.
        lam: Regularization of the decoupling coefficient.

    Returns:
        The bound at each horizon; infinite at c = 0.
    """
    root = np.sqrt(np.asarray(variance, float))
    with np.errstate(divide="ignore"):
        return np.asarray((lam / 2 + 2 * complexity) * root / np.float64(c) + (1 + c * root / 2) * dc)


def recommended_finite(members: int, points: int, rounds: int) -> Recommendation:
    """Recommended hyperparameters for a finite class with the uniform prior (theorem of Section 5).

    alpha = 1/sqrt(T), lam = 1, epsilon = 1/alpha^2 = T, and dc is bounded by `finite_eluder_bound`.

    Args:
        members: Number of functions |F|.
        points: Number of context-action pairs.
        rounds: Horizon T.

    Returns:
        The hyperparameters with their regret bound.
    """
    dc, complexity = finite_eluder_bound(members, points, rounds, float(rounds)), finite_complexity(members)
    return Recommendation(dc, complexity, recommended_alpha(rounds), recommended_c(dc, complexity))


def recommended_linear(dim: int, rounds: int, diameter: float = 2.0, sigma: float = 1.0) -> Recommendation:
    """Recommended hyperparameters for linear rewards with the uniform prior on the unit ball.

    The paper's experiments have a normal prior instead. Z depends on c and c on Z: both are iterated to a fixed point.

    Args:
        dim: Dimension d of the features.
        rounds: Horizon T.
        diameter: Largest ||theta - theta*||, see `linear_decoupling_bound`.
        sigma: The largest sigma_t.

    Returns:
        The hyperparameters with their regret bound.
    """
    alpha = recommended_alpha(rounds)
    dc = linear_decoupling_bound(dim, rounds, float(rounds), diameter=diameter)
    c = 0.0
    for _ in range(FIXED_POINT_ITERATIONS):
        complexity = linear_complexity(dim, rounds, alpha, c, sigma)
        c = recommended_c(dc, complexity)
    return Recommendation(dc, complexity, alpha, c)
