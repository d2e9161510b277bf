"""The largest eigenvalue, by squaring in low dimensions and by Lanczos steps in high ones."""

import jax.numpy as jnp
import numpy as np
import pytest

from samplers.adaptation.curvature import (
    MAX_DIM_SQUARING,
    NUM_SQUARINGS,
    largest_eigenvalue,
    largest_eigenvalue_by_squaring,
    largest_eigenvalue_of_tridiagonal,
)


@pytest.mark.parametrize("dim", range(1, MAX_DIM_SQUARING + 1))
def test_squaring_finds_the_largest_eigenvalue(dim):
    rng = np.random.default_rng(dim)
    turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    for spectrum in (np.geomspace(1e-6, 1e6, dim), rng.uniform(1, 2, dim), np.ones(dim)):
        largest = float(largest_eigenvalue_by_squaring(jnp.asarray(turn * spectrum @ turn.T)))
        assert largest == pytest.approx(spectrum.max(), rel=1e-9)


def test_squaring_keeps_its_bound_where_it_is_worst():
    """All other eigenvalues below the largest by a share 1 / n."""
    dim, powers = 5, 2.0**NUM_SQUARINGS
    spectrum = np.array([1 - 1 / powers] * (dim - 1) + [1.0])
    short = 1 - float(largest_eigenvalue_by_squaring(jnp.diag(jnp.asarray(spectrum))))
    assert 0 < short <= (dim - 1) / (np.e * powers)


def bandit_precision(rng, dim, rounds):
    """Prior and unit-norm arms, of which most have the weight of a noiseless round."""
    arms = rng.normal(size=(rounds, dim))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    weights = np.where(rng.random(rounds) < 0.1, 2.0, 2000.0)
    return dim * np.eye(dim) + arms.T * weights @ arms


@pytest.mark.parametrize("dim", [7, 20, 100])
def test_lanczos_steps_come_close_from_below(dim):
    rng = np.random.default_rng(dim)
    turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    spectra = (
        np.geomspace(1e-4, 1e4, dim),
        rng.uniform(1, 10, dim),
        np.ones(dim),
        np.r_[np.ones(dim - 1), 1e4],
    )
    matrices = [turn * spectrum @ turn.T for spectrum in spectra]
    matrices += [bandit_precision(rng, dim, rounds) for rounds in (1, dim // 2, dim, 5 * dim)]
    for matrix in matrices:
        share = float(largest_eigenvalue(jnp.asarray(matrix))) / np.linalg.eigvalsh(matrix)[-1]
        assert 0.97 <= share <= 1 + 1e-11
        if dim <= 16:  # the Krylov space is the whole space
            assert share >= 1 - 1e-9


def test_bisection_finds_the_largest_eigenvalue_of_a_tridiagonal_matrix():
    rng = np.random.default_rng(1)
    for size in (1, 2, 9):
        diagonal, couplings = rng.normal(size=size), rng.normal(size=size - 1)
        expected = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(couplings, 1) + np.diag(couplings, -1))[-1]
        ours = float(largest_eigenvalue_of_tridiagonal(jnp.asarray(diagonal), jnp.asarray(couplings)))
        assert ours == pytest.approx(expected, abs=1e-9)
