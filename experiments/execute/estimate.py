"""Estimates what a study will take: how many programs are compiled, and roughly how long it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax

from experiments.config.cell import Cell
from experiments.config.study import Study
from fgtsva_ppl.agents import Thompson
from fgtsva_ppl.posteriors.history import SMALLEST_CAPACITY
from fgtsva_ppl.simulation.batching import lanes_for, round_up
from samplers import Exact
from samplers.reference.tilted_gaussian import MAX_PRODUCTS_FLOAT64

# Seconds on an ordinary machine, fitted to the times that the studies and the bandits of `fgtsva bench` took.
COMPILE = 5.0  # of a program that simulates
COMPILE_PROBES = 6.0  # of a program that draws for probe rounds
PROBE = 0.02  # of a probed round of a run
STORE = 0.1  # of a cell's files and its share of figures
# Seconds of a core.
ROUND = 2.4e-6  # of a decision among others, without gradients and products
ROUND_ALONE = 2.5e-5  # the same where runs are too large to be computed side by side
GRADIENT = 3e-7  # of a gradient among others, without its products
GRADIENT_ALONE = 1.5e-6
NUMBER = 4e-9  # of a number in an action set that is drawn anew in each round
PRODUCT = 2e-10  # of a multiplication and addition
PRODUCT_ALONE = 1e-10
PRODUCT_DATA = 2.9e-10  # in a gradient that goes through stored data
PRODUCT_PAST = 1e-9  # in one that goes through all past action sets, which no cache holds
PRODUCT_FLOAT32 = 4e-11  # in the variances of all arms' rewards, for exact draws
SECONDS_FOR_WORKERS = 60.0  # from which on several processes compute cells side by side, with a device each
PACE_TRUST = 4.0  # once a quarter of the work is done, its pace alone counts


@dataclass(frozen=True)
class Estimate:
    """What a study will take.

    Attributes:
        cells: The number of its cells.
        stored: How many of them are stored already.
        programs: How many programs are compiled.
        decisions: How many decisions are simulated, over all cells, runs and rounds.
        seconds: Roughly how long it takes.
        cell_seconds: Roughly how long the rounds of each cell take that is not stored yet, by cell.
    """

    cells: int
    stored: int
    programs: int
    decisions: int
    seconds: float
    cell_seconds: Mapping[str, float] = field(default_factory=dict)

    def seconds_left(self, elapsed: float, done: Mapping[str, float]) -> float:
        """How long it will still take, revised by the pace so far.

        Args:
            elapsed: Seconds since the start.
            done: The share of each cell's rounds that is simulated, by cell.
        """
        total = sum(self.cell_seconds.values())
        finished = sum(self.cell_seconds.get(cell, 0.0) * share for cell, share in done.items())
        share = finished / total if total else 0.0
        trust = min(1.0, PACE_TRUST * share)  # compiling comes first, so the first rounds tell little
        observed = elapsed / share if share else 0.0
        return max(0.0, trust * observed + (1 - trust) * max(self.seconds, elapsed) - elapsed)


def estimate(study: Study, is_finished: Callable[[Cell], bool]) -> Estimate:
    """Counts exactly, and estimates the time.

    Args:
        study: The study.
        is_finished: Whether a cell is stored already.
    """
    todo = [cell for cell in study.cells if not is_finished(cell)]
    programs = {_program(cell): cell for cell in todo}
    cell_seconds = {cell.id: _simulation_seconds(cell) for cell in todo}
    if sum(cell_seconds.values()) >= SECONDS_FOR_WORKERS and len(todo) >= len(jax.devices()):
        cell_seconds = {cell.id: _simulation_seconds(cell, side_by_side=True) for cell in todo}
    seconds = sum(cell_seconds.values()) + STORE * len(todo)
    probes = sum(
        len(study.diagnostics.probes(cell)) * min(study.diagnostics.runs, cell.runs) for cell in todo
    )
    seconds += PROBE * probes
    seconds += sum(
        COMPILE + COMPILE_PROBES * bool(study.diagnostics.probes(cell)) for cell in programs.values()
    )
    decisions = sum(cell.rounds * cell.runs for cell in todo)
    stored = len(study.cells) - len(todo)
    return Estimate(len(study.cells), stored, len(programs), decisions, seconds, cell_seconds)


def _program(cell: Cell) -> Any:
    """A key that cells have in common if they share a compiled program."""
    return jax.tree.structure((cell.environment, cell.agent)), cell.rounds


def _simulation_seconds(cell: Cell, side_by_side: bool = False) -> float:
    """Clock seconds of a cell's rounds, on as many devices as JAX has.

    Args:
        cell: The cell.
        side_by_side: Whether each device computes another cell, and runs are padded for one device only.
    """
    devices = len(jax.devices())
    try:
        lanes = lanes_for(cell.environment.shape, cell.agent)
        seconds = _round_seconds(cell, alone=lanes == 1)
    except Exception:  # a user's program may raise anything: this cell will fail, the others run
        return 0.0
    width = lanes if side_by_side else lanes * devices
    return round_up(cell.runs, width) * cell.rounds * seconds / devices


def _round_seconds(cell: Cell, alone: bool) -> float:
    """Core seconds of a round of one run."""
    shape, agent = cell.environment.shape, cell.agent
    size, gradients = agent.num_parameters(shape), agent.expected_gradients
    numbers = 0 if shape.fixed_actions else shape.arms * shape.dim
    overhead, gradient, product = (
        (ROUND_ALONE, GRADIENT_ALONE, PRODUCT_ALONE) if alone else (ROUND, GRADIENT, PRODUCT)
    )
    products = agent.round_products(shape, cell.rounds)
    if products is not None:  # networks that are trained on stored rows
        return overhead + NUMBER * numbers + PRODUCT_DATA * products + gradients * gradient
    if agent.stores_rounds(shape):  # a gradient goes through the whole buffer
        gradient += PRODUCT_DATA * 6 * size * (mean_capacity(cell.rounds) + shape.arms)
    else:
        gradient += product * (2 * size**2 + shape.arms * shape.dim)
    if isinstance(agent, Thompson) and agent.posterior.keeps_actions(shape):
        gradient += PRODUCT_PAST * mean_capacity(cell.rounds) * shape.arms * shape.dim
    if isinstance(agent, Thompson) and isinstance(agent.sampler, Exact):
        squares = shape.arms * size**2
        overhead += squares * (product if squares <= MAX_PRODUCTS_FLOAT64 else PRODUCT_FLOAT32)
    update = 6 * size**2 + 4 * shape.arms * shape.dim
    return overhead + NUMBER * numbers + product * update + gradients * gradient


def mean_capacity(rounds: int) -> float:
    """The room in a history, a power of two, on average over the rounds."""
    total, done, capacity = 0, 0, SMALLEST_CAPACITY
    while done < rounds:
        total += capacity * (min(rounds, capacity) - done)
        done, capacity = min(rounds, capacity), 2 * capacity
    return total / rounds
