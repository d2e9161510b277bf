"""What a probe of a round draws."""

import math
from typing import NamedTuple

import numpy as np
from jax import Array
from jaxtyping import Float, Int

from samplers import Draw


class ProbeSizes(NamedTuple):
    """How many draws a probe takes."""

    num_replicas: int = 512  # independent repetitions of the round's draw, from the agent's own state
    num_reference: int = 2048  # exact draws
    num_superchains: int = (
        8  # overdispersed starts for nested R-hat, with num_replicas / num_superchains chains each
    )
    num_chains: int = 4  # chains for mixing diagnostics
    num_draws: int = 250  # draws of each of these chains


class Values(NamedTuple):
    """Mean rewards of the round's arms under the draws of a probe, where parameters are not to be compared.

    Attributes:
        replicas: Of the replicas.
        superchains: Of the superchains.
        chains: Of the chains.
        reference: Of the reference's chains.
        reference_logdensity: Log-densities of the reference's chains.
    """

    replicas: Float[np.ndarray, "*runs replicas arms"]
    superchains: Float[np.ndarray, "*runs superchains members arms"]
    chains: Float[np.ndarray, "*runs chains draws arms"]
    reference: Float[np.ndarray, "*runs reference_chains reference_draws arms"]
    reference_logdensity: Float[np.ndarray, "*runs reference_chains reference_draws"]


class Checks(NamedTuple):
    """What further checks of the round's draw need; NaN where it is not known.

    Attributes:
        whitened: Some replicas in whitened coordinates.
        scores: Gradients of the log-density there.
        log_ratios: log p - log q at draws from the normal distribution q with the replicas' mean and covariance.
        first_arm: Mean reward of the first arm under each replica.
        first_arm_truth: The true mean reward of the first arm.
    """

    whitened: Float[np.ndarray | Array, "*runs few size"]
    scores: Float[np.ndarray | Array, "*runs few size"]
    log_ratios: Float[np.ndarray | Array, "*runs proposals"]
    first_arm: Float[np.ndarray | Array, "*runs replicas"]
    first_arm_truth: Float[np.ndarray | Array, "*runs"]


class Samples(NamedTuple):
    """The draws of a probe, for one run or with a leading axis of runs.

    Attributes:
        replicas: Repetitions of the round's draw; every field has shape (replicas, ...).
        actions: The arm that each replica picks.
        reference: Exact draws (draws, size), or chains (chains, draws, size) that must pass the gate.
        reference_actions: The arm that each reference draw picks.
        reference_divergent: Number of divergent transitions of the reference.
        superchains: The round's draw from overdispersed starts.
        chains: Successive draws of several chains; every field has shape (chains, draws, ...).
        condition_number: Condition number of the posterior precision at the agent's position; NaN if unknown.
        best_arm: The arm with the highest true mean.
        arm_mask: Ones, as many as there are arms.
        gradient_norm: Mean squared norm of the whitened gradient at the replicas, over the dimension; NaN if unknown.
        predictions: Mean rewards of all arms under each replica; NaN if unknown.
        means: True mean rewards of all arms.
        sigma: Standard deviation of the round's noise.
        checks: Densities, scores and rewards of some draws; None if they were not computed.
        values: What accuracy and mixing are measured by, if not by parameters: if there are neither exact draws nor
            a Gaussian prior on a linear function's coefficients. Parameters may then have symmetries.
    """

    replicas: Draw
    actions: Int[np.ndarray, "*runs replicas"]
    reference: Float[np.ndarray, "*runs draws size"] | Float[np.ndarray, "*runs chains draws size"]
    reference_actions: Int[np.ndarray, "*runs all_draws"]
    reference_divergent: Int[np.ndarray, "*runs"]
    superchains: Float[np.ndarray, "*runs superchains members size"]
    chains: Draw
    condition_number: Float[np.ndarray, "*runs"]
    best_arm: Int[np.ndarray, "*runs"]
    arm_mask: Float[np.ndarray, "*runs arms"]
    gradient_norm: Float[np.ndarray, "*runs"] | float = math.nan
    predictions: Float[np.ndarray, "*runs replicas arms"] | float = math.nan
    means: Float[np.ndarray, "*runs arms"] | float = math.nan
    sigma: Float[np.ndarray, "*runs"] | float = math.nan
    checks: Checks | None = None
    values: Values | None = None
