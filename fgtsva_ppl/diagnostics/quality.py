"""All diagnostics of one probed round. `METRICS` is the list of them: a new metric is one entry there."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from fgtsva_ppl.diagnostics.accuracy import (
    sliced_wasserstein,
    total_variation,
    total_variation_floor,
)
from fgtsva_ppl.diagnostics.measured import Measured
from fgtsva_ppl.diagnostics.mixing import ebfmi
from fgtsva_ppl.diagnostics.predictive import JOINT
from fgtsva_ppl.diagnostics.samples import Samples
from samplers.diagnostics.classifier import classifier_test
from samplers.diagnostics.mmd import maximum_mean_discrepancy
from samplers.diagnostics.nested_rhat import nested_rhat


class Metric(NamedTuple):
    """A diagnostic of sampler quality.

    Attributes:
        doc: What it is, for the axis of a figure.
        heading: Its name in tables and sentences.
        compute: Its values: of all runs, or of the valid runs if it needs the reference.
        needs_reference: Whether it compares with reference draws; it is NaN for runs that have none.
        in_summary: Whether its median is a column of the summary.
        of_sampler: False for a property of the posterior or of the measurement, which no sampler changes.
    """

    doc: str
    heading: str
    compute: Callable[[Measured], Float[np.ndarray, " values"]]
    needs_reference: bool = False
    in_summary: bool = False
    of_sampler: bool = True


METRICS = {
    "total_variation": Metric(
        "total variation between action distributions",
        "action TV",
        lambda of: total_variation(of.p, of.q)[of.valid],
        needs_reference=True,
        in_summary=True,
    ),
    "total_variation_floor": Metric(
        "expected total variation of exact draws",
        "TV floor",
        lambda of: total_variation_floor(of.q, of.replicas.shape[1], of.reference_sizes)[of.valid],
        needs_reference=True,
        in_summary=True,
        of_sampler=False,
    ),
    "best_arm": Metric(
        "probability of the best arm", "best arm", lambda of: of.p[of.runs, of.samples.best_arm]
    ),
    "best_arm_exact": Metric(
        "probability of the best arm, exact draws",
        "best arm, exact",
        lambda of: of.q[of.runs, of.samples.best_arm][of.valid],
        needs_reference=True,
    ),
    "sliced_wasserstein": Metric(
        "sliced Wasserstein distance, posterior sd",
        "sliced W1",
        lambda of: sliced_wasserstein(of.replicas[of.valid], of.reference[of.valid]),
        needs_reference=True,
        in_summary=True,
    ),
    "mean_error": Metric(
        "error of the mean, posterior sd",
        "mean error",
        lambda of: of.moments[0],
        needs_reference=True,
        in_summary=True,
    ),
    "covariance_error": Metric(
        "error of the covariance, relative",
        "cov. error",
        lambda of: of.moments[1],
        needs_reference=True,
        in_summary=True,
    ),
    "sd_ratio": Metric(
        "standard deviation relative to the posterior's",
        "sd ratio",
        lambda of: of.moments[2],
        needs_reference=True,
        in_summary=True,
    ),
    "nested_rhat": Metric(
        "nested R-hat of the round's draw",
        "nested R-hat",
        lambda of: nested_rhat(of.superchains[..., None, :]),
        in_summary=True,
    ),
    "rhat": Metric("rank-normalized split R-hat", "R-hat", lambda of: of.mixing.rhat, in_summary=True),
    "ess_bulk": Metric("bulk effective sample size", "bulk ESS", lambda of: of.mixing.ess_bulk),
    "ess_tail": Metric(
        "tail effective sample size (5% and 95% quantiles)", "tail ESS", lambda of: of.mixing.ess_tail
    ),
    "mcse": Metric("Monte Carlo standard error of the mean, sd", "MCSE", lambda of: of.mixing.mcse),
    "ebfmi": Metric(
        "E-BFMI",
        "E-BFMI",
        lambda of: np.array([ebfmi(energies) for energies in np.asarray(of.samples.chains.energy)]),
    ),
    "ess_per_gradient": Metric(
        "bulk effective sample size per gradient",
        "ESS / gradient",
        lambda of: of.mixing.ess_bulk / of.num_gradients,
        in_summary=True,
    ),
    "acceptance_rate": Metric(
        "mean acceptance probability, over replicas of the round's own draw",
        "acceptance rate",
        lambda of: np.mean(of.samples.replicas.acceptance_rate, axis=-1),
    ),
    "gradient_norm": Metric(
        "squared norm of the whitened gradient over the dimension; about 1 in the posterior",
        "gradient",
        lambda of: np.broadcast_to(np.asarray(of.samples.gradient_norm, float), of.runs.shape),
        in_summary=True,
    ),
    "num_divergent": Metric(
        "divergent transitions per draw, over replicas of the round's own draw",
        "divergences",
        lambda of: np.mean(of.samples.replicas.num_divergent, axis=-1),
    ),
    "fraction_moved": Metric(
        "fraction of transitions that moved",
        "fraction moved",
        lambda of: of.mixing.fraction_moved,
        in_summary=True,
    ),
    "marginal_log_loss": Metric(
        "predictive log-loss at one arm beyond that of the truth, nats",
        "marginal log-loss",
        lambda of: of.log_losses[1].value,
    ),
    "joint_log_loss": Metric(
        f"joint predictive log-loss at {JOINT} arms, two of them different, beyond that of the truth, nats",
        "joint log-loss",
        lambda of: of.log_losses[JOINT].value,
        in_summary=True,
    ),
    "joint_log_loss_error": Metric(
        "Monte Carlo standard error of the joint log-loss",
        "joint log-loss error",
        lambda of: of.log_losses[JOINT].error,
        of_sampler=False,
    ),
    "stein_discrepancy": Metric(
        "kernel Stein discrepancy of the round's draw, whitened",
        "Stein discrepancy",
        lambda of: of.stein_discrepancy,
    ),
    "mmd": Metric(
        "squared maximum mean discrepancy to the posterior, whitened",
        "MMD²",
        lambda of: np.array([maximum_mean_discrepancy(*pair) for pair in of.whitened_pairs]),
        needs_reference=True,
    ),
    "classifier_accuracy": Metric(
        "accuracy of a classifier between draws and posterior; 1/2 for exact draws",
        "classifier accuracy",
        lambda of: np.array([classifier_test(*pair).accuracy for pair in of.whitened_pairs]),
        needs_reference=True,
    ),
    "pareto_khat": Metric(
        "Pareto k-hat of importance sampling by the draws' mean and covariance",
        "Pareto k-hat",
        lambda of: of.pareto_khat,
    ),
    "truth_rank": Metric(
        "rank of the first arm's true mean reward among draws, from 0 to 1; uniform if calibrated",
        "rank of truth",
        lambda of: of.truth_rank,
        of_sampler=False,
    ),
    "condition_number": Metric(
        "condition number of the posterior precision",
        "condition number",
        lambda of: np.asarray(of.samples.condition_number),
        of_sampler=False,
    ),
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
    measured = Measured(samples)
    metrics = {}
    for name, metric in METRICS.items():
        values = np.full(measured.runs.shape, np.nan)
        if not metric.needs_reference:
            values = metric.compute(measured)
        elif np.any(measured.valid):
            values[measured.valid] = metric.compute(measured)
        metrics[name] = values
    reference_probabilities = np.where(measured.accepted[:, None], measured.q, np.nan)
    return Quality(metrics, measured.p, reference_probabilities, measured.rejections)
