"""Curvature and gradients of a round's posterior: how stiff it is, and whether draws lie in its typical set."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from samplers import Dense, Target


def whitened_scores(
    target: Target, position: Float[Array, " size"], draws: Float[Array, "draws size"]
) -> tuple[Float[Array, "draws size"], Float[Array, "draws size"]]:
    """Draws in whitened coordinates, and the gradients of the log-density there; NaN where no precision is known.

    Args:
        target: The posterior.
        position: Where its precision is evaluated.
        draws: Where its gradient is evaluated.
    """
    if target.precision is None:
        return jnp.full(draws.shape, jnp.nan), jnp.full(draws.shape, jnp.nan)
    coordinates = Dense().apply(target, position)
    gradient = jax.grad(coordinates.logdensity)
    whitened = jax.vmap(coordinates.from_target)(draws)
    return whitened, jax.lax.map(gradient, whitened)


def log_ratios(
    key: Key[Array, ""], target: Target, draws: Float[Array, "draws size"], num_proposals: int
) -> Float[Array, " proposals"]:
    """log p - log q at draws from the normal distribution q that has the mean and covariance of some draws.

    NaN if the draws span no volume.

    Args:
        key: A random key.
        target: The posterior p.
        draws: Draws of a sampler.
        num_proposals: Number of draws from q.
    """
    factor = jnp.linalg.cholesky(jnp.atleast_2d(jnp.cov(draws.T)))
    noise = jax.random.normal(key, (num_proposals, draws.shape[-1]))
    proposals = jnp.mean(draws, axis=0) + noise @ factor.T
    return jax.lax.map(target.logdensity, proposals) + jnp.sum(noise**2, axis=1) / 2


def gradient_norm(
    target: Target, position: Float[Array, " size"], draws: Float[Array, "draws size"]
) -> Float[Array, ""]:
    """The mean of g'P^-1 g / dim over draws, with the gradient g of the log-density and the precision P.

    About 1 in the posterior; NaN where no precision is known.

    Args:
        target: The posterior.
        position: Where its precision is evaluated.
        draws: Where its gradient is evaluated.
    """
    return jnp.mean(whitened_scores(target, position, draws)[1] ** 2)


def condition_number(target: Target, position: Float[Array, " size"]) -> Float[Array, ""]:
    """The condition number of the precision at a position; NaN where none is known."""
    if target.precision is None:
        return jnp.asarray(jnp.nan)
    eigenvalues = jnp.linalg.eigvalsh(target.precision(position))
    return eigenvalues[-1] / eigenvalues[0]
