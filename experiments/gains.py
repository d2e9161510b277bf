"""What the feel-good term saves, sampler by sampler: the reading of the study `bonus`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.cells import Cell
from experiments.statistics import mean_interval, paired_difference
from experiments.summary import REFERENCE, final_regret


def budget(cell: Cell) -> tuple[str, str, int]:
    """Environment, sampler and its number of steps, 0 where it has none."""
    return cell.flat["environment"], cell.flat["sampler"], cell.flat.get("sampler.steps", 0)


class Gain(NamedTuple):
    """What a c above zero saves: regret at c = 0 less that at the best c, run by run, and the c that were best."""

    saved: np.ndarray
    best: tuple[float, ...]


def gain(line: Mapping[float, np.ndarray]) -> Gain:
    """The best c for the one half of the runs is the one that is best for the other half: a choice flatters itself."""
    saved = np.zeros_like(line[0.0])
    halves = (slice(0, None, 2), slice(1, None, 2))
    best = []
    for half, other in (halves, halves[::-1]):
        best.append(min(line, key=lambda c, other=other: line[c][other].mean()))  # type: ignore[misc]
        saved[half] = line[0.0][half] - line[best[-1]][half]
    return Gain(saved, tuple(best))


def bonus(cells: Sequence[Cell], data: Mapping[str, xr.DataTree]) -> list[str]:
    """Gains by the feel-good term, and whether they are larger with exact draws than with others, run by run."""
    lines: dict[str, dict[tuple[str, int], dict[float, np.ndarray]]] = {}
    for cell in cells:
        if "posterior.c" not in cell.flat:
            continue
        environment, sampler, steps = budget(cell)
        line = lines.setdefault(environment, {}).setdefault((sampler, steps), {})
        line[cell.flat["posterior.c"]] = final_regret(data[cell.id])
    verdicts, sentences = [], []
    for environment, here in lines.items():
        gains = {
            who: gain(line) for who, line in here.items() if len(line.get(0.0, ())) > 1 and len(line) > 1
        }
        for who, found in gains.items():
            chosen = " and ".join(f"{c:g}" for c in dict.fromkeys(found.best))
            sentences.append(
                f"{environment}: with {named(who)} the c that is best on the other half of the runs ({chosen}) saves "
                f"{mean_interval(found.saved).told()} regret per run against c=0."
            )
        verdicts += whose_effect(environment, gains)
        sentences += _with_budget(environment, gains)
    return verdicts + sentences


def named(who: tuple[str, int]) -> str:
    """A sampler with its number of steps, as a reader calls it."""
    sampler, steps = who
    return f"{sampler} at {steps} steps" if steps else "exact draws" if sampler == REFERENCE else sampler


def _with_budget(environment: str, gains: Mapping[tuple[str, int], Gain]) -> list[str]:
    """Whether more steps of the same sampler gain more."""
    sentences = []
    for sampler in dict.fromkeys(name for name, _ in gains):
        steps = sorted(number for name, number in gains if name == sampler)
        if len(steps) > 1:
            few, many = gains[sampler, steps[0]], gains[sampler, steps[-1]]
            more = paired_difference(many.saved, few.saved)
            told = "more" if more.low > 0 else "less" if more.high < 0 else "no different"
            sentences.append(
                f"{environment}: {sampler} gains {told} by c at {steps[-1]} than at {steps[0]} steps ({more.told()})."
            )
    return sentences


def whose_effect(environment: str, gains: Mapping[tuple[str, int], Gain]) -> list[str]:
    """A sampler's gain is that of exact draws, which is the posterior's, and the difference, which is the sampler's."""
    exact = gains.get((REFERENCE, 0))
    if exact is None:
        return []
    own = mean_interval(exact.saved)
    parts = {
        named(who): (mean_interval(found.saved), paired_difference(found.saved, exact.saved))
        for who, found in gains.items()
        if found is not exact
    }
    less = [f"{name} ({rest.told()})" for name, (_, rest) in parts.items() if rest.high < 0]
    more = [f"{name} ({rest.told()})" for name, (_, rest) in parts.items() if rest.low > 0]
    same = [name for name, (_, rest) in parts.items() if rest.holds_zero]
    gaining = [name for name, (whole, _) in parts.items() if whole.low > 0]
    if own.low > 0:
        text = "a c above zero helps exact draws: it is an effect of the posterior"
    elif any(parts[name][1].low > 0 for name in gaining):
        text = "a c above zero shows no help to exact draws, and more to some samplers: it is an effect of the sampler"
    elif gaining:
        text = "a c above zero helps some samplers, and whether that is the posterior's or the sampler's effect is open"
    else:
        text = "a c above zero shows no help to anyone"
    for told, names in (("less than exact draws gain", less), ("more than exact draws gain", more)):
        text += f"; {told}: {', '.join(names)}" if names else ""
    text += f"; no difference in gain found between exact draws and {', '.join(same)}" if same else ""
    return [f"{environment}: {text}."]
