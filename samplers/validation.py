"""Validation of the samplers: each one, as it is used, against exact draws on several targets.

`python -m samplers.validation` writes the outcome into VALIDATION.md. Chains are independent, so the error of an
average over chains follows from their spread, for any correlation within a chain: means, covariances and action
frequencies together raise a false alarm in a cell with probability FALSE_ALARM at most (Student's t, Bonferroni).
"""

import math
import sys
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from blackjax.diagnostics import rhat as rank_normalised_rhat
from jax import Array
from jaxtyping import Bool, Float, Key
from scipy import stats

from samplers import SAMPLERS, Draw, Gaussian, Sampler, SamplerState, Target
from samplers.reference.tilted_gaussian import exact_draw, exact_draws, tilt

FALSE_ALARM = 1e-4
NUM_CHAINS = 64
NUM_DRAWS, FEW_DRAWS = 150, 40  # of a chain; few where draws are costly and hardly correlated
BURN_IN = 0.25  # share of a chain that is discarded
MAX_RHAT = 1.05
NUM_REFERENCE_DRAWS = 20_000
MIN_FREQUENCY = 0.01  # arms that are best more rarely are left out: their frequencies are far from normal


class Case(NamedTuple):
    """A Gaussian tilted by lam max_a <a, x>."""

    gaussian: Gaussian
    actions: Float[Array, "arms dim"]
    lam: Float[Array, ""]


def as_target(case: Case) -> Target:
    """Returns the case as a target with exact draws."""
    (precision, shift), actions, lam = case

    def logdensity(x: Array) -> Array:
        return x @ (shift - precision @ x / 2) + lam * jnp.max(actions @ x)

    tilted = tilt(case.gaussian, actions, lam)
    return Target(
        logdensity,
        lambda _: precision,
        case.gaussian,
        exact=lambda key: exact_draw(key, tilted),
        exact_draws=lambda key, num_draws: exact_draws(key, tilted, num_draws),
    )


