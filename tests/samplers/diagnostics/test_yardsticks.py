"""Yardsticks of samplers against closed forms and other implementations; and what each does not see."""

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import ALARM, SEED, assert_mean
from scipy import integrate, stats

from samplers.diagnostics import (
    classifier_test,
    importance_khat,
    kernel_stein_discrepancy,
    maximum_mean_discrepancy,
    median_bandwidth,
    nested_rhat,
    pareto_khat,
    rank_among,
    simultaneous_band,
    uniformity,
)

REPLICATES = 60


@pytest.fixture
def rng():
    return np.random.default_rng(SEED)


def mixture_score(x, distance=8.0):
    """Score of the mixture of N(-distance/2, 1) and N(distance/2, 1) with equal weights, in one dimension."""
    towards = np.tanh(x * distance / 2)
    return -x + towards * distance / 2


class TestStein:
    def test_agrees_with_the_stein_operator_by_automatic_differentiation(self, rng):
        x, scale = rng.normal(size=(6, 3)), 1.7
        scores = rng.normal(size=(6, 3))

        def kernel(a, b):
            return (1 + jnp.sum((a - b) ** 2) / scale**2) ** -0.5

        def pair(a, b, s, t):
            mixed = jnp.trace(jax.jacfwd(jax.grad(kernel, 1), 0)(a, b))
            return (
                s @ t * kernel(a, b) + s @ jax.grad(kernel, 1)(a, b) + t @ jax.grad(kernel, 0)(a, b) + mixed
            )

        each = jax.jit(jax.vmap(jax.vmap(pair, (None, 0, None, 0)), (0, None, 0, None)))
        pairs = np.asarray(each(x, x, scores, scores))
        assert kernel_stein_discrepancy(x, scores, scale=scale) == pytest.approx(np.sqrt(pairs.mean()))
        off = (pairs.sum() - np.trace(pairs)) / 30
        assert kernel_stein_discrepancy(x, scores, scale=scale, unbiased=True) == pytest.approx(off)

    @pytest.mark.parametrize("shift", [0.0, 0.7])
    def test_of_a_shifted_normal_is_its_closed_form(self, rng, shift):
        """The scores of p and q differ by the shift: KSD^2 = shift^2 E k(x, y), with x - y ~ N(0, 2)."""
        draws = rng.normal(shift, 1.0, size=(REPLICATES, 200, 1))
        values = [kernel_stein_discrepancy(x, -x, unbiased=True) for x in draws]
        mean, _ = integrate.quad(lambda z: (1 + 2 * z**2) ** -0.5 * stats.norm.pdf(z), -12, 12)
        assert_mean(np.array(values)[:, None], shift**2 * mean)

    def test_blind_spot_the_weights_of_separated_modes(self, rng):
        """All draws in one of two modes: zero on average, as for exact draws, while half of the mass is missing."""
        one = rng.normal(4.0, 1.0, size=(REPLICATES, 200, 1))
        values = [kernel_stein_discrepancy(x, mixture_score(x), unbiased=True) for x in one]
        assert_mean(np.array(values)[:, None], 0.0)
        both = rng.choice([-4.0, 4.0], size=(200, 1)) + rng.normal(size=(200, 1))
        assert maximum_mean_discrepancy(one[0], both) > 0.1  # a comparison with draws does see it

    def test_is_nan_for_what_is_not_finite(self):
        assert np.isnan(kernel_stein_discrepancy(np.array([[np.nan], [0.0]]), np.zeros((2, 1))))


class TestMMD:
    @pytest.mark.parametrize("shift", [0.0, 0.5])
    def test_of_two_normals_is_its_closed_form(self, rng, shift):
        size, width = 3, 1.3
        x = rng.normal(size=(REPLICATES, 100, size)) + shift
        y = rng.normal(size=(REPLICATES, 120, size))
        values = [maximum_mean_discrepancy(*pair, bandwidth=width) for pair in zip(x, y, strict=True)]
        level = (width**2 / (width**2 + 2)) ** (size / 2)
        exact = 2 * level * (1 - np.exp(-size * shift**2 / (2 * (width**2 + 2))))
        assert_mean(np.array(values)[:, None], exact)

    def test_median_heuristic_is_the_median_distance(self, rng):
        x = rng.normal(size=(20, 4))
        gaps = [np.linalg.norm(x[i] - x[j]) for i in range(20) for j in range(i)]
        assert median_bandwidth(x) == pytest.approx(np.median(gaps))

    def test_blind_spot_scales_far_below_the_bandwidth(self, rng):
        """Draws rounded to a grid have a total variation distance of 1, and a discrepancy like exact draws."""
        x, y = rng.normal(size=(2, REPLICATES, 100, 1))
        rounded = [maximum_mean_discrepancy(np.round(a, 1), b) for a, b in zip(x, y, strict=True)]
        assert_mean(np.array(rounded)[:, None], 0.0, error=1e-4)


