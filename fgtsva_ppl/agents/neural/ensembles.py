"""Ensembles of networks: bootstrapped (Osband et al. 2016), with randomised prior functions (Osband et al. 2018)."""

from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents.neural.base import NeuralAgent, NeuralState
from fgtsva_ppl.networks import Batch, Network, least_squares, mean_loss
from fgtsva_ppl.types import ActionInfo, Round, Shape
from samplers.settings import choice, settings, static_int, traced_float


class Members(NamedTuple):
    """What distinguishes the members of an ensemble, beside their weights.

    Attributes:
        priors: Networks that are never trained; all zero where there is no prior function.
        weights: Each member's weight of the coming reward.
        noise: Each member's perturbation of the coming reward.
    """

    priors: Network
    weights: Float[Array, " members"]
    noise: Float[Array, " members"]


@settings
class NetworkEnsemble(NeuralAgent):
    """Base class: plays the best arm of a member drawn at random, for one round.

    Member m predicts g_m + prior_scale p_m, where g_m is trained and p_m is a random network that stays as it is. Its
    data are weighted by its own bootstrap and perturbed by its own noise of standard deviation `noise_scale`.
    """

    members: int = static_int(default=10, ge=1, doc="networks of the ensemble")
    bootstrap: str = choice(
        default="double_or_nothing",
        options=("double_or_nothing", "poisson", "none"),
        doc="a member's weight of a datum: 0 or 2, Poisson(1), or always 1",
    )
    prior_scale: float = traced_float(
        default=0.0, ge=0, doc="factor of a member's random prior function, which is not trained"
    )
    noise_scale: float = traced_float(
        default=0.0, ge=0, doc="standard deviation of the noise that a member adds to each reward"
    )

    @override
    def start_params(self, key: Key[Array, ""], shape: Shape) -> Network:
        return self._networks(key, shape)

    def _networks(self, key: Array, shape: Shape) -> Network:
        keys = jax.random.split(key, self.members)
        return jax.vmap(lambda own: self.start_network(own, shape.dim, shape.arms))(keys)

    @override
    def start_extra(self, key: Key[Array, ""], shape: Shape, params: Network) -> Members:
        ones = jnp.ones(self.members)
        return Members(self._networks(key, shape), ones, jnp.zeros_like(ones))

    @property
    @override
    def member_shape(self) -> tuple[int, ...]:
        return (self.members,)

    @property
    @override
    def gradients_per_step(self) -> int:
        return self.members

    @override
    def act(
        self, key: Key[Array, ""], state: NeuralState, round: Round
    ) -> tuple[NeuralState, Int[Array, ""], ActionInfo]:
        """Also draws the members' weights and perturbations of the coming reward."""
        decision_key, weights_key, noise_key = jax.random.split(key, 3)
        state, arm, info = super().act(decision_key, state, round)
        noise = self.noise_scale * jax.random.normal(noise_key, (self.members,))
        extra = state.extra._replace(weights=self.draw_weights(weights_key), noise=noise)
        return state._replace(extra=extra), arm, info

    @override
    def decision(self, state: NeuralState) -> tuple[Float[Array, " members"], Float[Array, " members"]]:
        """The members' weights and perturbations of the coming reward."""
        return state.extra.weights, state.extra.noise

    @override
    def with_decision(
        self, state: NeuralState, decision: tuple[Float[Array, " members"], Float[Array, " members"]]
    ) -> NeuralState:
        weights, noise = decision
        return state._replace(extra=state.extra._replace(weights=weights, noise=noise))

    def draw_weights(self, key: Key[Array, ""]) -> Float[Array, " members"]:
        """The members' weights of a datum, independent and with mean 1."""
        if self.bootstrap == "double_or_nothing":
            return 2.0 * jax.random.bernoulli(key, 0.5, (self.members,))
        if self.bootstrap == "poisson":
            return jax.random.poisson(key, 1.0, (self.members,)).astype(float)
        return jnp.ones(self.members)

    @override
    def row(
        self, state: NeuralState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> Batch:
        features = round.actions[action][None]
        own: Members = state.extra
        return Batch(features, action[None], (reward + own.noise)[None], own.weights[None])

    @override
    def loss(
        self, key: Key[Array, ""], state: NeuralState, params: Network, batch: Batch
    ) -> Float[Array, ""]:
        """The sum of the members' losses."""

        def own(network: Network, prior: Network, targets: Array, weights: Array) -> Array:
            predictions = self._member_predictions(network, prior, batch.features, batch.arms)
            return mean_loss(least_squares(predictions, targets, weights), jnp.ones_like(weights))

        losses = jax.vmap(own, in_axes=(0, 0, 1, 1))(params, state.extra.priors, batch.targets, batch.weights)
        return jnp.sum(losses)

    def _member_predictions(self, network: Network, prior: Network, features: Array, arms: Array) -> Array:
        """g_m + prior_scale p_m of each row."""
        return self.predict(network, features, arms) + self.prior_scale * self.predict(prior, features, arms)

    @override
    def scores(self, key: Key[Array, ""], state: NeuralState, round: Round) -> Float[Array, " arms"]:
        """The predictions of one member."""
        member = jax.random.randint(key, (), 0, self.members)
        network, prior = jax.tree.map(lambda leaf: leaf[member], (state.params, state.extra.priors))
        return self._member_predictions(network, prior, round.actions, self.arm_indices(round))


@settings
class BootstrappedEnsemble(NetworkEnsemble):
    """Bootstrapped networks (Osband et al. 2016): every member weights the data in its own way."""

    label: ClassVar[str] = "bootstrapped_ensemble"


@settings
class RandomisedPrior(NetworkEnsemble):
    """Randomised prior functions (Osband, Aslanides & Cassirer 2018): every member adds a fixed random network."""

    prior_scale: float = 1.0
    bootstrap: str = "none"
    noise_scale: float = 0.1

    label: ClassVar[str] = "randomised_prior"
