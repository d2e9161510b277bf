"""What the feel-good term saves, sampler by sampler: the reading of the study `bonus`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.analysis.budgets import Who, budget, named
from experiments.analysis.diagnostics_vs_regret import wrong_actions
from experiments.analysis.statistics import mean_and_median, mean_interval, paired_difference
from experiments.analysis.summary import final_regret
from experiments.analysis.text import counted
from experiments.config.cell import REFERENCE, Cell


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
    """Gains by the feel-good term: with accurate samplers and with others, with exact draws and with others."""
    lines: dict[str, dict[Who, dict[float, Cell]]] = {}
    for cell in cells:
        if "posterior.c" in cell.flat:
            environment, sampler, steps = budget(cell)
            line = lines.setdefault(environment, {}).setdefault((sampler, steps), {})
            line[cell.flat["posterior.c"]] = cell
    verdicts, sentences = [], []
    for environment, here in lines.items():
        regret = {
            who: {c: final_regret(data[cell.id]) for c, cell in line.items()} for who, line in here.items()
        }
        gains = {
            who: gain(line) for who, line in regret.items() if len(line.get(0.0, ())) > 1 and len(line) > 1
        }
        wrong = {
            who: [wrong_actions(data[here[who][c].id]) for c in (0.0, *found.best)]
            for who, found in gains.items()
        }
        told = when_accurate(gains, {who: any(seen) for who, seen in wrong.items() if None not in seen})
        told += whose_effect(gains)
        verdicts += [f"{environment}: {' '.join(told)}"] if told else []
        for who, found in gains.items():
            chosen = " and ".join(f"{c:g}" for c in dict.fromkeys(found.best))
            sentences.append(
                f"{environment}: with {named(who)} the c that is best on the other half of the runs ({chosen}) saves "
                f"{mean_and_median(found.saved)} regret per run against c=0."
            )
        sentences += _with_budget(environment, gains)
    return verdicts + sentences


def when_accurate(gains: Mapping[Who, Gain], wrong: Mapping[Who, bool]) -> list[str]:
    """Whether the term helps samplers whose actions are right, and those whose actions are wrong, at any c compared."""
    saved, told = {}, []
    for side, name in ((False, "accurate"), (True, "inaccurate")):
        those = [who for who, found in wrong.items() if found is side]
        if those:
            saved[side] = np.mean([gains[who].saved for who in those], axis=0)
            told.append(
                f"{mean_and_median(saved[side])} with {name} sampling ({', '.join(map(named, those))})"
            )
        else:
            told.append(f"no sampler here is {name}")
    if not saved:
        return []
    helps = [side for side, found in saved.items() if mean_interval(found).low > 0]
    if len(saved) == 1:
        text = "helps" if helps else "shows no help"
    else:
        text = {
            (): "shows no help, whether sampling is accurate or not",
            (False,): "helps only where sampling is accurate",
            (True,): "helps only where sampling is inaccurate",
        }.get(tuple(helps), "helps whether sampling is accurate or not")
    return [f"the feel-good term {text}. Regret that it saves per run: {'; '.join(told)}."]


def _with_budget(environment: str, gains: Mapping[Who, Gain]) -> list[str]:
    """Whether more steps of the same sampler gain more."""
    sentences = []
    for sampler in dict.fromkeys(name for name, _ in gains):
        steps = sorted(number for name, number in gains if name == sampler)
        if len(steps) > 1:
            few, many = gains[sampler, steps[0]], gains[sampler, steps[-1]]
            more = paired_difference(many.saved, few.saved)
            told = "more" if more.low > 0 else "less" if more.high < 0 else "no different"
            sentences.append(
                f"{environment}: {sampler} gains {told} by c at {steps[-1]} than at {counted(steps[0], 'step')} "
                f"({more.told()})."
            )
    return sentences


def whose_effect(gains: Mapping[Who, Gain]) -> list[str]:
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
        text = "A c above zero helps exact draws: it is an effect of the posterior"
    elif any(parts[name][1].low > 0 for name in gaining):
        text = "A c above zero shows no help to exact draws, and more to some samplers: it is an effect of the sampler"
    elif gaining:
        text = "A c above zero helps some samplers, and whether that is the posterior's or the sampler's effect is open"
    else:
        text = "A c above zero shows no help to anyone"
    for told, names in (("less than exact draws gain", less), ("more than exact draws gain", more)):
        text += f"; {told}: {', '.join(names)}" if names else ""
    text += f"; no difference in gain found between exact draws and {', '.join(same)}" if same else ""
    return [f"{text}."]
