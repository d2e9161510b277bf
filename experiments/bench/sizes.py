"""Contextual linear bandits from small to large, beside a NumPy loop and the floor that their arithmetic sets."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from threadpoolctl import threadpool_limits

from experiments.bench import numpy_contextual
from experiments.bench.timing import Measure, at_least, at_most, fastest
from fgtsva_ppl import FGTSVA, PSGLD, Contextual, Exact, Thompson, simulate
from samplers import Sampler, _fast_normal
from samplers.reference.tilted_gaussian import MAX_PRODUCTS_FLOAT64
from samplers.sgmcmc._tilted_langevin import MAX_NUMBERS_WITHOUT_BRANCH

PART = "sizes"
STEPS, RUNS = 20, 50
TURNS = 3
MICROSECOND = 1e6


class Size(NamedTuple):
    """A bandit of this size, and how many times faster than NumPy it should be."""

    dim: int
    arms: int
    rounds: int
    aim: float


# Long enough that starting a simulation and its chunks does not count.
SIZES = (Size(20, 50, 2048, 20), Size(100, 200, 512, 8), Size(200, 1000, 128, 4))
SAMPLERS: dict[str, tuple[Sampler, numpy_contextual.Draw]] = {
    "psgld": (PSGLD(num_steps=STEPS), numpy_contextual.langevin(STEPS)),
    "exact": (Exact(), numpy_contextual.exact),
}


def measure(quick: bool) -> list[Measure]:
    """Time of a round of a run on all cores, against NumPy on one core; growth with the dimension; one run of fifty."""
    runs = 4 if quick else RUNS
    sizes = SIZES[:1] if quick else SIZES
    measures = []
    rates = _rates()
    for size in sizes:
        for name in SAMPLERS:
            measures += _against_numpy(size, name, runs, rates)
    if not quick:
        measures += [_growth(runs), _one_run_of_many()]
    return measures


def _against_numpy(size: Size, name: str, runs: int, rates: "Rates") -> list[Measure]:
    sampler, draw = SAMPLERS[name]
    rounds = size.rounds
    loop = partial(numpy_contextual.play, size.dim, size.arms, draw, rounds=rounds, seed=0)
    ours = partial(_play, size.dim, size.arms, sampler, runs, rounds)
    ours()
    with threadpool_limits(1, "blas"):
        times = fastest({"ours": ours, "NumPy": loop}, TURNS)
    own, theirs = times["ours"].seconds / (runs * rounds), times["NumPy"].seconds / rounds
    floor = rates.floor(size, name) / len(jax.devices())
    what = f"d={size.dim}, {size.arms} arms, {name}"
    return [
        Measure(PART, f"{what}: a round of a run, {runs} runs", MICROSECOND * own, "us"),
        Measure(PART, f"{what}: NumPy, one core", MICROSECOND * theirs, "us"),
        at_least(PART, f"{what}: NumPy / ours", theirs / own, size.aim),
        Measure(PART, f"{what}: ours / floor", own / floor, "ratio"),
        Measure(PART, f"{what}: NumPy / floor, the largest ratio of this algorithm", theirs / floor, "ratio"),
    ]


def _growth(runs: int) -> Measure:
    """The exponent of the dimension in a round's time."""
    low, high = 50, 200
    works: dict[str, Callable[[], Any]] = {
        str(dim): partial(_play, dim, 200, PSGLD(num_steps=STEPS), runs, 64) for dim in (low, high)
    }
    for work in works.values():
        work()
    times = fastest(works, TURNS)
    exponent = math.log(times[str(high)].seconds / times[str(low)].seconds) / math.log(high / low)
    return at_most(PART, f"exponent of d from {low} to {high}, 200 arms, psgld", exponent, 2.2, "")


def _one_run_of_many() -> Measure:
    """How much one run costs of what fifty cost."""
    works: dict[str, Callable[[], Any]] = {
        str(runs): partial(_play, 100, 200, PSGLD(num_steps=STEPS), runs, 256) for runs in (1, RUNS)
    }
    for work in works.values():
        work()
    times = fastest(works, TURNS)
    ratio = times["1"].seconds / times[str(RUNS)].seconds
    return at_most(PART, f"d=100, 200 arms, psgld: one run / {RUNS} runs", ratio, 0.1)


def _play(dim: int, arms: int, sampler: Sampler, runs: int, rounds: int) -> None:
    agent = Thompson(posterior=FGTSVA(), sampler=sampler)
    simulate(Contextual(dim=dim, arms=arms), agent, rounds=rounds, runs=runs)


class Rates(NamedTuple):
    """What one core of this machine does in the best case.

    Attributes:
        normal: Seconds per normal number.
        product: Seconds per multiplication and addition in a product of matrices.
        product_float32: The same in float32.
    """

    normal: float
    product: float
    product_float32: float

    def floor(self, size: Size, name: str) -> float:
        """Seconds of a round's random numbers and products of matrices on one core.

        Arms, three products of matrix and vector for the update, two rank-one updates and a rank-one sum; for Langevin
        steps their noise, W xi, and <a, W xi> or S a* and <a, x>; for exact draws the variances of all arms' rewards.
        """
        dim, arms = size.dim, size.arms
        update = 6 * dim**2 + 4 * arms * dim
        if name == "psgld":
            small = dim**2 + arms * dim <= MAX_NUMBERS_WITHOUT_BRANCH
            steps = STEPS * ((2 if small else 1) * dim**2 + arms * dim)
            return self.normal * (arms + STEPS) * dim + self.product * (update + steps)
        squares = arms * dim**2
        rate = self.product if squares <= MAX_PRODUCTS_FLOAT64 else self.product_float32
        return self.normal * (arms + 1) * dim + self.product * (update + 2 * dim**2) + rate * squares


def _rates() -> Rates:
    """Measures the rates in loops that do nothing else."""
    number, side, repeats = 20_000, 200, 50

    @jax.jit
    def normals(key: jax.Array) -> jax.Array:
        def draw(i: jax.Array, total: jax.Array) -> jax.Array:
            return total + _fast_normal.normal(jax.random.fold_in(key, i), (number,))

        return jax.lax.fori_loop(0, repeats, draw, jnp.zeros(number))

    @jax.jit
    def products(matrix: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, repeats, lambda _, x: matrix @ x, matrix)

    matrix = jnp.asarray(np.linalg.qr(np.random.default_rng(0).normal(size=(side, side)))[0])
    single = matrix.astype(jnp.float32)
    works: dict[str, Callable[[], Any]] = {
        "normals": lambda: jax.block_until_ready(normals(jax.random.key(0))),
        "products": lambda: jax.block_until_ready(products(matrix)),
        "float32": lambda: jax.block_until_ready(products(single)),
    }
    for work in works.values():
        work()
    times = fastest(works, TURNS)
    num_products = repeats * side**3
    return Rates(
        times["normals"].cpu / (repeats * number),
        times["products"].cpu / num_products,
        times["float32"].cpu / num_products,
    )
