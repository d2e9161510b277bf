"""The theorem's bound for a cell, to be drawn beside its regret."""

import math
from typing import NamedTuple

import numpy as np

from experiments.config.cell import Cell
from fgtsva_ppl import theory
from fgtsva_ppl.environments.linear import LinearEnvironment

DIGITS = 1e-3  # how far from the theorem's c, relatively, a c may be that stands for it in a config


class Bound(NamedTuple):
    """A bound on the expected regret after each of some rounds."""

    regret: np.ndarray  # of the proof, before c is chosen
    met: bool  # whether the cell keeps the theorem's conditions, so that the bound is one
    stated: np.ndarray | None = None  # the theorem's own, where c and alpha are as it recommends


def bound(cell: Cell, rounds: np.ndarray) -> Bound | None:
    """For FGTS-VA with the cell's own c and alpha; None for other posteriors, and without optimism.

    The theorem is about given variances; their mean stands for them, as the bound is concave in their sum.
    """
    flat = cell.flat
    if flat.get("posterior") != "fgts_va" or not flat["posterior.c"]:
        return None
    environment = cell.environment
    if not isinstance(environment, LinearEnvironment):
        return None
    c, alpha = flat["posterior.c"], flat["posterior.alpha"]
    shape = environment.shape
    members = flat.get("environment.members")
    if members is not None:
        dc = theory.finite_bound(members, shape.arms, cell.rounds, alpha**-2)
        complexity = theory.finite_complexity(members)
    else:
        dc = theory.linear_decoupling_bound(shape.dim, cell.rounds, alpha**-2, diameter=2.0)
        complexity = theory.linear_complexity(shape.dim, cell.rounds, alpha, c)
    variance = environment.noise.mean_variance * rounds
    regret = theory.bound_for_any_c(alpha**2 * rounds + variance, c, dc, complexity)
    own = math.isclose(c, theory.recommended_c(dc, complexity), rel_tol=DIGITS)
    stated = None
    if own and math.isclose(alpha, theory.recommended_alpha(cell.rounds)):
        stated = theory.Recommendation(dc, complexity, alpha, c).regret(variance, rounds)
    return Bound(regret, members is not None and _met(cell), stated)


def _met(cell: Cell) -> bool:
    """Exact draws from the class that the truth is in, and noise with the assumed log-mgf."""
    flat = cell.flat
    same = all(flat.get(f"reward.{key}") == flat[f"environment.{key}"] for key in ("members", "table_seed"))
    plain = {"posterior.variance": "revealed", "posterior.maximum": "hard", "posterior.cap": None}
    as_proven = all(flat.get(key, value) == value for key, value in plain.items())
    return bool(same and as_proven and flat["environment.subgaussian"] and flat["sampler"] == "exact")