@cache
def cases() -> dict[str, Case]:
    """Returns the targets, by name."""
    rng = np.random.default_rng(0)
    signs = 1 - 2 * ((np.arange(32)[:, None] >> np.arange(5)) & 1)
    cube = signs / math.sqrt(5)

    def unit(*shape: int) -> np.ndarray:
        raw = rng.normal(size=shape)
        scaled: np.ndarray = raw / np.linalg.norm(raw, axis=-1, keepdims=True)
        return scaled

    def case(precision: np.ndarray, mean: np.ndarray, actions: np.ndarray, lam: float) -> Case:
        gaussian = Gaussian(jnp.asarray(precision), jnp.asarray(precision @ mean))
        return Case(gaussian, jnp.asarray(actions), jnp.asarray(lam))

    def regression(
        features: np.ndarray, weights: np.ndarray, rewards: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        dim = features.shape[-1]
        precision = dim * np.eye(dim) + 2 * (features * weights[:, None]).T @ features
        return precision, np.linalg.solve(precision, 2 * (weights * rewards) @ features)

    targets = {"isotropic": case(5 * np.eye(5), 0.2 * unit(5), cube, 0.0)}
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    targets["condition 1e6"] = case(
        rotation @ np.diag(np.logspace(0, 6, 5)) @ rotation.T, 0.2 * unit(5), cube, 0.0
    )
    # Every axis has two modes at a distance of 10 sd: 32 modes with exp(-12.5) of their height between them.
    targets["separated modes"] = case(5 * np.eye(5), 0.05 * unit(5), cube, 25.0)
    wide = unit(50, 20)
    seen = wide[rng.integers(50, size=30)]
    precision, mean = regression(seen, np.ones(30), seen @ unit(20) + rng.normal(size=30))
    targets["small lambda, d=20, 50 arms"] = case(precision, mean, wide, 1.0)
    # A noiseless round of 1000: eta = 1000, lambda = c sqrt(Lambda) / alpha^2 with c = 0.003.
    precision, mean = regression(cube[:1], np.array([1000.0]), np.array([0.3]))
    targets["prior, one round old"] = case(precision, mean, cube, 0.003 * math.sqrt(0.002) * 1000)
    # 2000 rounds with sparse noise, as the agent finds good arms: eta = 2000 on nine rounds of ten.
    truth, rounds = unit(5), np.arange(1, 2001)
    guesses = truth + rng.normal(size=(2000, 5)) / np.sqrt(rounds)[:, None]
    played = cube[np.argmax(guesses @ cube.T, axis=1)]
    noisy = rng.random(2000) < 0.1
    eta = np.where(noisy, 1.0, 2000.0)
    precision, mean = regression(played, eta, played @ truth + noisy * rng.normal(size=2000))
    targets["2000 sparse rounds"] = case(precision, mean, cube, 0.003 * math.sqrt(np.sum(1 / eta)) * 2000)
    return targets


class Outcome(NamedTuple):
    """How a sampler did on a target.

    Attributes:
        rhat: Largest rank-normalised split R-hat over coordinates.
        max_t_over_bound: Largest |t| over all moments and frequencies, over its bound: above 1 is an alarm.
        mean_error: Largest error of a mean, in standard deviations.
        variance_ratios: Smallest and largest ratio of the variance to the exact one over all directions.
        total_variation: Between action distributions; its floor is about sqrt(arms / draws).
        acceptance_rate: Mean over all draws.
        num_gradients: Mean per draw.
        num_divergent: Sum over all draws.
    """

    rhat: float
    max_t_over_bound: float
    mean_error: float
    variance_ratios: tuple[float, float]
    total_variation: float
    acceptance_rate: float
    num_gradients: float
    num_divergent: int

    @property
    def mixes(self) -> bool:
        """Whether the chains agree with each other."""
        return self.rhat <= MAX_RHAT

    @property
    def agrees(self) -> bool:
        """Whether the chains agree with each other and with the exact draws."""
        return self.mixes and self.max_t_over_bound <= 1


@partial(jax.jit, static_argnames=("num_draws", "num_chains"))
def run_chains(sampler: Sampler, case: Case, key: Key[Array, ""], num_draws: int, num_chains: int) -> Draw:
    """Returns draws (chains, draws) from overdispersed starts, after one draw from another target."""
    target = as_target(case)
    before = as_target(case._replace(lam=jnp.zeros_like(case.lam)))
    precision, shift = case.gaussian
    root = jnp.linalg.cholesky(precision).T
    mean = jnp.linalg.solve(precision, shift)

    def start(key: Array) -> Array:
        noise = jax.random.normal(key, shift.shape)
        return mean + 2 * jax.scipy.linalg.solve_triangular(root, noise, lower=False)

    def draw(state: SamplerState, key: Array) -> tuple[SamplerState, Draw]:
        return sampler.sample(key, target, state)

    def chain(key: Array) -> Draw:
        init_key, before_key, draws_key = jax.random.split(key, 3)
        state, _ = sampler.sample(before_key, before, sampler.init(init_key, start))
        return jax.lax.scan(draw, state, jax.random.split(draws_key, num_draws))[1]

    keys = jax.random.split(key, num_chains)
    return jax.lax.map(chain, keys) if sampler.sequential else jax.vmap(chain)(keys)


@jax.jit
def _reference_draws(case: Case, key: Array) -> Array:
    draws = as_target(case).exact_draws
    assert draws is not None
    return draws(key, NUM_REFERENCE_DRAWS)


@cache
def reference_draws(name: str) -> Float[np.ndarray, "draws dim"]:
    """Returns exact draws from a case."""
    return np.asarray(_reference_draws(_arrays(cases()[name]), jax.random.key(7)))


def _arrays(case: Case) -> Case:
    return jax.tree.map(lambda x: jnp.asarray(x, float), case)


def validate_sampler(name: str, case: str, *, seed: int = 0, sampler: Sampler | None = None) -> Outcome:
    """Runs a sampler on a target and compares it with exact draws.

    Args:
        name: The sampler's registered name.
        case: The target's name.
        seed: Of the chains.
        sampler: The sampler with its settings; None for the defaults.
    """
    sampler = SAMPLERS.build(name) if sampler is None else sampler
    is_costly = sampler.info.family in ("approximation", "population")
    num_draws = FEW_DRAWS if is_costly else NUM_DRAWS
    draws = run_chains(sampler, _arrays(cases()[case]), jax.random.key(seed), num_draws, NUM_CHAINS)
    positions = np.asarray(draws.position)[:, int(BURN_IN * num_draws) :]
    return compare_with_exact(positions, case)._replace(
        acceptance_rate=float(jnp.mean(draws.acceptance_rate)),
        num_gradients=float(jnp.mean(draws.num_gradients)),
        num_divergent=int(jnp.sum(draws.num_divergent)),
    )


def compare_with_exact(positions: Float[np.ndarray, "chains draws dim"], case: str) -> Outcome:
    """Compares chains with exact draws from a case."""
    exact, actions = reference_draws(case), np.asarray(cases()[case].actions)
    if not np.all(np.isfinite(positions)):
        return Outcome(math.inf, math.inf, math.inf, (0.0, math.inf), 1.0, math.nan, math.nan, 0)
    centre, factor = exact.mean(0), np.linalg.cholesky(np.cov(exact.T))
    ours, theirs = (np.linalg.solve(factor, (x - centre)[..., None])[..., 0] for x in (positions, exact))
    frequency = np.bincount(np.argmax(exact @ actions.T, 1), minlength=len(actions)) / len(exact)
    frequent = frequency > MIN_FREQUENCY
    by_chain = np.stack(
        [_features(x, y, actions, frequent).mean(0) for x, y in zip(ours, positions, strict=True)]
    )
    by_draw = _features(theirs, exact, actions, frequent)
    error = np.sqrt(by_chain.var(0, ddof=1) / len(by_chain) + by_draw.var(0, ddof=1) / len(by_draw))
    gap = np.abs(by_chain.mean(0) - by_draw.mean(0))
    bound = stats.t.isf(FALSE_ALARM / (2 * gap.size), len(by_chain) - 1)
    pooled = ours.reshape(-1, ours.shape[-1])
    counts = [
        np.bincount(np.argmax(x @ actions.T, -1).ravel(), minlength=len(actions)) for x in (positions, exact)
    ]
    variances = np.linalg.eigvalsh(np.cov(pooled.T))
    return Outcome(
        rhat=float(np.nan_to_num(np.max(rank_normalised_rhat(jnp.asarray(ours))), nan=math.inf)),
        max_t_over_bound=float(np.max(gap / np.maximum(error, 1e-12)) / bound),
        mean_error=float(np.max(np.abs(pooled.mean(0)))),
        variance_ratios=(float(variances[0]), float(variances[-1])),
        total_variation=float(np.abs(counts[0] / counts[0].sum() - counts[1] / counts[1].sum()).sum() / 2),
        acceptance_rate=math.nan,
        num_gradients=math.nan,
        num_divergent=0,
    )


def _features(
    whitened: Float[np.ndarray, "draws dim"],
    positions: Float[np.ndarray, "draws dim"],
    actions: Float[np.ndarray, "arms dim"],
    frequent: Bool[np.ndarray, " arms"],
) -> Float[np.ndarray, "draws features"]:
    """For each draw its coordinates, their products, and which of the frequent arms is best."""
    rows, columns = np.triu_indices(whitened.shape[-1])
    best = np.argmax(positions @ actions.T, -1)[:, None] == np.flatnonzero(frequent)
    return np.concatenate([whitened, whitened[:, rows] * whitened[:, columns], best], axis=1)


def format_outcome(outcome: Outcome, *, exact: bool) -> str:
    """Returns an outcome as a cell of the table; `exact` if the sampler is (asymptotically) exact."""
    if not outcome.mixes:
        return f"stuck, R-hat {outcome.rhat:.1f}" if outcome.rhat < 1e3 else "stuck"
    low, high = outcome.variance_ratios
    if exact:
        return "agrees" if outcome.agrees else f"DIFFERS, t/bound {outcome.max_t_over_bound:.1f}"
    bias = f"mean {outcome.mean_error:.2f}, var {low:.2f}-{high:.2f}, TV {outcome.total_variation:.2f}"
    return bias if outcome.max_t_over_bound > 1 else f"({bias})"


def table_rows(names: Iterable[str]) -> dict[str, str]:
    """Returns a row of the table for every sampler, and prints each as soon as it is known."""
    rows = {}
    for name in names:
        outcomes = [validate_sampler(name, case) for case in cases()]
        exact = "exact" in SAMPLERS[name].info.exactness
        columns = [format_outcome(outcome, exact=exact) for outcome in outcomes]
        gradients = np.mean([outcome.num_gradients for outcome in outcomes])
        rows[name] = f"| {name} | " + " | ".join(columns) + f" | {gradients:.0f} |"
        print(rows[name], file=sys.stderr, flush=True)
    return rows


BEGIN, END = "<!-- validation: begin -->", "<!-- validation: end -->"


def update_table(page: Path, rows: dict[str, str]) -> None:
    """Replaces rows of the table between the marks, and keeps the others."""
    head, rest = page.read_text().split(BEGIN)
    table, tail = rest.split(END)
    all_rows = {
        line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("|")
    } | rows
    columns = ["sampler", *cases(), "gradients per draw"]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    lines += [all_rows[name] for name in SAMPLERS.names() if name in all_rows]
    page.write_text("\n".join([head + BEGIN, *lines, END + tail]))


def validated_samplers() -> list[str]:
    """Returns the names of all samplers but the negative control."""
    return [name for name, cls in SAMPLERS if cls.info.family != "control"]


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    update_table(Path(__file__).with_name("VALIDATION.md"), table_rows(sys.argv[1:] or validated_samplers()))
