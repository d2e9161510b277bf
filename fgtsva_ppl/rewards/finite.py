"""A finite class of reward functions with the uniform prior: the setting of the paper's theorem.

A member is a row of a table: f_i(phi) = <table_i, phi>. With one-hot features that is any function of the arm. Which
member it is hangs on one normal variable, cut into cells of equal probability. So every sampler sees the same flat
unconstrained position as with any other reward, and exact draws are a softmax over the members.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.scipy.special import ndtr, ndtri

from fgtsva_ppl.rewards.program import LinearFunction, Program
from samplers.settings import settings, static_int

EDGE = 1e-9  # how near a position may come to the border of its cell, lest rounding carry it over


def table(members: int, dim: int, seed: int) -> np.ndarray:
    """Mean rewards drawn uniformly from [0, 1], the same whenever and wherever they are asked for."""
    return np.random.default_rng((seed, members, dim)).uniform(size=(members, dim))


@dataclass(frozen=True, eq=False)
class FiniteProgram:
    """The NumPyro program, which knows all its functions."""

    table: np.ndarray  # (members, dim)

    def __call__(self) -> LinearFunction:
        """Samples a member."""
        where = numpyro.sample("member", dist.Normal(0.0, 1.0))
        return LinearFunction(jnp.asarray(self.table)[self.index(where)])

    def index(self, where: Array) -> Array:
        """The member in whose cell a position lies."""
        count = len(self.table)
        return jnp.clip(jnp.floor(count * ndtr(where)).astype(int), 0, count - 1)

    def positions(self, share: Array) -> Array:
        """A position of every member, at the given share of the probability of its cell: (members, 1)."""
        inside = EDGE + (1 - 2 * EDGE) * share
        return ndtri((jnp.arange(len(self.table)) + inside) / len(self.table))[:, None]


@settings
class Finite:
    """Functions of the arm, drawn once and for all from a seed; environment `finite` has one of them as its truth."""

    members: int = static_int(default=8, ge=2, doc="number of functions |F|")
    table_seed: int = static_int(
        default=0, doc="which table of mean rewards; the environment's must be the same"
    )

    def program(self, dim: int) -> Program:
        """A uniform prior over the members."""
        return FiniteProgram(table(self.members, dim, self.table_seed))
