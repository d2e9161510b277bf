"""Reference draws: exact where the posterior can be drawn from, else two independent samplers that must agree.

The gate is that of posteriordb: R-hat below 1.01, more than 1000 effective draws in bulk and tails, no divergence. The
reference is NumPyro's NUTS on the exported program. It is checked by dynamic HMC of BlackJAX on the flat log-density:
another library, kernel, metric, adaptation and implementation of the density. All means and mean squares must agree
within their standard errors.

Blind spot: a mode that neither of them finds.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Key
from numpyro.infer import MCMC, NUTS, init_to_sample
from scipy import stats

from experiments.targets import read_targets
from fgtsva_ppl.diagnostics.mixing import mixing
from samplers import DynamicHMC, Sampler, Target
from samplers.base import Draw, Start

MAX_RHAT = 1.01
MIN_ESS = 1000.0
FALSE_ALARM = 1e-4  # of the comparison of both samplers
NUM_CHAINS = 8
NUM_BLOCKS = 5  # of each chain, whose means give the standard errors of the comparison
CHECK = DynamicHMC(step_size=0.25, num_integration_steps=16)
TARGET_ACCEPTANCE = 0.9
MAX_TREE_DEPTH = 7  # bounds the time on networks, whose weights are not identified
THINNING = 4
NAMES = ("numpyro_nuts", "dynamic_hmc")


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
        program: The same posteriors as NumPyro programs.
        prior: Draws a starting position.
        sizes: Numbers of draws.
        compared: (arrays, draws) -> what has to pass the gate; None for the parameters themselves.
    """

    def __init__(
        self,
        make_target: Callable[[Any], Target],
        program: read_targets.Target,
        prior: Start,
        sizes: ReferenceSizes,
        compared: Callable[[Any, Array], Array] | None = None,
    ) -> None:
        self._make_target = make_target
        self._sizes = sizes
        self._compared = None if compared is None else jax.jit(compared)
        self._exact = jax.jit(self._exact_draws)
        self._program = program
        self._check = jax.jit(partial(_chains, CHECK, make_target, prior, sizes))
        self._nuts = MCMC(
            NUTS(
                program.model,
                dense_mass=True,
                target_accept_prob=TARGET_ACCEPTANCE,
                max_tree_depth=MAX_TREE_DEPTH,
                init_strategy=init_to_sample,
            ),
            num_warmup=500,
            num_samples=THINNING * sizes.num_chain_draws,
            num_chains=NUM_CHAINS,
            chain_method="vectorized",
            progress_bar=False,
            jit_model_args=True,
        )

    def draw(self, key: Key[Array, ""], step: int, arrays: Any) -> Reference:
        """Draws exactly if the posterior knows how to, else by NUTS, checked by dynamic HMC."""
        if self._make_target(arrays).exact_draws is not None:
            return Reference(np.asarray(self._exact(key, arrays)), "exact", {})
        nuts_key, check_key = jax.random.split(key)
        first, first_divergent = self._numpyro_chains(nuts_key, step)
        second, second_divergent = map(np.asarray, self._check(check_key, arrays))
        seen = [self._values(arrays, chains) for chains in (first, second)]
        reason, facts = gate(seen[0], seen[1], int(first_divergent), int(second_divergent))
        flat, number = first.reshape(-1, first.shape[-1]), self._sizes.num_draws
        few = flat[:: max(1, len(flat) // number)][:number]
        return Reference(few, "rejected" if reason else "gated", {**facts, "reason": reason})

    def _numpyro_chains(self, key: Array, step: int) -> tuple[np.ndarray, int]:
        data = {name: jnp.asarray(x) for name, x in self._program.data(step).items()}
        self._nuts.run(key, extra_fields=("diverging",), **data)
        draws = self._program.flat(self._nuts.get_samples(group_by_chain=True))
        return np.asarray(draws)[:, ::THINNING], int(jnp.sum(self._nuts.get_extra_fields()["diverging"]))

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
    reasons = []
    for name, chains, num_divergent in zip(
        NAMES, (first, second), (first_divergent, second_divergent), strict=True
    ):
        rhat, ess_bulk, ess_tail, _, _ = mixing(chains)
        ess = float(min(ess_bulk, ess_tail))
        facts[name] = {"rhat": float(rhat), "ess": ess, "num_divergent": num_divergent}
        if not rhat < MAX_RHAT:
            reasons.append(f"R-hat {rhat:.3f} of {name} is not below {MAX_RHAT}")
        if not ess > MIN_ESS:
            reasons.append(f"effective sample size {ess:.0f} of {name} is not above {MIN_ESS:.0f}")
        if num_divergent:
            reasons.append(f"{num_divergent} transitions of {name} diverged")
    z, bound = agreement(first, second)
    facts["largest_z"], facts["z_bound"] = z, bound
    if not z <= bound:
        reasons.append(f"{NAMES[0]} and {NAMES[1]} differ by {z:.1f} standard errors")
    return "; ".join(reasons), facts


def agreement(
    first: Float[np.ndarray, "chains draws size"],
    second: Float[np.ndarray, "other_chains other_draws size"],
) -> tuple[float, float]:
    """The largest difference of means and of mean squares, in standard errors; and its bound (Bonferroni).

    Standard errors are those of the means of blocks of draws, which hardly depend on each other: so no autocorrelation
    has to be estimated, and squares have errors of their own.
    """
    centre, scale = first.mean((0, 1)), first.std((0, 1))
    blocks = []
    for chains in (first, second):
        white = (chains - centre) / scale
        features = np.concatenate([white, white**2], axis=-1)
        parts = np.array_split(features, NUM_BLOCKS, axis=1)
        blocks.append(np.concatenate([part.mean(1) for part in parts]))
    errors = [x.var(0, ddof=1) / len(x) for x in blocks]
    z = np.abs(blocks[0].mean(0) - blocks[1].mean(0)) / np.sqrt(errors[0] + errors[1])
    freedom = min(len(x) for x in blocks) - 1
    return float(np.max(z)), float(stats.t.isf(FALSE_ALARM / (2 * z.size), freedom))


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
