"""What several metrics of a probed round have in common, computed once."""

from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from fgtsva_ppl.diagnostics.accuracy import (
    action_probabilities,
    moment_errors,
    principal_coordinates,
    whitening,
)
from fgtsva_ppl.diagnostics.mixing import Mixing, mixing
from fgtsva_ppl.diagnostics.predictive import JOINT, LogLoss, joint_log_loss
from fgtsva_ppl.diagnostics.reference import rejection_reason
from fgtsva_ppl.diagnostics.samples import Samples
from samplers.diagnostics.calibration import rank_among
from samplers.diagnostics.pareto import pareto_khat
from samplers.diagnostics.stein import kernel_stein_discrepancy

NUM_COMPARED = 256  # draws of a sample, for metrics of pairs of draws


class Measured:
    """The draws of a probe with a leading axis of runs, and what several metrics have in common, computed once.

    Args:
        samples: The draws of `probe`.

    Attributes:
        p: How often the round's draw picks each arm.
        q: How often reference draws pick each arm.
        replicas: Repetitions of the round's draw: parameters, or mean rewards in their principal directions.
        reference: All reference draws of a run, one after the other, in the same coordinates.
        chains: The chains whose mixing is measured: parameters, or mean rewards.
        superchains: The same of the superchains.
        rejections: Why the reference of a run was rejected; empty where it was not.
        accepted: The runs whose reference was not rejected.
        valid: The runs with an accepted reference and finite draws: those of a metric that needs the reference.
    """

    p: Float[np.ndarray, "runs arms"]
    q: Float[np.ndarray, "runs arms"]
    replicas: Float[np.ndarray, "runs replicas size"]
    reference: Float[np.ndarray, "runs draws size"]
    chains: Float[np.ndarray, "runs chains chain_draws values"]
    superchains: Float[np.ndarray, "runs superchains members values"]
    rejections: list[str]
    accepted: Bool[np.ndarray, " runs"]
    valid: Bool[np.ndarray, " runs"]

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        arms = samples.arm_mask.shape[-1]
        self.p, self.q = (
            action_probabilities(np.asarray(x), arms) for x in (samples.actions, samples.reference_actions)
        )
        self.replicas, self._draws = np.asarray(samples.replicas.position), np.asarray(samples.reference)
        self.chains, self.superchains = np.asarray(samples.chains.position), np.asarray(samples.superchains)
        self.runs = np.arange(len(self.replicas))
        self._is_chain = self._draws.ndim == 4  # else exact draws
        self.reference = self._draws.reshape(len(self.runs), -1, self._draws.shape[-1])
        if samples.values is not None:
            values = samples.values
            self.chains, self.superchains = np.asarray(values.chains), np.asarray(values.superchains)
            logdensity = np.asarray(values.reference_logdensity)
            self._draws = np.concatenate([values.reference, logdensity[..., None]], axis=-1)
            rewards = np.asarray(values.reference).reshape(len(self.runs), -1, values.reference.shape[-1])
            self.replicas, self.reference = principal_coordinates(rewards, np.asarray(values.replicas))
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
        return mixing(self.chains)

    @cached_property
    def num_gradients(self) -> Float[np.ndarray, " runs"]:
        """Gradients of all chains; NaN where the sampler takes none."""
        gradients = np.sum(self.samples.chains.num_gradients, axis=(-2, -1), dtype=float)
        return np.where(gradients > 0, gradients, np.nan)

    @cached_property
    def log_losses(self) -> dict[int, LogLoss]:
        """Predictive log-loss at tau arms beyond that of the truth, by tau; NaN where it is unknown."""
        predictions, means, sigma = (
            np.asarray(x, float) for x in (self.samples.predictions, self.samples.means, self.samples.sigma)
        )
        if predictions.ndim < 3:
            unknown = np.full(self.runs.shape, np.nan)
            return dict.fromkeys((1, JOINT), LogLoss(unknown, unknown))
        return {tau: joint_log_loss(predictions, means, sigma, tau) for tau in (1, JOINT)}

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

    @cached_property
    def whitened_pairs(
        self,
    ) -> list[tuple[Float[np.ndarray, "draws size"], Float[np.ndarray, "reference_draws size"]]]:
        """Some replicas and some reference draws of every valid run, whitened by the reference."""
        replicas, reference = self.replicas[self.valid], self.reference[self.valid]
        mean, w = whitening(reference)
        both = ((x - mean) @ np.swapaxes(w, -1, -2) for x in (replicas, reference))
        few, others = (x[:, :: max(1, x.shape[1] // NUM_COMPARED)][:, :NUM_COMPARED] for x in both)
        return list(zip(few, others, strict=True))

    @cached_property
    def stein_discrepancy(self) -> Float[np.ndarray, " runs"]:
        """Kernel Stein discrepancy of the replicas; NaN where no scores are known."""
        checks = self.samples.checks
        if checks is None:
            return np.full(len(self.runs), np.nan)
        pairs = zip(np.asarray(checks.whitened), np.asarray(checks.scores), strict=True)
        return np.array([kernel_stein_discrepancy(draws, scores) for draws, scores in pairs])

    @cached_property
    def pareto_khat(self) -> Float[np.ndarray, " runs"]:
        """k-hat of importance sampling from a normal distribution with the replicas' moments."""
        checks = self.samples.checks
        if checks is None:
            return np.full(len(self.runs), np.nan)
        return np.array([pareto_khat(np.asarray(ratios, float)) for ratios in np.asarray(checks.log_ratios)])

    @cached_property
    def truth_rank(self) -> Float[np.ndarray, " runs"]:
        """Share of the replicas below the truth, in the mean reward of the first arm; ties are broken at random."""
        checks = self.samples.checks
        if checks is None:
            return np.full(len(self.runs), np.nan)
        values, truth = np.asarray(checks.first_arm), np.asarray(checks.first_arm_truth)
        num_ties = np.sum(values == truth[:, None], axis=1)
        broken = np.random.default_rng(0).integers(0, num_ties + 1)
        return np.asarray((rank_among(truth, values) + broken) / values.shape[1])
