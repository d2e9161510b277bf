"""Runs a sampler on a stored sequence, cold and following it, and measures its errors against the reference."""

import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from experiments.targets.stored import StoredSequence
from fgtsva_ppl.diagnostics.accuracy import (
    action_probabilities,
    moment_errors,
    sliced_wasserstein,
    total_variation,
    total_variation_floor,
    whitening,
)
from samplers import Draw, Sampler, SamplerState
from samplers.diagnostics import (
    classifier_test,
    importance_khat,
    kernel_stein_discrepancy,
    maximum_mean_discrepancy,
)

SEED = 0
NUM_MMD = 256  # draws of each sample
NUM_BOOTSTRAP = 20
NUM_FLOORS = 10  # subsets of the reference over which its own errors are averaged
NUM_PROPOSALS = 1024  # of the importance check


class Budget(NamedTuple):
    """How much a sampler may draw.

    Attributes:
        num_chains: Independent chains: errors are those of the distribution of one draw of each.
        calls: Numbers of successive draws from a cold start after which errors are measured.
    """

    num_chains: int = 256
    calls: tuple[int, ...] = (1, 4, 16)


QUICK = Budget(64, (1, 8))


def calls_up_to(draws: int) -> tuple[int, ...]:
    """Powers of 4 below a number of draws, and that number."""
    powers = [4**power for power in range(16) if 4**power < draws]
    return (*powers, draws)


def measure(sampler: Sampler, sequence: StoredSequence, budget: Budget) -> list[dict[str, Any]]:
    """Errors and costs of a sampler on a sequence.

    Args:
        sampler: Starts at draws of the prior.
        sequence: Only steps whose reference was not rejected are compared.
        budget: Numbers of chains and draws.

    Returns:
        A row per point: mode `cold` on the last posterior after some draws, or `following` the sequence with one draw
        per posterior, at its end; with gradients and seconds per chain, and errors.
    """
    steps = [i for i, one in enumerate(sequence.facts["references"]) if one["kind"] != "rejected"]
    if not steps:
        raise ValueError("no posterior of the sequence has a reference")
    keys = jax.random.split(jax.random.key(SEED), budget.num_chains)
    rows = []
    program = _Program(sampler, sequence, keys, max(*budget.calls, steps[-1] + 1))
    positions, gradients, seconds = program.run([steps[-1]] * max(budget.calls))
    for calls in budget.calls:
        errors = compare(sequence, steps[-1], positions[:, calls - 1])
        cost = {"gradients": float(gradients[:, :calls].sum(1).mean()), "calls": calls}
        share = calls / max(budget.calls)
        rows.append({"mode": "cold", **cost, "seconds": share * seconds / budget.num_chains, **errors})
    positions, gradients, seconds = program.run(list(range(steps[-1] + 1)))
    errors = compare(sequence, steps[-1], positions[:, -1])
    cost = {"gradients": float(gradients.sum(1).mean()), "calls": steps[-1] + 1}
    rows.append({"mode": "following", **cost, "seconds": seconds / budget.num_chains, **errors})
    return rows


def floor(sequence: StoredSequence, budget: Budget) -> list[dict[str, Any]]:
    """Mean errors of as many reference draws as there are chains: no sampler can be expected to have less."""
    steps = [i for i, one in enumerate(sequence.facts["references"]) if one["kind"] != "rejected"]
    if not steps:
        raise ValueError("no posterior of the sequence has a reference")
    draws = sequence.reference[steps[-1]]
    if 2 * budget.num_chains > len(draws):
        raise ValueError(f"{len(draws)} reference draws are enough for {len(draws) // 2} chains at most")
    rng = np.random.default_rng(SEED)
    each = []
    for _ in range(NUM_FLOORS):
        chosen = rng.choice(len(draws), budget.num_chains, replace=False)
        rest = np.setdiff1d(np.arange(len(draws)), chosen)
        each.append(compare(sequence, steps[-1], draws[chosen], draws[rest]))
    errors = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
    return [{"mode": "reference", "gradients": 0.0, "calls": 0, "seconds": 0.0, **errors}]


