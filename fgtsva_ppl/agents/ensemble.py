"""Ensemble sampling (Lu & Van Roy 2017): members that each fit their own perturbed data, one of which decides."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.agents.base import decide, need_linear
from fgtsva_ppl.posteriors.base import REVEALED, Posterior
from fgtsva_ppl.posteriors.feel_good import FGTSVA
from fgtsva_ppl.rewards import AnyReward, Linear, flat_model
from fgtsva_ppl.types import ActionInfo, Round, Shape
from samplers.errors import InputError
from samplers.settings import nested, settings, static, static_int


class Members(NamedTuple):
    """What the ensemble takes from round to round; the mean of member m is precision^-1 shifts_m."""

    precision: Array  # common to all: the precision of the posterior
    shifts: Array  # (members, dim)
    noise: Array  # (members,): perturbations of the coming reward, in its standard deviations
    variance: Array  # Lambda_{t-1}
    rounds: Array  # t - 1


@settings
class Ensemble:
    """Plays for a member drawn at random.

    A member starts at a draw from the prior and sees every reward with noise of its own, of variance 1/(2 eta): given
    the data, the mean of a member has exactly the law of the posterior's Gaussian part. The feel-good term moves it
    to the mode max_a <a, theta> lam - ||theta - mean||^2_P / 2, which has a closed form: lam S a for the best such a.
    """

    sequential: ClassVar[bool] = False

    reward: AnyReward = static(default=Linear())
    posterior: Posterior = nested(default=FGTSVA())
    members: int = static_int(default=30, ge=1, doc="members of the ensemble")

    def for_horizon(self, rounds: int) -> "Ensemble":
        """The same agent with everything that is derived from the horizon filled in."""
        return Ensemble(self.reward, self.posterior.for_horizon(rounds), self.members)

    def start(self, key: Array, shape: Shape) -> Members:
        """Draws every member from the prior."""
        need_linear("ensemble", shape)
        model = flat_model(self.reward, shape.dim, shape.arms)
        if model.gaussian is None or model.features != shape.dim:
            raise InputError(
                "agent ensemble perturbs rewards by Gaussian noise and needs a linear reward with a Gaussian prior; "
                f"reward {type(self.reward).__name__.lower()} is not one"
            )
        posterior = self.posterior
        if posterior.sigma != REVEALED:
            raise InputError(
                f"agent ensemble needs sigma_t beforehand, not posterior.sigma={posterior.sigma}"
            )
        if posterior.maximum != "hard" or posterior.cap is not None or posterior.keeps_actions(shape):
            raise InputError(
                "agent ensemble needs a bonus with a hard, uncapped maximum over one action set: set maximum=hard, "
                "cap=null, and a posterior other than fgts_a where action sets change"
            )
        precision = jnp.asarray(model.gaussian.precision)
        draws = jax.vmap(model.draw)(jax.random.split(key, self.members))
        zero = jnp.zeros(())
        return Members(precision, draws @ precision, jnp.zeros(self.members), zero, jnp.zeros((), int))

    def grow(self, state: Any, capacity: int) -> Any:
        """Keeps no rounds."""
        return state

    def act(self, key: Array, state: Members, seen: Round) -> tuple[Members, Array, ActionInfo]:
        """Draws a member, and the perturbations of the reward to come."""
        pick, perturb = jax.random.split(key)
        member = jax.random.randint(pick, (), 0, self.members)
        noise = jax.random.normal(perturb, (self.members,))
        return state._replace(noise=noise), *decide(seen.actions @ self.theta(state, seen, member))

    def theta(self, state: Members, seen: Round, member: Array) -> Array:
        """What a member believes, moved by the feel-good term."""
        rounds = state.rounds if self.posterior.sums_past else 1
        lam = rounds * self.posterior.optimism(state.variance, seen.sigma)
        factor = jax.scipy.linalg.cho_factor(state.precision)
        mean = jax.scipy.linalg.cho_solve(factor, state.shifts[member])
        pulls = jax.scipy.linalg.cho_solve(factor, seen.actions.T).T  # S a
        value = lam * seen.actions @ mean + lam**2 * jnp.sum(seen.actions * pulls, axis=-1) / 2
        return mean + lam * pulls[jnp.argmax(value)]

    def update(self, state: Members, seen: Round, action: Array, reward: Array) -> Members:
        """Adds the datum, for every member with its own noise."""
        features, weight = seen.actions[action], self.posterior.weight(seen.sigma)
        rewards = reward + state.noise / jnp.sqrt(2 * weight)
        return Members(
            state.precision + 2 * weight * jnp.outer(features, features),
            state.shifts + 2 * weight * rewards[:, None] * features,
            state.noise,
            state.variance + self.posterior.variance(seen.sigma),
            state.rounds + 1,
        )
