"""A stored sequence of two Gaussian posteriors."""

import numpy as np
import pytest
from helpers.montecarlo import SEED

from experiments.targets.stored import StoredSequence

DIM, ARMS, STEPS, DRAWS = 2, 3, 2, 400


@pytest.fixture(scope="module")
def sequence():
    """Two Gaussian posteriors, by hand: precision d I + 2 gram, shift 2 moment."""
    rng = np.random.default_rng(SEED)
    rows = rng.normal(size=(STEPS, 5, DIM))
    gram, moment = np.einsum("sni,snj->sij", rows, rows), rng.normal(size=(STEPS, DIM))
    precision = DIM * np.eye(DIM) + 2 * gram
    mean = np.linalg.solve(precision, 2 * moment[..., None])[..., 0]
    root = np.linalg.inv(np.linalg.cholesky(precision)).swapaxes(-1, -2)
    draws = mean[:, None] + rng.normal(size=(STEPS, DRAWS, DIM)) @ root.swapaxes(-1, -2)
    arrays = {
        "round": np.array([3, 6]),
        "actions": rng.normal(size=(STEPS, ARMS, DIM)),
        "sigma": np.ones(STEPS),
        "total_variance": np.ones(STEPS),
        "num_rows": np.array([5, 5]),
        "bonus_scale": np.zeros(STEPS),
        "gram": gram,
        "moment": moment,
        "square": np.ones(STEPS),
        "metric": precision,
        "reference": draws,
    }
    facts = {
        "title": "two Gaussian posteriors",
        "sites": [{"name": "theta", "shape": [DIM]}],
        "reward": ["linear", {"prior_scale": None}],
        "posterior": ["ts", {"eta": 1.0}],
        "compared": "parameters",
        "references": [{"kind": "exact"}, {"kind": "exact"}],
    }
    return StoredSequence("by-hand", arrays, facts)
