"""The theorem's regret bound for a cell, to be drawn beside its regret."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from experiments.config.cell import Cell
from fgtsva_ppl import theory
from fgtsva_ppl.environments.linear import LinearEnvironment

TOLERANCE = 1e-3  # relative distance up to which a rounded c in a config counts as the theorem's own


class Bound(NamedTuple):
    """A bound on the expected regret after each of some rounds."""

    regret: Float[np.ndarray, " rounds"]  # of the proof, before c is chosen
    conditions_hold: bool  # whether the cell meets the theorem's conditions, so that the bound applies
    stated: Float[np.ndarray, " rounds"] | None = (
        None  # the theorem's own, where c and alpha are as it recommends
    )


def bound(cell: Cell, rounds: Int[np.ndarray, " rounds"]) -> Bound | None:
    """The bound of FGTS-VA at a cell's own c and alpha.

    The theorem of Section 5 (Main Results) and its general version in the appendix, with the constants of the proof.
    The theorem is about given variances; here their mean is used, as the bound is concave in their sum.

    Args:
        cell: the cell.
        rounds: numbers of rounds after which the bound is evaluated.

    Returns:
        The bound; None for other posteriors, without the feel-good term, and for rewards that are not linear.
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
        dc = theory.finite_eluder_bound(members, shape.arms, cell.rounds, alpha**-2)
        complexity = theory.finite_complexity(members)
    else:
        dc = theory.linear_decoupling_bound(shape.dim, cell.rounds, alpha**-2, diameter=2.0)
        complexity = theory.linear_complexity(shape.dim, cell.rounds, alpha, c)
    variance = environment.noise.mean_variance * rounds
    regret = theory.regret_bound(alpha**2 * rounds + variance, c, dc, complexity)
    own_c = math.isclose(c, theory.recommended_c(dc, complexity), rel_tol=TOLERANCE)
    stated = None
    if own_c and math.isclose(alpha, theory.recommended_alpha(cell.rounds)):
        stated = theory.Recommendation(dc, complexity, alpha, c).regret_bound(variance, rounds)
    return Bound(regret, members is not None and _conditions_hold(cell), stated)


def _conditions_hold(cell: Cell) -> bool:
    """Exact draws from the class that contains the true function, and noise with the assumed log-mgf."""
    flat = cell.flat
    same = all(flat.get(f"reward.{key}") == flat[f"environment.{key}"] for key in ("members", "table_seed"))
    plain = {"posterior.variance": "revealed", "posterior.maximum": "hard", "posterior.cap": None}
    plain |= {"posterior.discount": None, "posterior.random_walk": None}
    as_proven = all(flat.get(key, value) == value for key, value in plain.items())
    as_proven = as_proven and not flat.get("posterior.window") and not {"drift", "feedback"} & {*flat}
    return bool(same and as_proven and flat["environment.subgaussian"] and flat["sampler"] == "exact")
