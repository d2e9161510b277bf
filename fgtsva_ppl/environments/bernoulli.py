"""0/1 rewards from mean rewards, with random numbers of their own."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

BERNOULLI_STREAM = (
    2  # folded into a round's key, so that the environment's own splits of that key are not reused
)
SIGMA = 0.5  # the largest standard deviation of a 0/1 reward, which is what can be revealed of it without its mean


def bernoulli_rewards(key: Key[Array, ""], means: Float[Array, " arms"]) -> Float[Array, " arms"]:
    """A 0/1 reward of every arm, each with its own mean.

    Arms share one uniform number, r_a = 1 if u < f*(a): the better arm never pays less than the worse one in the same
    round, which reduces the noise of differences between agents. Each arm's own distribution is Bernoulli.

    Args:
        key: The round's key.
        means: Probabilities of a reward of 1.
    """
    uniform = jax.random.uniform(jax.random.fold_in(key, BERNOULLI_STREAM))
    return jnp.where(uniform < means, 1.0, 0.0)
