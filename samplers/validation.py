"""The proof of the samplers: each one, as it is used, against exact draws on a table of targets.

`python -m samplers.validation` writes the outcome into VALIDATION.md. Chains are independent, so the error of an
average over chains comes from their spread, whatever the correlation within a chain: means, covariances and action
frequencies together raise a false alarm in a cell with probability ALARM at most (Student's t, Bonferroni).
"""

import math
import sys
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from blackjax.diagnostics import rhat as rank_normalised_rhat
from jax import Array
from scipy import stats

from samplers import SAMPLERS, Gaussian, Sampler, Target, sampler_info
from samplers.reference.tilted_gaussian import draw, draws, tilted

ALARM = 1e-4
CHAINS = 64
DRAWS, FEW_DRAWS = 150, 40  # of a chain; few where draws are costly and hardly correlated
BURN = 0.25  # share of a chain that is left out
MIXED = 1.05  # R-hat up to which chains are taken to have found the same law
REFERENCE = 20_000
FREQUENT = 0.01  # arms that are best more rarely are left out: their frequencies are far from normal


class Case(NamedTuple):
    """A Gaussian tilted by lam max_a <a, x>, which stands for every target here."""

    gaussian: Gaussian
    actions: Array
    lam: Array


def as_target(case: Case) -> Target:
    """The case as samplers see it, with exact draws."""
    (precision, shift), actions, lam = case

    def logdensity(x: Array) -> Array:
        return x @ (shift - precision @ x / 2) + lam * jnp.max(actions @ x)

    law = tilted(case.gaussian, actions, lam)
    return Target(
        logdensity,
        lambda _: precision,
        case.gaussian,
        exact=lambda key: draw(key, law),
        exact_draws=lambda key, number: draws(key, law, number),
    )


@cache
def cases() -> dict[str, Case]:
    """The targets, by name."""
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

    def regression(features: np.ndarray, weights: np.ndarray, rewards: np.ndarray) -> Any:
        dim = features.shape[-1]
        precision = dim * np.eye(dim) + 2 * (features * weights[:, None]).T @ features
        return precision, np.linalg.solve(precision, 2 * (weights * rewards) @ features)

    made = {
        "isotropic": case(5 * np.eye(5), 0.2 * unit(5), cube, 0.0),
    }
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    made["condition 1e6"] = case(turn @ np.diag(np.logspace(0, 6, 5)) @ turn.T, 0.2 * unit(5), cube, 0.0)
    # Every axis has two modes, 10 standard deviations apart: 32 modes with exp(-12.5) of their height between them.
    made["separated modes"] = case(5 * np.eye(5), 0.05 * unit(5), cube, 25.0)
    wide = unit(50, 20)
    seen = wide[rng.integers(50, size=30)]
    precision, mean = regression(seen, np.ones(30), seen @ unit(20) + rng.normal(size=30))
    made["small lambda, d=20, 50 arms"] = case(precision, mean, wide, 1.0)
    # A noiseless round of 1000: eta = 1000, lambda = c sqrt(Lambda) / alpha^2 with c = 0.003.
    precision, mean = regression(cube[:1], np.array([1000.0]), np.array([0.3]))
    made["prior, one round old"] = case(precision, mean, cube, 0.003 * math.sqrt(0.002) * 1000)
    # 2000 rounds with sparse noise, as good arms are found: eta = 2000 on nine rounds of ten.
    truth, rounds = unit(5), np.arange(1, 2001)
    guesses = truth + rng.normal(size=(2000, 5)) / np.sqrt(rounds)[:, None]
    played = cube[np.argmax(guesses @ cube.T, axis=1)]
    noisy = rng.random(2000) < 0.1
    eta = np.where(noisy, 1.0, 2000.0)
    precision, mean = regression(played, eta, played @ truth + noisy * rng.normal(size=2000))
    made["2000 sparse rounds"] = case(precision, mean, cube, 0.003 * math.sqrt(np.sum(1 / eta)) * 2000)
    return made


