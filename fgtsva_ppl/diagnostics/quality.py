"""All diagnostics of one round of one run, from what was drawn for it."""

import numpy as np

from fgtsva_ppl.diagnostics.accuracy import (
    action_probabilities,
    moment_errors,
    nested_rhat,
    sliced_wasserstein,
    total_variation,
    total_variation_floor,
)
from fgtsva_ppl.diagnostics.mixing import energy_fraction, mixing
from fgtsva_ppl.diagnostics.probe import Samples

GATE_RHAT, GATE_ESS = 1.01, 400.0

METRICS = {
    "tv": "total variation between action distributions",
    "tv_floor": "what total variation would be for equal laws",
    "best_arm": "probability of the best arm",
    "best_arm_exact": "the same under exact draws",
    "sliced_wasserstein": "sliced Wasserstein distance, posterior sd",
    "mean_error": "error of the mean, posterior sd",
    "covariance_error": "error of the covariance, relative",
    "spread": "standard deviation relative to the posterior's",
    "nested_rhat": "nested R-hat of the round's own draw",
    "rhat": "rank-normalised split R-hat",
    "ess_bulk": "bulk effective sample size",
    "ess_tail": "tail effective sample size",
    "mcse": "Monte Carlo error of the mean, sd",
    "ebfmi": "energy fraction of missing information",
    "ess_per_gradient": "bulk effective draws per gradient",
    "acceptance": "mean acceptance probability",
    "divergences": "divergent transitions per draw",
    "unique": "share of transitions that moved",
    "condition": "condition number of the posterior precision",
}


def gate(chains: np.ndarray, diverged: int) -> str:
    """Why a reference made of (chains, draws, size) positions may not be trusted; empty if it may."""
    found = mixing(chains)
    if not found.rhat < GATE_RHAT:
        return f"R-hat {found.rhat:.3f} of the reference is not below {GATE_RHAT}"
    if not min(found.ess_bulk, found.ess_tail) > GATE_ESS:
        return f"effective size {min(found.ess_bulk, found.ess_tail):.0f} of the reference is not above {GATE_ESS:.0f}"
    if diverged:
        return f"{diverged} transitions of the reference diverged"
    return ""


def quality(samples: Samples) -> tuple[dict[str, float], np.ndarray, np.ndarray, str]:
    """Metrics, action probabilities, those of the reference, and why the reference was refused (empty: it was not)."""
    arms = samples.arms.size
    chains = np.asarray(samples.chains.position)
    mixed = mixing(chains)
    gradients = float(np.sum(samples.chains.gradients))
    p = action_probabilities(np.asarray(samples.actions), arms)
    q = action_probabilities(np.asarray(samples.reference_actions), arms)
    replicas, reference = np.asarray(samples.replicas.position), np.asarray(samples.reference)
    refused = gate(reference, int(samples.reference_diverged)) if reference.ndim == 3 else ""
    metrics = dict.fromkeys(METRICS, np.nan)
    metrics |= {
        "best_arm": float(p[samples.best]),
        "nested_rhat": nested_rhat(np.asarray(samples.nested)),
        "rhat": mixed.rhat,
        "ess_bulk": mixed.ess_bulk,
        "ess_tail": mixed.ess_tail,
        "mcse": mixed.mcse,
        "ebfmi": energy_fraction(np.asarray(samples.chains.energy)),
        "ess_per_gradient": mixed.ess_bulk / gradients if gradients else np.nan,
        "acceptance": float(np.mean(samples.replicas.acceptance)),
        "divergences": float(np.mean(samples.replicas.diverged)),
        "unique": mixed.unique,
        "condition": float(samples.condition),
    }
    if not refused and np.all(np.isfinite(replicas)):
        flat = reference.reshape(-1, reference.shape[-1])
        mean_error, covariance_error, spread = moment_errors(replicas, flat)
        metrics |= {
            "tv": total_variation(p, q),
            "tv_floor": total_variation_floor(q, replicas.shape[0], flat.shape[0]),
            "best_arm_exact": float(q[samples.best]),
            "sliced_wasserstein": sliced_wasserstein(replicas, flat),
            "mean_error": mean_error,
            "covariance_error": covariance_error,
            "spread": spread,
        }
    return metrics, p, np.full_like(q, np.nan) if refused else q, refused
