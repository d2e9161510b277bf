"""Reference draws: exact where the posterior can be drawn from, else two independent samplers that must agree.

The gate is that of posteriordb: R-hat below 1.01, more than 1000 effective draws in bulk and tails, no divergence. The
second sampler has another kernel and other keys; all means and variances must agree within their standard errors.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Key
from scipy import stats

from fgtsva_ppl.diagnostics.mixing import mixing
from samplers import NUTS, DynamicHMC, Sampler, Target
from samplers.base import Draw, Start

MAX_RHAT = 1.01
MIN_ESS = 1000.0
FALSE_ALARM = 1e-4  # of the comparison of both samplers
NUM_CHAINS = 8
# Short steps: the funnel of a hierarchical posterior makes long ones diverge.
SAMPLERS = (NUTS(step_size=0.3), DynamicHMC(step_size=0.25, num_integration_steps=16))
THINNING = 4


class ReferenceSizes(NamedTuple):
    """How long references are: draws that are kept per posterior, and per chain where chains are run."""

    num_draws: int = 2000
    num_chain_draws: int = 1000


class Reference(NamedTuple):
    """Reference draws of one posterior, and whether they may be trusted."""

    draws: Float[np.ndarray, "draws size"]
    kind: str  # exact, gated, or rejected
    facts: dict[str, Any]


class ReferenceDrawer:
    """Draws references for the posteriors of one sequence; its programs are compiled once for all of them.

    Args:
        make_target: The arrays of a step -> its posterior.
        prior: Draws a starting position.
        sizes: Numbers of draws.
        compared: (arrays, draws) -> what has to pass the gate; None for the parameters themselves.
    """

    def __init__(
        self,
        make_target: Callable[[Any], Target],
        prior: Start,
        sizes: ReferenceSizes,
        compared: Callable[[Any, Array], Array] | None = None,
    ) -> None:
        self._make_target = make_target
        self._sizes = sizes
        self._compared = None if compared is None else jax.jit(compared)
        self._exact = jax.jit(self._exact_draws)
        self._chains = [jax.jit(partial(_chains, sampler, make_target, prior, sizes)) for sampler in SAMPLERS]

    def draw(self, key: Key[Array, ""], arrays: Any) -> Reference:
        """Draws exactly if the posterior knows how to, else by NUTS, checked by dynamic HMC."""
        if self._make_target(arrays).exact_draws is not None:
            return Reference(np.asarray(self._exact(key, arrays)), "exact", {})
        both = [
            jax.tree.map(np.asarray, run(k, arrays))
            for run, k in zip(self._chains, jax.random.split(key), strict=True)
        ]
        (first, first_divergent), (second, second_divergent) = both
        seen = [self._values(arrays, chains) for chains in (first, second)]
        reason, facts = gate(seen[0], seen[1], int(first_divergent), int(second_divergent))
        flat, number = first.reshape(-1, first.shape[-1]), self._sizes.num_draws
        few = flat[:: max(1, len(flat) // number)][:number]
        return Reference(few, "rejected" if reason else "gated", {**facts, "reason": reason})

    def _exact_draws(self, key: Array, arrays: Any) -> Array:
        exact = self._make_target(arrays).exact_draws
        assert exact is not None
        return exact(key, self._sizes.num_draws)

    def _values(self, arrays: Any, chains: np.ndarray) -> np.ndarray:
        if self._compared is None:
            return chains
        flat = np.asarray(self._compared(arrays, jnp.asarray(chains.reshape(-1, chains.shape[-1]))))
        return flat.reshape(*chains.shape[:2], -1)


def gate(
    first: Float[np.ndarray, "chains draws size"],
    second: Float[np.ndarray, "other_chains other_draws size"],
    first_divergent: int = 0,
    second_divergent: int = 0,
) -> tuple[str, dict[str, Any]]:
    """Why two sets of chains are no reference (empty if they are), and the measured values."""
    facts: dict[str, Any] = {}
    for name, chains, num_divergent in (
        ("nuts", first, first_divergent),
        ("dynamic_hmc", second, second_divergent),
    ):
        rhat, ess_bulk, ess_tail, _, _ = mixing(chains)
        ess = float(min(ess_bulk, ess_tail))
        facts[name] = {"rhat": float(rhat), "ess": ess, "num_divergent": num_divergent}
        if not rhat < MAX_RHAT:
            return f"R-hat {rhat:.3f} of {name} is not below {MAX_RHAT}", facts
        if not ess > MIN_ESS:
            return f"effective sample size {ess:.0f} of {name} is not above {MIN_ESS:.0f}", facts
        if num_divergent:
            return f"{num_divergent} transitions of {name} diverged", facts
    z, bound = agreement(first, second, facts["nuts"]["ess"], facts["dynamic_hmc"]["ess"])
    facts["largest_z"], facts["z_bound"] = z, bound
    return ("" if z <= bound else f"nuts and dynamic_hmc differ by {z:.1f} standard errors"), facts


def agreement(
    first: Float[np.ndarray, "chains draws size"],
    second: Float[np.ndarray, "other_chains other_draws size"],
    first_ess: float,
    second_ess: float,
) -> tuple[float, float]:
    """The largest difference of means and of mean squares, in standard errors; and its bound (Bonferroni)."""
    flat = [x.reshape(-1, x.shape[-1]) for x in (first, second)]
    centre, scale = flat[0].mean(0), flat[0].std(0)
    features = [np.concatenate([(x - centre) / scale, ((x - centre) / scale) ** 2], axis=1) for x in flat]
    errors = [x.var(0) / ess for x, ess in zip(features, (first_ess, second_ess), strict=True)]
    z = np.abs(features[0].mean(0) - features[1].mean(0)) / np.sqrt(errors[0] + errors[1])
    return float(np.max(z)), float(stats.norm.isf(FALSE_ALARM / (2 * z.size)))


def _chains(
    sampler: Sampler,
    make_target: Callable[[Any], Target],
    prior: Start,
    sizes: ReferenceSizes,
    key: Array,
    arrays: Any,
) -> tuple[Array, Array]:
    """Chains from draws of the prior after a warm-up, thinned; and the number of divergent transitions."""
    target = make_target(arrays)

    def chain(key: Array) -> tuple[Array, Array]:
        start_key, warm_key, key = jax.random.split(key, 3)

        def adapt(state: Any, key: Array) -> tuple[Any, Draw]:
            return sampler.sample(key, target, state)

        warm_keys = jax.random.split(warm_key, sizes.num_chain_draws // 5)
        state, _ = jax.lax.scan(adapt, sampler.init(start_key, prior), warm_keys)
        draws = sampler.trace(key, target, state, sizes.num_chain_draws * THINNING)
        return draws.position[::THINNING], jnp.sum(draws.num_divergent)

    positions, num_divergent = jax.lax.map(chain, jax.random.split(key, NUM_CHAINS))
    return positions, jnp.sum(num_divergent)
