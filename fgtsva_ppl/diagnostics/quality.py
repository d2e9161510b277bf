"""All diagnostics of one probed round."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from fgtsva_ppl.diagnostics.accuracy import (
    action_probabilities,
    moment_errors,
    nested_rhat,
    sliced_wasserstein,
    total_variation,
    total_variation_floor,
)
from fgtsva_ppl.diagnostics.mixing import ebfmi, mixing
from fgtsva_ppl.diagnostics.probe import Samples
from fgtsva_ppl.diagnostics.reference import rejection_reason

METRICS = {
    "tv": "total variation between action distributions",
    "tv_floor": "expected total variation of exact draws",
    "best_arm": "probability of the best arm",
    "best_arm_exact": "probability of the best arm, exact draws",
    "sliced_wasserstein": "sliced Wasserstein distance, posterior sd",
    "mean_error": "error of the mean, posterior sd",
    "covariance_error": "error of the covariance, relative",
    "spread": "standard deviation relative to the posterior's",
    "nested_rhat": "nested R-hat of the round's draw",
    "rhat": "rank-normalized split R-hat",
    "ess_bulk": "bulk effective sample size",
    "ess_tail": "tail effective sample size (5% and 95% quantiles)",
    "mcse": "Monte Carlo standard error of the mean, sd",
    "ebfmi": "E-BFMI",
    "ess_per_gradient": "bulk effective sample size per gradient",
    "acceptance_rate": "mean acceptance probability",
    "gradient_norm": "squared norm of the whitened gradient over the dimension; about 1 in the posterior",
    "divergences": "divergent transitions per draw",
    "unique": "fraction of transitions that moved",
    "condition": "condition number of the posterior precision",
}


class Quality(NamedTuple):
    """Diagnostics of one round of several runs.

    Attributes:
        metrics: Values per run of everything in METRICS; NaN where a metric does not apply.
        action_probabilities: How often the round's draw picks each arm.
        reference_probabilities: How often reference draws pick each arm; NaN where the reference was rejected.
        rejections: Why the reference of a run was rejected; empty where it was not.
    """

    metrics: dict[str, Float[np.ndarray, " runs"]]
    action_probabilities: Float[np.ndarray, "runs arms"]
    reference_probabilities: Float[np.ndarray, "runs arms"]
    rejections: list[str]


def quality(samples: Samples) -> Quality:
    """Computes all diagnostics of a probed round.

    Accuracy (total variation, Wasserstein distance, errors of the moments) is NaN for runs whose reference was rejected
    or whose draws are not finite. Cost and acceptance are those of the replicas, mixing is that of the chains.

    Args:
        samples: The draws of `probe`, with a leading axis of runs.

    Returns:
        The diagnostics of each run.
    """
    arms = samples.arm_mask.shape[-1]
    mixed = mixing(np.asarray(samples.chains.position))
    gradients = np.sum(samples.chains.num_gradients, axis=(-2, -1), dtype=float)
    p, q = (action_probabilities(np.asarray(x), arms) for x in (samples.actions, samples.reference_actions))
    replicas, reference = np.asarray(samples.replicas.position), np.asarray(samples.reference)
    runs = np.arange(len(replicas))
    is_chain = reference.ndim == 4  # else exact draws
    rejections = [""] * len(runs)
    if is_chain:
        both = zip(reference, samples.reference_divergent, strict=True)
        rejections = [rejection_reason(chains, int(num_divergent)) for chains, num_divergent in both]
    accepted = np.array([not reason for reason in rejections])
    metrics = dict.fromkeys(METRICS, np.full(len(runs), np.nan))
    metrics |= {
        "best_arm": p[runs, samples.best_arm],
        "nested_rhat": nested_rhat(np.asarray(samples.superchains)[..., None, :]),
        "rhat": mixed.rhat,
        "ess_bulk": mixed.ess_bulk,
        "ess_tail": mixed.ess_tail,
        "mcse": mixed.mcse,
        "ebfmi": np.array([ebfmi(energies) for energies in np.asarray(samples.chains.energy)]),
        "ess_per_gradient": mixed.ess_bulk / np.where(gradients > 0, gradients, np.nan),
        "acceptance_rate": np.mean(samples.replicas.acceptance_rate, axis=-1),
        "gradient_norm": np.broadcast_to(np.asarray(samples.gradient_norm, float), runs.shape),
        "divergences": np.mean(samples.replicas.num_divergent, axis=-1),
        "unique": mixed.unique,
        "condition": np.asarray(samples.condition),
    }
    flat = reference.reshape(len(runs), -1, reference.shape[-1])
    valid = accepted & np.all(np.isfinite(replicas), axis=(1, 2)) & np.all(np.isfinite(flat), axis=(1, 2))
    reference_sizes = np.full((len(runs), 1), float(flat.shape[1]))
    if is_chain:  # whose draws are not independent
        ess = np.array([[mixing(chains).ess_bulk] for chains in reference])
        reference_sizes = np.minimum(reference_sizes, ess)
    if np.any(valid):
        mean_error, covariance_error, spread = moment_errors(replicas[valid], flat[valid])
        accuracy = {
            "tv": total_variation(p, q)[valid],
            "tv_floor": total_variation_floor(q, replicas.shape[1], reference_sizes)[valid],
            "best_arm_exact": q[runs, samples.best_arm][valid],
            "sliced_wasserstein": sliced_wasserstein(replicas[valid], flat[valid]),
            "mean_error": mean_error,
            "covariance_error": covariance_error,
            "spread": spread,
        }
        metrics |= {name: _fill(valid, values) for name, values in accuracy.items()}
    return Quality(metrics, p, np.where(accepted[:, None], q, np.nan), rejections)


def _fill(valid: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at the valid runs, NaN at the others."""
    filled = np.full(valid.shape, np.nan)
    filled[valid] = values
    return filled
