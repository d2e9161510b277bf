"""A reward program as a function of one flat unconstrained vector, which is what samplers move."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Key, Shaped
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import potential_energy

from fgtsva_ppl.rewards.base import Program, RewardFunction


class GaussianPrior(NamedTuple):
    """A prior that is Gaussian in the flat vector of parameters."""

    mean: Float[np.ndarray, " size"]
    precision: Float[np.ndarray, "size size"]


@jax.tree_util.register_static  # compared by identity, as `flat_model` makes each only once
@dataclass(frozen=True, eq=False)
class FlatModel:
    """A reward program whose parameters are one flat unconstrained vector.

    Attributes:
        program: The NumPyro program.
        size: Length of the flat vector.
        linear: Whether the program returns a LinearFunction, or a NoisyFunction with a linear mean and a constant
            variance: then sufficient statistics of the data are enough.
        noisy: Whether the program returns a NoisyFunction.
        observed: Whether the program returns an ObservedFunction, with an observation model of its own.
        prior: The prior's moments if it is Gaussian in the flat vector, else None.
        gaussian: The same if moreover the flat vector is the coefficients of a linear function, else None.
        logit: The prior's moments if it is Gaussian and the flat vector is the coefficients of a linear logit.
        prior_precision: Exact if the prior is Gaussian, else a diagonal estimate.
        unravel: Flat vector -> unconstrained sites by name.
        features: Number of features that the program takes.
        embed: Features of a round's arms as the program takes them, (arms, dim) -> (arms, features).
        learner: The reward, if its features are learned, else None; see rewards.base.Embedded.
    """

    program: Program
    size: int
    linear: bool
    noisy: bool
    prior: GaussianPrior | None
    gaussian: GaussianPrior | None
    prior_precision: Float[np.ndarray, "size size"]
    unravel: Callable[[Array], Any]
    features: int
    embed: Callable[[Array], Array]
    learner: Any = None
    observed: bool = False
    logit: GaussianPrior | None = None

    def draw(self, key: Key[Array, ""]) -> Float[Array, " size"]:
        """A draw from the prior, unconstrained and flat."""
        _, sites = run_program(handlers.seed(self.program, key))
        return ravel_pytree(unconstrained(sites))[0]

    def constrain(self, position: Float[Array, " size"]) -> dict[str, Shaped[Array, "..."]]:
        """The sampled and deterministic sites at a position, by name and on their own supports."""
        with handlers.trace() as trace:
            self._at(position)()
        sites = {name: site for name, site in trace.items() if _is_latent(site) or _is_deterministic(site)}
        return {name: jnp.asarray(site["value"]) for name, site in sites.items()}

    def function(self, position: Float[Array, " size"]) -> RewardFunction:
        """The reward function at a position."""
        return self._at(position)()

    def _at(self, position: Array) -> Program:
        """The program at a position. Sites are mapped one by one, because a support may depend on earlier sites."""
        free = self.unravel(position)

        def substitute(site: dict[str, Any]) -> Array | None:
            latent = site["type"] == "sample" and site["name"] in free
            return biject_to(site["fn"].support)(free[site["name"]]) if latent else None

        seeded = handlers.seed(self.program, jax.random.key(0))
        program: Program = handlers.substitute(seeded, substitute_fn=substitute)
        return program

    def logdensity(self, program: Callable[[], Any]) -> Callable[[Array], Array]:
        """The unconstrained log-density of a program over the same parameters, including the Jacobian."""
        return lambda position: -potential_energy(program, (), {}, self.unravel(position))


def run_program(program: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """What a program returns, and its latent sites by name."""
    with handlers.trace() as trace:
        value = program()
    return value, {name: site for name, site in trace.items() if _is_latent(site)}


def unconstrained(sites: Mapping[str, Any]) -> dict[str, Float[Array, "..."]]:
    """The values of sites, mapped to the whole space."""
    return {name: biject_to(site["fn"].support).inv(site["value"]) for name, site in sites.items()}


def _is_latent(site: Mapping[str, Any]) -> bool:
    return site["type"] == "sample" and not site["is_observed"]


def _is_deterministic(site: Mapping[str, Any]) -> bool:
    return site["type"] == "deterministic"
