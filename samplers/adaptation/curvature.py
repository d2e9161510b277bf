"""The largest curvature of a target: the unit of step sizes."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

NUM_POWER_ITERATIONS = 8
POWER_ITERATION_GRADIENTS = 2 * NUM_POWER_ITERATIONS  # a Hessian-vector product costs about two gradients
NUM_SQUARINGS = 20
MAX_DIM_SQUARING = 6  # up to this dimension squaring is faster than products with vectors
NUM_LANCZOS_STEPS = 16
NUM_BISECTIONS = 40


def largest_eigenvalue(matrix: Float[Array, "size size"]) -> Float[Array, ""]:
    """Returns the largest eigenvalue of a positive definite matrix, or slightly less.

    In high dimensions it comes from a Krylov space, at the cost of a few products with vectors, and is less by at most
    3% for the matrices of the tests. A step size need not be more accurate.
    """
    if matrix.shape[-1] <= MAX_DIM_SQUARING:
        return largest_eigenvalue_by_squaring(matrix)
    return largest_eigenvalue_by_lanczos(matrix)


def largest_eigenvalue_by_lanczos(matrix: Float[Array, "size size"]) -> Float[Array, ""]:
    """Returns the largest eigenvalue of the matrix restricted to a Krylov space, from one fixed random direction."""
    size = matrix.shape[-1]
    start = jax.random.normal(jax.random.key(0), (size,), dtype=matrix.dtype)

    def step(
        carry: tuple[Array, Array, Array], _: None
    ) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
        last, current, coupling = carry
        product = matrix @ current - coupling * last
        diagonal = product @ current
        product = product - diagonal * current
        norm = jnp.linalg.norm(product)
        return (current, product / jnp.maximum(norm, 1e-30), norm), (diagonal, norm)

    first = (jnp.zeros(size, matrix.dtype), start / jnp.linalg.norm(start), jnp.zeros((), matrix.dtype))
    _, (diagonal, couplings) = jax.lax.scan(step, first, length=min(NUM_LANCZOS_STEPS, size))
    return largest_eigenvalue_of_tridiagonal(diagonal, couplings[:-1])


def largest_eigenvalue_of_tridiagonal(
    diagonal: Float[Array, " size"], couplings: Float[Array, " size_less_one"]
) -> Float[Array, ""]:
    """Returns the largest eigenvalue of a symmetric tridiagonal matrix, by bisection with Sturm sequences."""
    sums = jnp.pad(jnp.abs(couplings), (0, 1)) + jnp.pad(jnp.abs(couplings), (1, 0))
    low, high = jnp.max(diagonal), jnp.max(diagonal + sums)  # a diagonal element, and Gershgorin's bound
    squares = couplings**2

    def halve(_: Array, interval: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = interval
        middle = (low + high) / 2
        pivot = middle - diagonal[0]
        all_positive = (
            pivot > 0
        )  # the pivots of middle - T are all positive iff middle is above every eigenvalue
        for i in range(diagonal.size - 1):
            pivot = middle - diagonal[i + 1] - squares[i] / pivot
            all_positive &= pivot > 0
        return jnp.where(all_positive, low, middle), jnp.where(all_positive, middle, high)

    low, high = jax.lax.fori_loop(0, NUM_BISECTIONS, halve, (low, high))
    return high


def largest_eigenvalue_by_squaring(matrix: Float[Array, "size size"]) -> Float[Array, ""]:
    """Returns tr(A^(n+1)) / tr(A^n) with n = 2^NUM_SQUARINGS.

    That is a mean of the eigenvalues weighted by their n-th powers: never above the largest, and below it by at most a
    fraction (size - 1) / (e n), 1.4e-6 for size 5, which only nearly equal eigenvalues come close to.
    """

    def square(_: Array, power: Array) -> Array:
        # A sum of products: XLA's product of matrices this small is a slow loop.
        product = jnp.sum(power[:, :, None] * power[None], axis=1)
        return product / jnp.trace(product)

    power = jax.lax.fori_loop(0, NUM_SQUARINGS, square, matrix / jnp.trace(matrix))
    return jnp.sum(matrix * power)


def power_iteration(
    logdensity: Callable[[Array], Array], position: Float[Array, " size"]
) -> Float[Array, ""]:
    """Returns the largest curvature at a position by power iterations on Hessian-vector products.

    The start is one fixed random direction: a special one could be orthogonal to the leading eigenvector of a symmetric
    target. Costs POWER_ITERATION_GRADIENTS gradients.
    """
    gradient = jax.grad(logdensity)

    def multiply(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        direction = carry[0]
        product = jax.jvp(gradient, (position,), (direction,))[1]
        norm = jnp.linalg.norm(product)
        return (product / jnp.maximum(norm, 1e-30), norm), None

    start = jax.random.normal(jax.random.key(0), position.shape, dtype=position.dtype)
    first = (start / jnp.linalg.norm(start), jnp.ones((), position.dtype))
    (_, norm), _ = jax.lax.scan(multiply, first, length=NUM_POWER_ITERATIONS)
    # A target that is flat here has no curvature to measure a step by.
    return jnp.where(norm > 0, norm, 1.0)
