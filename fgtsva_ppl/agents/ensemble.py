"""Ensemble sampling (Lu & Van Roy 2017): members that fit their own perturbed data, one of which decides."""

import dataclasses
from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents.base import decide, require_linear
from fgtsva_ppl.posteriors import FGTSVA, VARIANCE_MODELS, Posterior
from fgtsva_ppl.rewards import AnyReward, Linear, as_reward, flat_model
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers.errors import InputError
from samplers.settings import nested, settings, static, static_int


class EnsembleState(NamedTuple):
    """What the ensemble carries from round to round; the mean of member m is precision^-1 shifts[m].

    Attributes:
        precision: The precision of the posterior, common to all members.
        shifts: One information vector for each member.
        noise: Perturbations of the coming reward, in its standard deviations.
        total_variance: Lambda_{t-1}.
        rounds: t - 1.
    """

    precision: Float[Array, "dim dim"]
    shifts: Float[Array, "members dim"]
    noise: Float[Array, " members"]
    total_variance: Float[Array, ""]
    rounds: Int[Array, ""]


@settings
class Ensemble(Agent):
    """Ensemble sampling: plays the best arm of a member drawn at random.

    A member starts at a draw from the prior and sees every reward with noise of its own, of variance 1/(2 eta): given
    the data, its mean has exactly the distribution of the posterior's Gaussian part. The feel-good term moves it to the
    mode of lambda max_a <a, theta> - ||theta - mean||^2_P / 2, which is mean + lambda S a for the best such a.
    """

    label: ClassVar[str] = "ensemble"

    reward: AnyReward = static(default=Linear())
    posterior: Posterior = nested(default=FGTSVA())
    members: int = static_int(default=30, ge=1, doc="members of the ensemble")

    @override
    def for_horizon(self, rounds: int) -> "Ensemble":
        return dataclasses.replace(self, posterior=self.posterior.for_horizon(rounds))

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> EnsembleState:
        """Draws every member from the prior."""
        require_linear(self.label, shape)
        model = flat_model(self.reward, shape.dim, shape.arms)
        if model.gaussian is None or model.features != shape.dim or model.learner is not None:
            raise InputError(
                "agent ensemble perturbs rewards by Gaussian noise and needs a linear reward with a Gaussian prior; "
                f"reward {as_reward(self.reward).name.lower()} is not one"
            )
        posterior = self.posterior
        if not posterior.variance_model.known_before:
            name = VARIANCE_MODELS.name_of(posterior.variance_model)
            raise InputError(f"agent ensemble needs sigma_t before the action, not posterior.variance={name}")
        if posterior.maximum != "hard" or posterior.cap is not None or posterior.keeps_actions(shape):
            raise InputError(
                "agent ensemble needs a bonus with a hard, uncapped maximum over one action set: set maximum=hard, "
                "cap=null, and a posterior other than fgts_a where action sets change"
            )
        if posterior.forgets:
            raise InputError(
                "agent ensemble does not forget: leave out posterior.discount, window and random_walk"
            )
        precision = jnp.asarray(model.gaussian.precision)
        draws = jax.vmap(model.draw)(jax.random.split(key, self.members))
        zero = jnp.zeros(())
        return EnsembleState(precision, draws @ precision, jnp.zeros(self.members), zero, jnp.zeros((), int))

    @override
    def act(
        self, key: Key[Array, ""], state: EnsembleState, round: Round
    ) -> tuple[EnsembleState, Int[Array, ""], ActionInfo]:
        """Draws a member, and the perturbations of the coming reward."""
        member_key, noise_key = jax.random.split(key)
        member = jax.random.randint(member_key, (), 0, self.members)
        noise = jax.random.normal(noise_key, (self.members,))
        return state._replace(noise=noise), *decide(round.actions @ self.theta(state, round, member))

    @override
    def decision(self, state: EnsembleState) -> Float[Array, " members"]:
        """The perturbations of the coming reward."""
        return state.noise

    @override
    def with_decision(self, state: EnsembleState, decision: Float[Array, " members"]) -> EnsembleState:
        return state._replace(noise=decision)

    def theta(self, state: EnsembleState, round: Round, member: Int[Array, ""]) -> Float[Array, " dim"]:
        """A member's coefficients, moved by the feel-good term."""
        num_rounds = state.rounds if self.posterior.sums_past else 1
        lam = num_rounds * self.posterior.bonus_scale(state.total_variance, round.sigma)
        factor = jax.scipy.linalg.cho_factor(state.precision)
        mean = jax.scipy.linalg.cho_solve(factor, state.shifts[member])
        moves = jax.scipy.linalg.cho_solve(factor, round.actions.T).T  # S a
        value = lam * round.actions @ mean + lam**2 * jnp.sum(round.actions * moves, axis=-1) / 2
        return mean + lam * moves[jnp.argmax(value)]

    @override
    def update(
        self, state: EnsembleState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> EnsembleState:
        """Adds the datum, for every member with its own noise."""
        features, weight = round.actions[action], self.posterior.weight(round.sigma)
        rewards = reward + state.noise / jnp.sqrt(2 * weight)
        return EnsembleState(
            state.precision + 2 * weight * jnp.outer(features, features),
            state.shifts + 2 * weight * rewards[:, None] * features,
            state.noise,
            state.total_variance + self.posterior.round_variance(round.sigma),
            state.rounds + 1,
        )
