"""All diagnostics of one probed round. `METRICS` is the list of them: a new metric is one entry there."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from fgtsva_ppl.diagnostics.accuracy import (
    action_probabilities,
    moment_errors,
    nested_rhat,
    sliced_wasserstein,
    total_variation,
    total_variation_floor,
)
from fgtsva_ppl.diagnostics.mixing import Mixing, ebfmi, mixing
from fgtsva_ppl.diagnostics.probe import Samples
from fgtsva_ppl.diagnostics.reference import rejection_reason


class Measured:
    """The draws of a probe with a leading axis of runs, and what several metrics have in common, computed once.

    Args:
        samples: The draws of `probe`.

    Attributes:
        p: How often the round's draw picks each arm.
        q: How often reference draws pick each arm.
        replicas: Repetitions of the round's draw.
        reference: All reference draws of a run, one after the other.
        rejections: Why the reference of a run was rejected; empty where it was not.
        accepted: The runs whose reference was not rejected.
        valid: The runs with an accepted reference and finite draws: those of a metric that needs the reference.
    """

    p: Float[np.ndarray, "runs arms"]
    q: Float[np.ndarray, "runs arms"]
    replicas: Float[np.ndarray, "runs replicas size"]
    reference: Float[np.ndarray, "runs draws size"]
    rejections: list[str]
    accepted: Bool[np.ndarray, " runs"]
    valid: Bool[np.ndarray, " runs"]

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        arms = samples.arm_mask.shape[-1]
        self.p, self.q = (
            action_probabilities(np.asarray(x), arms) for x in (samples.actions, samples.reference_actions)
        )
        self.replicas = np.asarray(samples.replicas.position)
        self.runs = np.arange(len(self.replicas))
        self._draws = np.asarray(samples.reference)
        self._is_chain = self._draws.ndim == 4  # else exact draws
        self.reference = self._draws.reshape(len(self.runs), -1, self._draws.shape[-1])
        self.rejections = [""] * len(self.runs)
        if self._is_chain:
            both = zip(self._draws, samples.reference_divergent, strict=True)
            self.rejections = [rejection_reason(chains, int(num_divergent)) for chains, num_divergent in both]
        self.accepted = np.array([not reason for reason in self.rejections])
        finite = [np.all(np.isfinite(draws), axis=(1, 2)) for draws in (self.replicas, self.reference)]
        self.valid = self.accepted & finite[0] & finite[1]

    @cached_property
    def mixing(self) -> Mixing:
        """Mixing of the chains."""
        return mixing(np.asarray(self.samples.chains.position))

    @cached_property
    def num_gradients(self) -> Float[np.ndarray, " runs"]:
        """Gradients of all chains; NaN where the sampler takes none."""
        gradients = np.sum(self.samples.chains.num_gradients, axis=(-2, -1), dtype=float)
        return np.where(gradients > 0, gradients, np.nan)

    @cached_property
    def reference_sizes(self) -> Float[np.ndarray, "runs 1"]:
        """Effective number of reference draws: those of a chain are not independent."""
        sizes = np.full((len(self.runs), 1), float(self.reference.shape[1]))
        if not self._is_chain:
            return sizes
        return np.minimum(sizes, np.array([[mixing(chains).ess_bulk] for chains in self._draws]))

    @cached_property
    def moments(
        self,
    ) -> tuple[Float[np.ndarray, " valid"], Float[np.ndarray, " valid"], Float[np.ndarray, " valid"]]:
        """Errors of mean and covariance and ratio of standard deviations, of the valid runs."""
        return moment_errors(self.replicas[self.valid], self.reference[self.valid])


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
        lambda of: nested_rhat(np.asarray(of.samples.superchains)[..., None, :]),
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
