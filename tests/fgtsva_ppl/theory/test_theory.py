"""The paper's lemmas and propositions as properties of random sequences, and the numbers that follow from them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fgtsva_ppl import theory

SLACK = 1e-9  # of rounding, relative to the larger side
quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
log_weights = st.floats(-6, 6)


def holds(left: float, right: float) -> bool:
    return left <= right + SLACK * max(1.0, abs(left), abs(right))


def ball(rng: np.random.Generator, count: int, dim: int, radius: float = 1.0) -> np.ndarray:
    """Points in a ball, some on its surface, many along few directions: sequences that repeat are the hard ones."""
    few = rng.normal(size=(dim + 1, dim))
    rows = np.where(
        rng.uniform(size=(count, 1)) < 0.7,
        few[rng.integers(0, dim + 1, count)],
        rng.normal(size=(count, dim)),
    )
    length = np.where(rng.uniform(size=count) < 0.5, 1.0, rng.uniform(size=count))
    return np.asarray(radius * length[:, None] * rows / np.linalg.norm(rows, axis=1, keepdims=True))


def weights(rng: np.random.Generator, count: int) -> tuple[np.ndarray, float]:
    """beta <= epsilon over several orders of magnitude, in any order."""
    betas = np.exp(rng.uniform(-6, 6) + rng.uniform(0, 6) * rng.normal(size=count))
    if rng.uniform() < 0.5:
        betas = np.sort(betas)
    return betas, float(np.max(betas))


@quick
@given(arrays(float, st.integers(1, 40), elements=st.floats(0, 1e3)), st.floats(1e-4, 10))
def test_lemma_sum_of_variances(sigmas: np.ndarray, alpha: float) -> None:
    """Second lemma of Appendix D."""
    assert holds(
        float(theory.weighted_variance_sum(sigmas, alpha)),
        2 * math.sqrt(theory.cumulative_variance(sigmas, alpha)[-1]),
    )


def test_the_variance_lemma_is_sharp_in_its_constant() -> None:
    rounds = 10**5
    ratio = theory.weighted_variance_sum(np.ones(rounds), 0.1) / math.sqrt(rounds)
    assert 1.99 < ratio <= 2


@quick
@given(seeds, st.integers(1, 40), st.integers(1, 4), log_weights)
def test_lemma_elliptical_potential(seed: int, rounds: int, dim: int, log_lam: float) -> None:
    rng = np.random.default_rng(seed)
    features, (betas, epsilon), lam = ball(rng, rounds, dim), weights(rng, rounds), math.exp(log_lam)
    left = theory.elliptical_potential(features, betas, lam)
    middle = theory.elliptical_determinant(features, betas, lam)
    assert holds(left, middle)
    assert holds(middle, theory.elliptical_bound(dim, rounds, epsilon, lam))


def decoupling_gap(errors: np.ndarray, betas: np.ndarray, gamma: float, lam: float, dc: float) -> float:
    """Right minus left side of the inequality that defines dc, term by term; errors[t, s] = f_t(z_s) - f*(z_s)."""
    right = gamma * lam * sum(1 / betas) + (1 + 1 / (4 * gamma)) * dc
    for t in range(len(betas)):
        right += gamma / betas[t] * sum(betas[s] * errors[t, s] ** 2 for s in range(t))
    return float(right - np.trace(errors))


@quick
@given(seeds, st.integers(1, 25), st.integers(1, 4), log_weights, log_weights)
def test_the_decoupling_inequality_for_linear_functions(
    seed: int, rounds: int, dim: int, log_gamma: float, log_lam: float
) -> None:
    """First proposition of Section 5, for theta* = 0 as in the proof, and for any theta* with the right diameter."""
    rng = np.random.default_rng(seed)
    features, (betas, epsilon) = ball(rng, rounds, dim), weights(rng, rounds)
    gamma, lam = math.exp(log_gamma), math.exp(log_lam)
    thetas, truth = ball(rng, rounds, dim), ball(rng, 1, dim)[0]
    thetas = np.sign(np.sum(thetas * features, axis=1))[:, None] * thetas  # overestimates: the hard side
    zero = theory.linear_decoupling_bound(dim, rounds, epsilon, lam)
    assert decoupling_gap(thetas @ features.T, betas, gamma, lam, zero) >= -SLACK
    # Rewards lie in [0, 1], so differences of the class are at most 1.
    errors = (thetas - truth) @ features.T
    errors = errors / max(1.0, np.abs(errors).max())
    any_truth = theory.linear_decoupling_bound(dim, rounds, epsilon, lam, diameter=2.0)
    assert decoupling_gap(errors, betas, gamma, lam, any_truth) >= -SLACK


@settings(quick, max_examples=20)
@given(seeds, st.integers(1, 25), st.integers(1, 3), log_weights)
def test_the_linear_coefficient_lies_below_the_propositions_bound(
    seed: int, rounds: int, dim: int, log_lam: float
) -> None:
    rng = np.random.default_rng(seed)
    features, (betas, epsilon), lam = ball(rng, rounds, dim), weights(rng, rounds), math.exp(log_lam)
    dc = theory.linear_decoupling(features, betas, lam)
    # differences with theta* = 0 in the unit ball: those of a class of diameter 1
    potential = theory.linear_eluder(features, betas, lam, diameter=1.0)
    assert holds(dc, potential)
    assert holds(potential, theory.linear_decoupling_bound(dim, rounds, epsilon, lam))


@quick
@given(seeds, st.integers(1, 30), st.integers(2, 6), st.integers(1, 6), log_weights)
def test_the_proposition_on_general_classes(
    seed: int, rounds: int, members: int, points: int, log_lam: float
) -> None:
    """Second proposition of Section 5: dc <= dim for every sequence, and both below the bounds for finite classes."""
    rng = np.random.default_rng(seed)
    values, sequence = rng.uniform(size=(members, points)), rng.integers(0, points, rounds)
    (betas, epsilon), lam = weights(rng, rounds), math.exp(log_lam)
    truth = int(rng.integers(members))
    dc = theory.finite_decoupling(values, truth, sequence, betas, lam)
    own = theory.finite_eluder(values, sequence, betas, lam, truth)
    dim = theory.finite_eluder(values, sequence, betas, lam)
    assert holds(dc, own)
    assert holds(own, dim)
    assert holds(own, theory.finite_eluder_bound(members, points, rounds, epsilon, lam))
    assert holds(dim, theory.finite_eluder_bound(members, points, rounds, epsilon, lam, fixed_truth=False))


def test_the_finite_coefficient_is_the_smallest_that_satisfies_the_definition() -> None:
    """Against the definition: all sequences of members, many gammas; it satisfies them, a smaller one does not."""
    rng = np.random.default_rng(3)
    values, sequence, betas = rng.uniform(size=(3, 4)), rng.integers(0, 4, 4), rng.uniform(0.5, 3, 4)
    dc = theory.finite_decoupling(values, 0, sequence, betas, 0.1)
    errors = (values - values[0])[:, sequence]
    gaps = [
        [decoupling_gap(errors[list(f)], betas, gamma, 0.1, size) for size in (dc, 0.99 * dc)]
        for f in itertools.product(range(3), repeat=4)
        for gamma in np.geomspace(1e-3, 1e2, 60)
    ]
    enough, short = np.min(gaps, axis=0)
    assert enough >= -1e-9
    assert short < 0


def test_the_linear_coefficient_agrees_with_a_fine_net_of_the_ball() -> None:
    rng = np.random.default_rng(4)
    features, betas = ball(rng, 8, 2), rng.uniform(0.5, 3, 8)
    angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    net = np.concatenate([np.zeros((1, 2)), *(r * circle for r in np.linspace(0.02, 1, 50))])
    exact = theory.linear_decoupling(features, betas, 0.1)
    coarse = theory.finite_decoupling(net @ features.T, 0, np.arange(8), betas, 0.1)
    assert 0.995 * exact <= coarse <= exact + 1e-12


def test_the_linear_eluder_dimension_agrees_with_a_fine_net_of_the_ball() -> None:
    rng = np.random.default_rng(5)
    features, betas = ball(rng, 8, 2), rng.uniform(0.01, 0.3, 8)
    angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    net = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    exact = theory.linear_eluder(features, betas, 1.0)
    coarse = theory.finite_eluder(net @ features.T, np.arange(8), betas, 1.0)
    assert 0.999 * exact <= coarse <= exact + 1e-12


def test_eluder_by_hand() -> None:
    # Two functions that differ by 1 at the first point and by 1/2 at the second. lam = 1, beta = 1, 2, 4:
    # min(1, 1/1) + min(1, 2 (1/4)/(1 + 1)) + min(1, 4/(1 + 1 + 1/2)) = 1 + 1/4 + 1
    values, sequence = np.array([[1.0, 0.5], [0.0, 0.0]]), np.array([0, 1, 0])
    assert theory.finite_eluder(values, sequence, np.array([1.0, 2.0, 4.0])) == pytest.approx(2.25)


@pytest.mark.parametrize(("dim", "rounds"), [(1, 200), (5, 1000)])
def test_the_search_yields_a_large_linear_coefficient(dim: int, rounds: int) -> None:
    largest, features, betas = theory.linear_decoupling_search(dim, rounds, float(rounds), num_tries=60)
    assert np.all(betas <= rounds)
    assert largest == pytest.approx(theory.linear_decoupling(features, betas), rel=1e-6)
    bound = theory.linear_decoupling_bound(dim, rounds, float(rounds))
    assert bound / 3 < largest <= bound


def test_the_search_yields_a_finite_eluder_dimension_that_grows_with_the_horizon() -> None:
    values = np.random.default_rng(0).uniform(size=(6, 6))
    sizes = []
    for rounds in (10, 100, 1000):
        largest, sequence, betas = theory.finite_eluder_search(values, rounds, float(rounds), num_schedules=6)
        assert largest == pytest.approx(theory.finite_eluder(values, sequence, betas))
        assert largest <= theory.finite_eluder_bound(6, 6, rounds, float(rounds), fixed_truth=False)
        sizes.append(largest)
    assert sizes[0] < sizes[1] < sizes[2]


def test_recommended_settings() -> None:
    # baselines.md: d = 5, T = 2000 gives dc = 136 and c of order 1
    assert theory.linear_decoupling_bound(5, 2000, 2000.0) == pytest.approx(136, abs=0.5)
    linear = theory.recommended_linear(5, 2000)
    assert linear.alpha == pytest.approx(2000**-0.5)
    assert 1 < linear.c < 2
    assert linear.c == pytest.approx(2 * math.sqrt(linear.complexity / linear.dc))
    finite = theory.recommended_finite(20, 4, 100)
    assert finite.complexity == pytest.approx(math.log(20))
    assert finite.dc == pytest.approx(8 * math.log(1 + 100**2 / 4))
    assert theory.finite_complexity(2) == 1


@quick
@given(st.floats(0, 1e4), st.integers(2, 50), st.integers(2, 20), st.integers(2, 10**5))
def test_the_bound_with_its_constants_follows_from_the_bound_for_any_c(
    variance: float, members: int, points: int, rounds: int
) -> None:
    """The last steps of the proof of the theorem of Appendix B; and no other c is better by more than the 1/4."""
    recommended = theory.recommended_finite(members, points, rounds)
    total = recommended.alpha**2 * rounds + variance
    at_c = theory.regret_bound(total, recommended.c, recommended.dc, recommended.complexity)
    assert holds(float(at_c), float(recommended.regret_bound(variance, rounds)))
    best = min(
        theory.regret_bound(total, c, recommended.dc, recommended.complexity)
        for c in np.geomspace(0.01, 100, 99) * recommended.c
    )
    assert holds(float(recommended.regret_bound(variance, rounds)), 9 / 8 * float(best))


def test_without_optimism_there_is_no_bound() -> None:
    assert theory.regret_bound(10.0, 0.0, 5.0, 2.0) == math.inf
