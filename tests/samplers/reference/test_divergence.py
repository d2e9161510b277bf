"""Perturbations at a fixed alpha-divergence, against quadrature and against draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED
from scipy import integrate, stats

from samplers import Target
from samplers.base import SamplerState
from samplers.errors import InputError
from samplers.gaussian import Gaussian, Tilt
from samplers.reference import divergence
from samplers.reference.control import Control, closest_rival

ALPHAS = (-0.5, 0.0, 0.3, 1.0, 1.7)


def by_quadrature(alpha, p, q, low=-40.0, high=40.0, split=()):
    """D_alpha(P, Q) of two densities on the line."""

    def integrand(x):
        a, b = p(x), q(x)
        if alpha == 0:
            return b * np.log(b / a) if b > 0 else 0.0
        if alpha == 1:
            return a * np.log(a / b) if a > 0 else 0.0
        return a**alpha * b ** (1 - alpha) if a > 0 and b > 0 else 0.0

    total = integrate.quad(integrand, low, high, points=sorted({0.0, *split}), limit=400)[0]
    return total if alpha in (0, 1) else (1 - total) / (alpha * (1 - alpha))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_shift_and_scale(alpha):
    wanted = 0.2
    normal = stats.norm.pdf
    shift = float(divergence.shift(wanted, alpha))
    assert by_quadrature(alpha, normal, lambda x: normal(x, shift), -12, 12) == pytest.approx(
        wanted, rel=1e-6
    )
    for wide in (True, False):
        scale = float(divergence.scale(wanted, alpha, 1, wide=wide))
        assert (scale > 1) == wide
        found = by_quadrature(alpha, normal, lambda x, s=scale: normal(x, 0, s), -14, 14)
        assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 0.3])
def test_truncation(alpha):
    mass = float(divergence.kept_mass(0.2, alpha))
    cut = stats.norm.ppf(1 - mass)
    found = by_quadrature(
        alpha,
        stats.norm.pdf,
        lambda x: stats.norm.pdf(x) / mass * (x > cut),
        cut,
        12.0,
        split=(max(cut, 0.0),),
    )
    assert found == pytest.approx(0.2, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_a_mixture_approaches_its_divergence_as_the_posterior_concentrates(alpha):
    weight = float(divergence.mixture_weight(0.2, alpha))
    found, prior = [], stats.norm(0.0, 1.0).pdf
    for deviation in (0.5, 1e-2, 1e-4):
        p = stats.norm(0.0, deviation).pdf
        ends = 10 * deviation
        inside = by_quadrature(alpha, p, lambda x, p=p: (1 - weight) * p(x) + weight * prior(x), -ends, ends)
        found.append(inside)
    assert found[0] < found[1] < found[2] <= 0.2 + 1e-6
    assert found[2] == pytest.approx(0.2, rel=2e-3)


def test_dimensions_add_up_at_alpha_zero():
    scale = float(divergence.scale(0.5, 0.0, 7, wide=True))
    assert 7 / 2 * (scale**2 - 1 - 2 * np.log(scale)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"perturbation": "truncate", "alpha": 1.0}, "infinite divergence"),
        ({"perturbation": "prior", "alpha": 0.0}, "no bounded divergence"),
        ({"perturbation": "shift", "alpha": 0.5, "divergence": 4.0}, "must be below 4"),
    ],
)
def test_impossible_divergences_are_errors(settings, message):
    with pytest.raises(InputError, match=message):
        Control(**settings)


PRECISION = np.array([[4.0, 1.0], [1.0, 2.0]])
MEAN = np.array([0.3, -0.2])
ACTIONS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])


def draws(sampler, number=4000):
    gaussian = Gaussian(jnp.asarray(PRECISION), jnp.asarray(PRECISION @ MEAN))
    root = np.linalg.cholesky(np.linalg.inv(PRECISION))
    target = Target(
        lambda x: -(x - MEAN) @ PRECISION @ (x - MEAN) / 2,
        gaussian=gaussian,
        exact=lambda key: MEAN + root @ jax.random.normal(key, (2,)),
        prior=lambda key: jax.random.normal(key, (2,)),
        tilt=Tilt(jnp.asarray(ACTIONS), jnp.zeros(())),
    )
    start = SamplerState(jnp.zeros(2))
    keys = jax.random.split(jax.random.key(SEED), number)
    return np.asarray(jax.vmap(lambda key: sampler.sample(key, target, start)[0].position)(keys))


def test_draws_are_cut_off_or_shifted_against_the_closest_rival():
    direction, deviation = closest_rival(jnp.asarray(MEAN), jnp.asarray(PRECISION), jnp.asarray(ACTIONS))
    rivals = {tuple(ACTIONS[0] - a) for a in ACTIONS[1:]}
    assert tuple(np.asarray(direction)) in rivals
    assert deviation == pytest.approx(np.sqrt(direction @ np.linalg.inv(PRECISION) @ direction))

    def z(sampler):
        return (draws(sampler) - MEAN) @ np.asarray(direction) / float(deviation)

    exact, shifted, cut = (
        z(Control(perturbation=kind, divergence=0.3)) for kind in ("none", "shift", "truncate")
    )
    assert shifted - exact == pytest.approx(np.sqrt(0.6))
    least = stats.norm.ppf(1 - np.exp(-0.3))
    assert cut.min() >= least
    assert cut.min() < least + 0.02
    expected = stats.truncnorm(least, np.inf)
    assert stats.kstest(cut, expected.cdf).pvalue > 1e-6
