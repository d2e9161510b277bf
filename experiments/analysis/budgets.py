"""Samplers with their numbers of steps, as cells have them and as a reader calls them."""

from experiments.analysis.text import counted
from experiments.config.cell import REFERENCE, Cell

type Who = tuple[str, int]  # a sampler and its number of steps


def budget(cell: Cell) -> tuple[str, str, int]:
    """Environment, sampler and its number of steps, 0 where it has none."""
    return cell.flat["environment"], cell.flat["sampler"], cell.flat.get("sampler.num_steps", 0)


def named(who: Who) -> str:
    """A sampler with its number of steps, as a reader calls it."""
    sampler, steps = who
    if steps:
        return f"{sampler} at {counted(steps, 'step')}"
    return "exact draws" if sampler == REFERENCE else sampler