def compare(
    sequence: StoredSequence,
    step: int,
    draws: Float[np.ndarray, "draws size"],
    reference: Float[np.ndarray, "reference_draws size"] | None = None,
) -> dict[str, float]:
    """Errors of draws against the reference of a step. Raises ValueError if a draw is not finite."""
    if not np.all(np.isfinite(draws)):
        raise ValueError(f"{np.mean(~np.all(np.isfinite(draws), axis=1)):.0%} of the draws are not finite")
    reference = sequence.reference[step] if reference is None else reference
    arrays = sequence.at(step)
    rewards = [np.asarray(sequence.rewards_of(arrays, jnp.asarray(x))) for x in (draws, reference)]
    arms = rewards[0].shape[1]
    p, q = (action_probabilities(np.argmax(x, axis=1), arms) for x in rewards)
    ours, theirs = (draws, reference) if sequence.facts["compared"] == "parameters" else rewards
    mean, w = whitening(theirs)
    white = [(x - mean[0]) @ w.T for x in (ours, theirs)]
    mean_error, covariance_error, _ = moment_errors(ours[None], theirs[None])
    few = [x[:: max(1, len(x) // NUM_MMD)][:NUM_MMD] for x in white]
    again = np.random.default_rng(SEED).integers(len(ours), size=(NUM_BOOTSTRAP, len(ours)))
    bootstrapped = sliced_wasserstein(ours[again], theirs[None])
    return {
        "action_tv": float(total_variation(p, q)),
        "action_tv_floor": float(total_variation_floor(q, len(ours), len(theirs))),
        "sliced_wasserstein": float(sliced_wasserstein(ours[None], theirs[None])[0]),
        "sliced_wasserstein_se": float(np.std(bootstrapped, ddof=1)),
        "mean_error": float(mean_error[0]),
        "covariance_error": float(covariance_error[0]),
        "mmd": math.sqrt(max(0.0, maximum_mean_discrepancy(*few))),
        "classifier_accuracy": classifier_test(*few).accuracy,
        **_density_checks(sequence, step, draws, reference),
    }


def _density_checks(
    sequence: StoredSequence,
    step: int,
    draws: Float[np.ndarray, "draws size"],
    reference: Float[np.ndarray, "reference_draws size"],
) -> dict[str, float]:
    """Checks of the parameters by the density itself: Stein discrepancy (whitened) and Pareto k-hat."""
    mean, w = whitening(reference)
    few = draws[:NUM_MMD]
    _, scores = sequence.densities(step, few)
    stein = kernel_stein_discrepancy((few - mean[0]) @ w.T, scores @ np.linalg.inv(w))

    def logdensity(positions: np.ndarray) -> np.ndarray:
        parts = np.split(positions, range(len(few), len(positions), len(few)))
        padded = [np.concatenate([part, np.repeat(few[:1], len(few) - len(part), axis=0)]) for part in parts]
        values = [sequence.densities(step, x)[0][: len(part)] for x, part in zip(padded, parts, strict=True)]
        return np.concatenate(values)

    khat = importance_khat(logdensity, draws, num_proposals=NUM_PROPOSALS)
    return {"stein_discrepancy": stein, "pareto_khat": khat}


class _Program:
    """Chains with a draw from each of `length` posteriors, compiled once: which posteriors these are is an argument."""

    def __init__(self, sampler: Sampler, sequence: StoredSequence, keys: Array, length: int) -> None:
        every = [sequence.at(step) for step in range(len(sequence))]
        stacked: Mapping[str, Array] = jax.tree.map(lambda *x: jnp.stack(x), *every)
        self._length, self._size = length, sequence.size
        self._arguments = keys, stacked, sequence.rows

        def chain(key: Array, stacked: Any, rows: Any, steps: Array) -> Draw:
            init_key, draws_key = jax.random.split(key)

            def draw(state: SamplerState, row: tuple[Array, Array]) -> tuple[SamplerState, Draw]:
                step, key = row
                target = sequence.target_from(jax.tree.map(lambda x: x[step], stacked), rows)
                return sampler.sample(key, target, state)

            start = sampler.init(init_key, sequence.model.draw)
            return jax.lax.scan(draw, start, (steps, jax.random.split(draws_key, length)))[1]

        def chains(keys: Array, stacked: Any, rows: Any, steps: Array) -> Draw:
            if sampler.sequential:
                return jax.lax.map(lambda key: chain(key, stacked, rows, steps), keys)
            return jax.vmap(lambda key: chain(key, stacked, rows, steps))(keys)

        self._program = jax.jit(chains).lower(*self._arguments, jnp.zeros(length, int)).compile()

    def run(self, steps: list[int]) -> tuple[np.ndarray, np.ndarray, float]:
        """Positions and gradients (chains, steps, ...), and seconds of all chains."""
        padded = jnp.asarray(steps + [steps[-1]] * (self._length - len(steps)))
        began = time.perf_counter()
        draws = jax.block_until_ready(self._program(*self._arguments, padded))
        seconds = (time.perf_counter() - began) * len(steps) / self._length
        number = len(steps)
        if draws.position.shape[2:] != (self._size,):
            raise ValueError(f"a draw has the shape {draws.position.shape[2:]} instead of {(self._size,)}")
        return np.asarray(draws.position)[:, :number], np.asarray(draws.num_gradients)[:, :number], seconds