class Outcome(NamedTuple):
    """How a sampler did on a target."""

    rhat: float  # the largest over coordinates, rank-normalised and split
    surprise: float  # the largest |t| over all moments and frequencies, over its bound: above 1 is an alarm
    mean: float  # largest error of a mean, in standard deviations
    variances: tuple[float, float]  # extreme ratios of variance to the exact one, over all directions
    actions: float  # total variation between action distributions; its floor is about sqrt(arms / draws)
    acceptance_rate: float
    num_gradients: float  # a draw
    num_divergent: int

    @property
    def mixes(self) -> bool:
        """Whether chains agree with each other."""
        return self.rhat <= MIXED

    @property
    def agrees(self) -> bool:
        """Whether chains agree with each other and with the exact draws."""
        return self.mixes and self.surprise <= 1


@partial(jax.jit, static_argnames=("draws", "chains"))
def chains_of(sampler: Sampler, case: Case, key: Array, draws: int, chains: int) -> Any:
    """Positions (chains, draws, dim) and what they cost, from wide starts, by way of another target."""
    target = as_target(case)
    before = as_target(case._replace(lam=jnp.zeros_like(case.lam)))
    precision, shift = case.gaussian
    root = jnp.linalg.cholesky(precision).T
    mean = jnp.linalg.solve(precision, shift)

    def start(key: Array) -> Array:
        noise = jax.random.normal(key, shift.shape)
        return mean + 2 * jax.scipy.linalg.solve_triangular(root, noise, lower=False)

    def chain(key: Array) -> Any:
        first, second, rest = jax.random.split(key, 3)
        state, _ = sampler.sample(second, before, sampler.init(first, start))
        keys = jax.random.split(rest, draws)
        return jax.lax.scan(lambda carry, k: sampler.sample(k, target, carry), state, keys)[1]

    keys = jax.random.split(key, chains)
    return jax.lax.map(chain, keys) if sampler.sequential else jax.vmap(chain)(keys)


@jax.jit
def _references(case: Case, key: Array) -> Array:
    exact_draws = as_target(case).exact_draws
    assert exact_draws is not None
    return exact_draws(key, REFERENCE)


@cache
def reference(name: str) -> np.ndarray:
    """Exact draws from a case."""
    return np.asarray(_references(_arrays(cases()[name]), jax.random.key(7)))


def _arrays(case: Case) -> Case:
    return jax.tree.map(lambda x: jnp.asarray(x, float), case)


def examine(name: str, case: str, *, seed: int = 0, sampler: Sampler | None = None) -> Outcome:
    """A sampler, with its default settings unless one is given, on a target."""
    sampler = SAMPLERS.build(name) if sampler is None else sampler
    draws = FEW_DRAWS if sampler_info(type(sampler)).family in ("approximation", "population") else DRAWS
    run = chains_of(sampler, _arrays(cases()[case]), jax.random.key(seed), draws, CHAINS)
    kept = int(BURN * draws)
    positions = np.asarray(run.position)[:, kept:]
    return compare(positions, case)._replace(
        acceptance_rate=float(jnp.mean(run.acceptance_rate)),
        num_gradients=float(jnp.mean(run.num_gradients)),
        num_divergent=int(jnp.sum(run.num_divergent)),
    )