class TestClassifier:
    def test_agrees_with_scikit_learn(self, rng):
        neighbors = pytest.importorskip("sklearn.neighbors")
        x, y = rng.normal(size=(200, 2)), 1.5 * rng.normal(size=(240, 2))
        labels = np.repeat([0, 1], 100)
        model = neighbors.KNeighborsClassifier(7).fit(np.concatenate([x[1:200:2], y[1:200:2]]), labels)
        accuracy = model.score(np.concatenate([x[:200:2], y[:200:2]]), labels)
        assert classifier_test(x, y, num_neighbours=7).accuracy == pytest.approx(accuracy)

    def test_accuracy_is_a_half_for_one_distribution_and_tells_a_wrong_spread(self, rng):
        same = [classifier_test(*rng.normal(size=(2, 100, 2))) for _ in range(REPLICATES)]
        assert_mean(np.array([one.accuracy for one in same])[:, None], 0.5)
        assert np.mean([one.p_value for one in same]) == pytest.approx(0.5, abs=5 * 0.29 / REPLICATES**0.5)
        wide = classifier_test(rng.normal(size=(2000, 2)), 2 * rng.normal(size=(2000, 2)))
        # Bayes' classifier cuts at a radius: |x|^2 = 4 log(4) * 2/3, with accuracy (1 + F_1 - F_2) / 2.
        cut = np.log(4) * 2 / (1 - 1 / 4)
        best = (1 + stats.chi2.cdf(cut, 2) - stats.chi2.cdf(cut / 4, 2)) / 2
        assert best - 0.06 < wide.accuracy < best + 0.03
        assert wide.p_value < ALARM

    def test_blind_spot_a_small_shift_in_many_dimensions(self, rng):
        """A shift of 0.04 sd in each of 400 coordinates: the mean sees it for certain, nearest neighbours hardly do."""
        found, seen = [], []
        for _ in range(20):
            x, y = rng.normal(size=(400, 400)) + 0.04, rng.normal(size=(400, 400))
            seen.append((x.mean() - y.mean()) / np.sqrt(2 / 160_000))
            found.append(classifier_test(x, y))
        assert min(seen) > 6
        assert min(one.p_value for one in found) > ALARM
        assert np.mean([one.accuracy for one in found]) < 0.57  # Bayes' classifier: Phi(0.4) = 0.66


class TestPareto:
    def test_agrees_with_arviz(self, rng):
        for shape in (0.2, 0.7, 1.2):
            ratios = np.log(stats.genpareto(shape).rvs(size=1000, random_state=rng))
            _, khat = arviz_stats.base.array_stats.psislw(-ratios)
            assert pareto_khat(ratios) == pytest.approx(float(khat), abs=1e-6)

    def test_finds_the_shape_of_a_pareto_tail(self, rng):
        ratios = -np.log(rng.random((REPLICATES, 2000)))  # log of Pareto numbers with shape 1 / alpha
        for shape in (0.3, 0.9):
            values = np.array([pareto_khat(shape * row) for row in ratios])
            assert abs(values.mean() - shape) < 0.1  # the weak prior at 1/2 pulls a little

    def test_says_whether_moments_cover_the_target(self, rng):
        def logdensity(x):
            return -np.sum(x**2, axis=1) / 2

        right, narrow = rng.normal(size=(500, 2)), 0.3 * rng.normal(size=(500, 2))
        assert importance_khat(logdensity, right) < 0.5
        assert importance_khat(logdensity, narrow) > 0.7
        assert np.isnan(importance_khat(logdensity, np.zeros((500, 2))))

    def test_blind_spot_a_mode_that_is_never_visited(self, rng):
        def logdensity(x):
            return np.logaddexp(-np.sum((x - 5) ** 2, axis=1), -np.sum((x + 5) ** 2, axis=1))

        one_mode = 5 + rng.normal(size=(500, 2)) / np.sqrt(2)
        assert importance_khat(logdensity, one_mode) < 0.5

    def test_edge_cases(self):
        assert pareto_khat(np.zeros(100)) == -np.inf
        assert np.isnan(pareto_khat(np.zeros(10)))
        assert np.isnan(pareto_khat(np.append(np.zeros(50), np.nan)))
        assert pareto_khat(np.append(np.zeros(50), np.inf)) == np.inf


def test_blind_spot_of_nested_rhat_a_mode_that_no_superchain_finds(rng):
    one_mode = rng.normal(4.0, 1.0, size=(8, 64, 1, 1))
    assert nested_rhat(one_mode) < 1.05


class TestCalibration:
    def ranks(self, rng, temperature, num_draws=19, replicates=2000):
        """Conjugate normal: theta ~ N(0, 1), y ~ N(theta, 1), posterior N(y / 2, temperature / 2)."""
        theta = rng.normal(size=replicates)
        y = theta + rng.normal(size=replicates)
        draws = y[:, None] / 2 + np.sqrt(temperature / 2) * rng.normal(size=(replicates, num_draws))
        return rank_among(theta, draws), num_draws

    def test_ranks_are_uniform_for_bayes_and_u_shaped_at_half_the_temperature(self, rng):
        bayes, half, hot = (uniformity(*self.ranks(rng, t)) for t in (1.0, 0.5, 2.0))
        assert bayes.p_value > ALARM
        assert half.p_value < ALARM
        assert half.spread > 1.2
        assert half.spread_p_value < ALARM < bayes.spread_p_value
        assert hot.spread < 0.8

    def test_band_holds_the_whole_curve_with_its_coverage(self, rng):
        points = np.linspace(0.05, 0.95, 19)
        lower, upper = simultaneous_band(100, points)
        curves = np.mean(rng.random((3000, 100))[:, :, None] <= points, axis=1)
        inside = np.all((curves >= lower - 1e-9) & (curves <= upper + 1e-9), axis=1)
        # Simulated with 2000 curves, and counts are discrete: at least the coverage, up to both errors.
        assert 0.93 < inside.mean() < 0.99

    def test_blind_spot_the_prior_passes(self, rng):
        theta, draws = rng.normal(size=2000), rng.normal(size=(2000, 19))
        assert uniformity(rank_among(theta, draws), 19).p_value > ALARM
