"""Classes of rewards on which samplers are validated, and the data of each."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.environments import LogisticBandit, MLPBandit, QuadraticBandit, WithNoise
from fgtsva_ppl.environments.noise import SparseNoise
from fgtsva_ppl.rewards import GP, MLP, AnyReward, Hierarchical, Logistic, RewardFunction
from fgtsva_ppl.types import Environment, Round

DIM, ARMS, SIGMA = 3, 5, 0.3
NUM_SETS = 8
MAX_SIZE = (
    100  # parameters up to which tempered SMC is run: it factorises a matrix for every move of every particle
)


class Case(NamedTuple):
    """A class of rewards, where its data come from, and the horizon: a noiseless datum has a weight of so much."""

    reward: AnyReward
    environment: Environment
    horizon: int = 64


def own_network(dim: int) -> RewardFunction:
    """A user's own program: a Bayesian network of width 16, of which nothing is declared."""
    weights = numpyro.sample("weights", dist.Normal(0, 1).expand([dim, 16]).to_event(2))
    bias = numpyro.sample("bias", dist.Normal(0, 1).expand([16]).to_event(1))
    output = numpyro.sample("output", dist.Normal(0, 0.25).expand([16]).to_event(1))
    return lambda features: jnp.tanh(features @ weights + bias) @ output


def cases() -> dict[str, Case]:
    """Returns the classes of rewards, by name. The three of stiff posteriors share the programs of `mlp 8`."""
    network = MLPBandit(DIM, ARMS, SIGMA, width=8)
    sparse = WithNoise(network, SparseNoise())
    return {
        "logistic": Case(Logistic(), LogisticBandit(DIM, ARMS, SIGMA)),
        "gp": Case(GP(features=20), network),
        "hierarchical": Case(Hierarchical(), network),
        "own network": Case(own_network, QuadraticBandit(DIM, ARMS, SIGMA)),
        "mlp 8": Case(MLP(width=8), network),
        "mlp 8, weight 64": Case(MLP(width=8), sparse),
        "mlp 8, weight 200": Case(MLP(width=8), sparse, 200),
        "mlp 8, weight 2000": Case(MLP(width=8), sparse, 2000),
        "mlp 20": Case(MLP(width=20), network),
        "mlp 50": Case(MLP(width=50), network),
        "mlp 3 layers": Case(MLP(width=6, depth=3), network),
    }


class Data(NamedTuple):
    """Rounds in which arms were pulled at random, the round after them, and the arms whose mean rewards are compared.

    The compared arms are those of the next NUM_SETS rounds; the first set is that of `next_round`.
    """

    rounds: Round
    arms: Int[Array, " rounds"]
    rewards: Float[Array, " rounds"]
    next_round: Round
    compared: Float[Array, "sets arms dim"]


@partial(jax.jit, static_argnames="num_rounds")
def draw_data(environment: Environment, key: Key[Array, ""], num_rounds: int) -> Data:
    """Returns data of an environment."""
    start_key, rounds_key, arms_key = jax.random.split(key, 3)
    instance = environment.start(start_key)
    numbers = jnp.arange(num_rounds + NUM_SETS)
    keys = jax.random.split(rounds_key, numbers.size)
    rounds, outcomes = jax.vmap(environment.round, (0, None, 0))(keys, instance, numbers)
    arms = jax.random.randint(arms_key, (num_rounds,), 0, environment.shape.arms)
    rewards = jnp.take_along_axis(outcomes.rewards[:num_rounds], arms[:, None], 1)[:, 0]
    following = Round(rounds.actions[num_rounds], jnp.asarray(SIGMA))
    seen = jax.tree.map(lambda x: x[:num_rounds], rounds)
    return Data(seen, arms, rewards, following, rounds.actions[num_rounds:])
