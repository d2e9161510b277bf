"""All diagnostics of one round of several runs, from what was drawn for it."""

from typing import NamedTuple

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
    "acceptance_rate": "mean acceptance probability",
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


class Quality(NamedTuple):
    """A round of several runs, in the eyes of all diagnostics."""

    metrics: dict[str, np.ndarray]  # (runs,); NaN where a notion does not apply
    actions: np.ndarray  # (runs, arms), how often the round's own draw picks each
    exact: np.ndarray  # the same of the reference; NaN where it was refused
    refused: list[str]  # why it was, by run; empty where it was not


def quality(samples: Samples) -> Quality:
    """What the diagnostics say of samples with a leading axis of runs."""
    arms = samples.arms.shape[-1]
    mixed = mixing(np.asarray(samples.chains.position))
    gradients = np.sum(samples.chains.num_gradients, axis=(-2, -1), dtype=float)
    p, q = (action_probabilities(np.asarray(x), arms) for x in (samples.actions, samples.reference_actions))
    replicas, reference = np.asarray(samples.replicas.position), np.asarray(samples.reference)
    runs = np.arange(len(replicas))
    refused = [""] * len(runs)
    if reference.ndim == 4:
        refused = [gate(x, int(n)) for x, n in zip(reference, samples.reference_diverged, strict=True)]
    accepted = np.array([not why for why in refused])
    metrics = dict.fromkeys(METRICS, np.full(len(runs), np.nan))
    metrics |= {
        "best_arm": p[runs, samples.best],
        "nested_rhat": nested_rhat(np.asarray(samples.nested)[..., None, :]),
        "rhat": mixed.rhat,
        "ess_bulk": mixed.ess_bulk,
        "ess_tail": mixed.ess_tail,
        "mcse": mixed.mcse,
        "ebfmi": np.array([energy_fraction(one) for one in np.asarray(samples.chains.energy)]),
        "ess_per_gradient": mixed.ess_bulk / np.where(gradients > 0, gradients, np.nan),
        "acceptance_rate": np.mean(samples.replicas.acceptance_rate, axis=-1),
        "divergences": np.mean(samples.replicas.num_divergent, axis=-1),
        "unique": mixed.unique,
        "condition": np.asarray(samples.condition),
    }
    flat = reference.reshape(len(runs), -1, reference.shape[-1])
    sound = accepted & np.all(np.isfinite(replicas), axis=(1, 2)) & np.all(np.isfinite(flat), axis=(1, 2))
    sizes = np.full((len(runs), 1), float(flat.shape[1]))
    if reference.ndim == 4:  # chains, whose draws are not independent
        sizes = np.minimum(sizes, np.array([[mixing(chains).ess_bulk] for chains in reference]))
    if np.any(sound):
        mean_error, covariance_error, spread = moment_errors(replicas[sound], flat[sound])
        known = {
            "tv": total_variation(p, q)[sound],
            "tv_floor": total_variation_floor(q, replicas.shape[1], sizes)[sound],
            "best_arm_exact": q[runs, samples.best][sound],
            "sliced_wasserstein": sliced_wasserstein(replicas[sound], flat[sound]),
            "mean_error": mean_error,
            "covariance_error": covariance_error,
            "spread": spread,
        }
        metrics |= {name: _where(sound, found) for name, found in known.items()}
    return Quality(metrics, p, np.where(accepted[:, None], q, np.nan), refused)


def _where(sound: np.ndarray, found: np.ndarray) -> np.ndarray:
    whole = np.full(sound.shape, np.nan)
    whole[sound] = found
    return whole
