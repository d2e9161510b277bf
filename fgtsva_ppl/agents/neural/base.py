"""What the neural agents share: stored rounds, networks that are trained on them on a schedule, counted gradients."""

import dataclasses
import math
from abc import abstractmethod
from typing import Any, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key, UInt32

from fgtsva_ppl.agents.base import decide
from fgtsva_ppl.networks import Batch, Network, TrainedNetwork, least_squares, mean_loss
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers.settings import settings, traced_float, traced_int

START, TRAINING = range(2)  # streams of an agent's own randomness, folded into the key of its start


class NeuralState(NamedTuple):
    """What a neural agent carries from round to round.

    Attributes:
        params: What is trained: a network, or several with a leading axis.
        initial: The same before the first training.
        rows: All rounds, with room for more.
        rounds: Number of filled rows, t - 1.
        key: Data of the key from which the minibatches are drawn.
        extra: What an agent carries beyond its network.
    """

    params: Any
    initial: Any
    rows: Batch
    rounds: Int[Array, ""]
    key: UInt32[Array, "..."]
    extra: Any = ()


@settings
class NeuralAgent(TrainedNetwork, Agent):
    """Plays the arm with the highest score, computed from a network that is trained every `refit_every` rounds.

    Each training goes on from the last weights and minimises sum_s (r_s - f(x_s, a_s))^2 / 2 +
    weight_decay ||theta - theta_0||^2 / 2 by minibatches of all rounds so far, theta_0 being the initial weights.
    """

    initial_pulls: int = traced_int(
        default=2, ge=0, doc="how often each arm is pulled first, one after the other"
    )
    weight_decay: float = traced_float(
        default=0.0, ge=0, doc="penalty on ||theta - theta_0||^2 / 2, beside the summed squared loss over 2"
    )

    horizon: int = (
        0  # for which room is made at once: a minibatch costs the same, and only one program is compiled
    )

    @override
    def for_horizon(self, rounds: int) -> "NeuralAgent":
        return dataclasses.replace(self, horizon=rounds)

    @abstractmethod
    def scores(self, key: Key[Array, ""], state: NeuralState, round: Round) -> Float[Array, " arms"]:
        """One number for each arm."""

    def start_params(self, key: Key[Array, ""], shape: Shape) -> Any:
        """What is trained, before the first round: by default one network."""
        return self.start_network(key, shape.dim, shape.arms)

    def start_extra(self, key: Key[Array, ""], shape: Shape, params: Any) -> Any:
        """What the agent carries beyond its network, before the first round."""
        return ()

    def before_update(self, state: NeuralState, round: Round, action: Int[Array, ""]) -> NeuralState:
        """Uses the round and its action before the reward is stored and the network is trained."""
        return state

    def after_training(self, state: NeuralState, row: Batch) -> NeuralState:
        """Uses the newest row, and all of them if the network has just been trained."""
        return state

    def loss(self, key: Key[Array, ""], state: NeuralState, params: Any, batch: Batch) -> Float[Array, ""]:
        """The squared loss per row of a minibatch."""
        network: Network = params
        predictions = self.predict(network, batch.features, batch.arms)
        return mean_loss(least_squares(predictions, batch.targets, batch.weights), batch.weights)

    def row(
        self, state: NeuralState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> Batch:
        """The round as a row of data."""
        features = round.actions[action][None]
        return Batch(features, action[None], reward[None], jnp.ones(1))

    @property
    def member_shape(self) -> tuple[int, ...]:
        """Shape of a row's targets and weights: one number, or one for each member of an ensemble."""
        return ()

    def penalty(self, params: Any, initial: Any) -> Float[Array, ""]:
        """What is added to the sum of the squared losses."""
        return self.weight_decay * squared_distance(params, initial) / 2

    @property
    def gradients_per_step(self) -> int:
        """Gradient evaluations of one step of a training."""
        return 1

    def gradients_per_decision(self, arms: int) -> int:
        """Gradient evaluations of one decision and its update."""
        return 0

    @property
    @override
    def sequential(self) -> bool:
        """Runs one after the other: their matrices fill the cache, and padding a block of runs would be expensive."""
        return True

    @property
    @override
    def expected_gradients(self) -> int:
        return math.ceil(self.steps_per_round * self.gradients_per_step)

    @override
    def num_parameters(self, shape: Shape) -> int:
        return self.network_size(shape.dim, shape.arms)

    @override
    def round_products(self, shape: Shape, rounds: int) -> float:
        """Of the training's minibatches, and of the decision."""
        size = self.num_parameters(shape)
        rows = self.steps_per_round * self.gradients_per_step * min(self.batch_size, rounds)
        return 6.0 * size * (rows + self.gradients_per_decision(shape.arms)) + 2.0 * size * shape.arms

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> NeuralState:
        start_key, training_key = (jax.random.fold_in(key, stream) for stream in (START, TRAINING))
        params_key, extra_key = jax.random.split(start_key)
        params = self.start_params(params_key, shape)
        rounds = jnp.zeros((), int)
        columns = jnp.zeros((1, *self.member_shape))
        rows = Batch(jnp.zeros((1, shape.dim)), jnp.zeros(1, int), columns, columns)
        extra = self.start_extra(extra_key, shape, params)
        return NeuralState(params, params, rows, rounds, jax.random.key_data(training_key), extra)

    @override
    def grow(self, state: NeuralState, capacity: int) -> NeuralState:
        room = max(capacity, 1 << (self.horizon - 1).bit_length() if self.horizon else 0)
        missing = room - len(state.rows.arms)

        def pad(column: Array) -> Array:
            return jnp.pad(column, [(0, missing)] + [(0, 0)] * (column.ndim - 1))

        return state._replace(rows=jax.tree.map(pad, state.rows))

    @override
    def act(
        self, key: Key[Array, ""], state: NeuralState, round: Round
    ) -> tuple[NeuralState, Int[Array, ""], ActionInfo]:
        """Plays every arm in turn at first. The gradients are those of this decision and of the last training."""
        arms = round.actions.shape[0]
        arm, info = decide(self.scores(key, state, round))
        arm = jnp.where(state.rounds < arms * self.initial_pulls, state.rounds % arms, arm)
        training = self.gradients_per_step * self.steps_after(state.rounds)
        return state, arm, info._replace(num_gradients=training + self.gradients_per_decision(arms))

    @override
    def update(
        self, state: NeuralState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> NeuralState:
        """Stores the round, and trains the network if that is due."""
        state = self.before_update(state, round, action)
        # The barrier ends the round: without it the compiler copies the buffers instead of writing in place.
        index, reward = jax.lax.optimization_barrier((state.rounds, reward))
        row = self.row(state, round, action, reward)
        rows = jax.tree.map(lambda column, new: column.at[index].set(new[0]), state.rows, row)
        state = state._replace(rows=rows, rounds=index + 1)
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.rounds)
        params = self.train(key, self._penalised(state), state.params, rows, state.rounds)
        return self.after_training(state._replace(params=params), row)

    def _penalised(self, state: NeuralState) -> Any:
        """The loss of a minibatch with its share of the penalty."""

        def loss(key: Array, params: Any, batch: Batch) -> Array:
            share = self.penalty(params, state.initial) / jnp.maximum(state.rounds, 1)
            return self.loss(key, state, params, batch) + share

        return loss

    def arm_indices(self, round: Round) -> Int[Array, " arms"]:
        """0, 1, ..., one for each arm of the round."""
        return jnp.arange(round.actions.shape[0])


def squared_distance(params: Any, others: Any) -> Float[Array, ""]:
    """||theta - theta_0||^2 over all leaves."""
    squares = jax.tree.map(lambda x, y: jnp.sum((x - y) ** 2), params, others)
    return jnp.asarray(sum(jax.tree.leaves(squares)))
