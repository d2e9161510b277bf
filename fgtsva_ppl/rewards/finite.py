"""A finite class of reward functions with a uniform prior: the setting of the paper's regret theorem.

A member is a row of a table: f_i(phi) = <table_i, phi>. With one-hot features that is any function of the arm. One
standard normal variable selects the member, by cells of equal probability. So every sampler moves a flat unconstrained
position as with any other reward, and exact draws come from a softmax over the members.
"""

from dataclasses import dataclass
from typing import Any, override

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Float, Int

from fgtsva_ppl.rewards.base import LinearFunction, Program, Reward
from samplers.errors import InputError
from samplers.settings import choice, settings, static_int

EDGE = 1e-9  # keeps positions away from the border of their cell, so that rounding does not carry them over


def table(members: int, dim: int, seed: int) -> Float[np.ndarray, "members dim"]:
    """Mean rewards drawn uniformly from [0, 1], always the same for the same arguments."""
    return np.random.default_rng((seed, members, dim)).uniform(size=(members, dim))


def pessimistic_table(members: int, dim: int) -> Float[np.ndarray, "members dim"]:
    """A class in which the truth, member 0, is the only one that prefers arm 1 to arm 0.

    Arm 0 pays 1/2 under all members, so that playing it tells nothing. Arm 1 pays 1 under member 0, and between 0 and
    0.4 under the others; all other arms pay 0. Thompson sampling plays arm 1 with probability 1/|F| a round at first.
    """
    functions = np.zeros((members, dim))
    functions[:, 0] = 0.5
    functions[:, 1] = np.concatenate([[1.0], np.linspace(0, 0.4, members - 1)])
    return functions


def class_table(functions: str, members: int, dim: int, seed: int) -> Float[np.ndarray, "members dim"]:
    """The table of a class: drawn from a seed, or the pessimistic one."""
    if functions == "random":
        return table(members, dim, seed)
    if dim < 2:
        raise InputError("functions=pessimistic needs at least two arms")
    return pessimistic_table(members, dim)


def functions_field() -> Any:
    """A setting for the class."""
    return choice(
        default="random",
        options=("random", "pessimistic"),
        doc="the class: drawn from table_seed, or all members but the truth prefer an arm that tells nothing",
    )


@dataclass(frozen=True, eq=False)
class FiniteProgram:
    """The NumPyro program, which knows all functions of its class."""

    table: Float[np.ndarray, "members dim"]

    def __call__(self) -> LinearFunction:
        """Samples a member."""
        position = numpyro.sample("member", dist.Normal(0.0, 1.0))
        return LinearFunction(jnp.asarray(self.table)[self.index(position)])

    def index(self, position: Float[Array, "*batch"]) -> Int[Array, "*batch"]:
        """The member whose cell contains a position."""
        members = len(self.table)
        return jnp.clip(jnp.floor(members * ndtr(position)).astype(int), 0, members - 1)

    def positions(self, quantile: Float[Array, ""]) -> Float[Array, "members 1"]:
        """A position for every member, at the given quantile of the prior within its cell."""
        inside = EDGE + (1 - 2 * EDGE) * quantile
        return ndtri((jnp.arange(len(self.table)) + inside) / len(self.table))[:, None]


@settings
class Finite(Reward):
    """A finite class of functions, drawn from a seed; the truth of environment `finite` is one of them."""

    members: int = static_int(default=8, ge=2, doc="number of functions |F|")
    table_seed: int = static_int(
        default=0, doc="seed of the table of mean rewards; must equal the environment's"
    )
    functions: str = functions_field()

    @override
    def program(self, dim: int) -> Program:
        return FiniteProgram(class_table(self.functions, self.members, dim, self.table_seed))