def compare(positions: np.ndarray, case: str) -> Outcome:
    """Chains of positions (chains, draws, dim) against exact draws."""
    exact, actions = reference(case), np.asarray(cases()[case].actions)
    if not np.all(np.isfinite(positions)):
        return Outcome(math.inf, math.inf, math.inf, (0.0, math.inf), 1.0, math.nan, math.nan, 0)
    centre, factor = exact.mean(0), np.linalg.cholesky(np.cov(exact.T))
    ours, theirs = (np.linalg.solve(factor, (x - centre)[..., None])[..., 0] for x in (positions, exact))
    frequent = np.bincount(np.argmax(exact @ actions.T, 1), minlength=len(actions)) > FREQUENT * len(exact)
    by_chain = np.stack(
        [_features(x, y, actions, frequent).mean(0) for x, y in zip(ours, positions, strict=True)]
    )
    by_draw = _features(theirs, exact, actions, frequent)
    error = np.sqrt(by_chain.var(0, ddof=1) / len(by_chain) + by_draw.var(0, ddof=1) / len(by_draw))
    gap = np.abs(by_chain.mean(0) - by_draw.mean(0))
    bound = stats.t.isf(ALARM / (2 * gap.size), len(by_chain) - 1)
    flat = ours.reshape(-1, ours.shape[-1])
    shares = [
        np.bincount(np.argmax(x @ actions.T, -1).ravel(), minlength=len(actions)) for x in (positions, exact)
    ]
    spread = np.linalg.eigvalsh(np.cov(flat.T))
    return Outcome(
        rhat=float(np.nan_to_num(np.max(rank_normalised_rhat(jnp.asarray(ours))), nan=math.inf)),
        surprise=float(np.max(gap / np.maximum(error, 1e-12)) / bound),
        mean=float(np.max(np.abs(flat.mean(0)))),
        variances=(float(spread[0]), float(spread[-1])),
        actions=float(np.abs(shares[0] / shares[0].sum() - shares[1] / shares[1].sum()).sum() / 2),
        acceptance_rate=math.nan,
        num_gradients=math.nan,
        num_divergent=0,
    )


def _features(
    whitened: np.ndarray, positions: np.ndarray, actions: np.ndarray, frequent: np.ndarray
) -> np.ndarray:
    """Of each draw: coordinates, their products, and which of the frequent arms is best."""
    rows, columns = np.triu_indices(whitened.shape[-1])
    best = np.argmax(positions @ actions.T, -1)[:, None] == np.flatnonzero(frequent)
    return np.concatenate([whitened, whitened[:, rows] * whitened[:, columns], best], axis=1)


def cell(outcome: Outcome, *, exact: bool) -> str:
    """An outcome in a few characters."""
    if not outcome.mixes:
        return f"stuck, R-hat {outcome.rhat:.1f}" if outcome.rhat < 1e3 else "stuck"
    low, high = outcome.variances
    if exact:
        return "agrees" if outcome.agrees else f"DIFFERS, t/bound {outcome.surprise:.1f}"
    bias = f"mean {outcome.mean:.2f}, var {low:.2f}-{high:.2f}, TV {outcome.actions:.2f}"
    return bias if outcome.surprise > 1 else f"({bias})"


def rows(names: Iterable[str]) -> dict[str, str]:
    """A row of the table for every sampler, by name; reports as it goes."""
    done = {}
    for name in names:
        outcomes = [examine(name, case) for case in cases()]
        exact = "exact" in sampler_info(SAMPLERS[name]).exactness
        cells = [cell(outcome, exact=exact) for outcome in outcomes]
        gradients = np.mean([outcome.num_gradients for outcome in outcomes])
        done[name] = f"| {name} | " + " | ".join(cells) + f" | {gradients:.0f} |"
        print(done[name], file=sys.stderr, flush=True)
    return done


BEGIN, END = "<!-- proof: begin -->", "<!-- proof: end -->"


def write(readme: Path, fresh: dict[str, str]) -> None:
    """Puts rows into the table between the marks, and keeps the others that are there."""
    head, rest = readme.read_text().split(BEGIN)
    old, tail = rest.split(END)
    known = {line.split("|")[1].strip(): line for line in old.splitlines() if line.startswith("|")} | fresh
    columns = ["sampler", *cases(), "gradients a draw"]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    lines += [known[name] for name in SAMPLERS.names() if name in known]
    readme.write_text("\n".join([head + BEGIN, *lines, END + tail]))


def proven() -> list[str]:
    """The samplers that claim something; a control claims to be wrong."""
    return [name for name, cls in SAMPLERS if sampler_info(cls).family != "control"]


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    write(Path(__file__).with_name("VALIDATION.md"), rows(sys.argv[1:] or proven()))
