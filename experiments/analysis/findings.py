"""What a study's numbers say, in sentences that follow from them and from nothing else."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.analysis import comparisons
from experiments.analysis.budgets import budget, named
from experiments.analysis.diagnostics_vs_regret import (
    Cost,
    Pair,
    associations,
    cheapest,
    condition,
    pairs,
    within,
)
from experiments.analysis.hyperparameters import LEVELS, TunedAlgorithm, tuned_algorithms
from experiments.analysis.scaling import Line, exponent, lines
from experiments.analysis.statistics import LEAST_UNITS, mean_and_median, mean_interval, paired_difference
from experiments.analysis.summary import LOCKED, final_regret, locked_share
from experiments.analysis.text import counted
from experiments.config.cell import REFERENCE, Cell
from experiments.config.comparison import Comparison
from experiments.studies.blindness.findings import blindness
from experiments.studies.bonus.findings import bonus

type Data = Mapping[str, xr.DataTree]
COMPARISON = Comparison()
MANY = 10  # intervals side by side, of which some leave out what is true
NOT_OF_SAMPLERS = ("tv_floor", "condition")  # diagnostics that tell of the measurement or of the posterior

type Reading = Callable[[Sequence[Cell], Data], list[str]]


def read(study: str, cells: Sequence[Cell], data: Data, comparison: Comparison = COMPARISON) -> list[str]:
    """The reading of a study; one without its own says which algorithms lead, or who keeps up with exact draws."""
    done = [cell for cell in cells if cell.id in data]
    found = tuned_algorithms(cells, data, comparison)
    if scaled := lines(found, data):
        return _exponents(scaled)
    if found:
        return _standings(found, data) if comparison.sweep is None else _along(found, data, comparison.sweep)
    return READINGS.get(study, _against_exact)(done, data) if done else []


def _standings(found: Sequence[TunedAlgorithm], data: Data) -> list[str]:
    """Algorithms by their regret, at textbook and at tuned settings."""
    sentences = []
    for panel in dict.fromkeys(place.panel for place in found):
        for level in LEVELS:
            regret = {
                (place.name, place.told(level)): final_regret(data[chosen.cell.id]).mean()
                for place in found
                if place.panel == panel and (chosen := place.at(level)) is not None
            }
            order = sorted(regret, key=lambda key: regret[key])
            told = ", ".join(
                f"{name} {regret[name, setting]:.1f}"
                + (f" ({setting})" if setting and level == "tuned" else "")
                for name, setting in order
            )
            if order:
                sentences.append(f"{panel}, {level} settings, mean regret from the least: {told}.")
    return sentences


def _along(found: Sequence[TunedAlgorithm], data: Data, key: str) -> list[str]:
    """Where along a setting each algorithm has its least regret."""
    sentences = []
    for panel, name, level in dict.fromkeys((p.panel, p.name, level) for p in found for level in LEVELS):
        line = {
            chosen.cell.flat[key]: final_regret(data[chosen.cell.id]).mean()
            for place in found
            if (place.panel, place.name) == (panel, name) and (chosen := place.at(level)) is not None
        }
        if line:
            best = min(line, key=lambda x: line[x])
            told = ", ".join(f"{x:g}: {regret:.1f}" for x, regret in line.items())
            sentences.append(
                f"{panel}: {name}, {level} settings, has its least mean regret at "
                f"{key.rpartition('.')[2]}={best:g} ({told})."
            )
    return sentences


def _exponents(found: Sequence[Line]) -> list[str]:
    """The fitted exponents of every algorithm, axis by axis."""
    sentences = []
    for name, level in dict.fromkeys((line.name, line.level) for line in found):
        told = ", ".join(
            f"{line.axis.name} {exponent(line.x, line.regret).told(2)}"
            for line in found
            if (line.name, line.level) == (name, level)
        )
        sentences.append(f"{name}, {level} settings, exponents of regret in: {told}.")
    return sentences


def _by_environment(found: Sequence[Pair]) -> dict[str, list[Pair]]:
    grouped: dict[str, list[Pair]] = {}
    for pair in found:
        grouped.setdefault(str(pair.cell.flat["environment"]), []).append(pair)
    return grouped


def _against_exact(cells: Sequence[Cell], data: Data) -> list[str]:
    found = pairs(cells, data)
    return _added(found) + _quality(found) + _gaps(found)


def _added(found: Sequence[Pair]) -> list[str]:
    """Who has other regret than exact draws, in a sentence for all environments."""
    told = []
    for environment, here in _by_environment(found).items():
        apart = [pair for pair in here if not pair.gap.holds_zero]
        names = [
            f"{pair.label()} {pair.gap.value:+.1f}"
            if len(here) >= MANY
            else f"{pair.label()} {pair.gap.told()}"
            for pair in apart
        ]
        even = len(here) - len(apart)
        names += [f"{even} of {len(here)} within sampling error"] if even else []
        told.append(f"on {environment}: {', '.join(names)}")
    return (
        [f"Regret added to that of exact draws, by paired 95% intervals, {'; '.join(told)}."] if told else []
    )


def _gaps(found_: Sequence[Pair]) -> list[str]:
    """Who keeps up with exact draws, environment by environment."""
    sentences = []
    for environment, found in _by_environment(found_).items():
        level = final_regret(found[0].reference).mean()
        apart = [pair for pair in found if not pair.gap.holds_zero]
        even, many = [pair for pair in found if pair not in apart], len(found) >= MANY
        text = f"{environment}: exact draws have a mean regret of {level:.1f}."
        if even:
            told = [pair.label() if many else f"{pair.label()} ({pair.gap.told()})" for pair in even]
            text += f" Within sampling error of it, by paired 95% intervals: {', '.join(told)}."
        for pair in apart:
            text += f" {pair.label()}: {pair.gap.told()} per run, median {np.median(pair.gaps):+.1f}, "
            locked = locked_share(final_regret(pair.data), final_regret(pair.reference))
            text += f"{locked:.0%} of runs above {LOCKED:g} times exact."
        if many:
            chance = f"{0.05 * len(found):.0f}"
            verb = "leaves" if chance == "1" else "leave"
            text += f" Of {len(found)} such intervals about {chance} {verb} 0 out by chance alone."
        sentences.append(text)
    return sentences


def _quality(found: Sequence[Pair]) -> list[str]:
    """Which diagnostics rank the samplers as regret does."""
    known = [pair for pair in found if "diagnostics" in pair.data.children]
    samplers = len({pair.cell.flat["sampler"] for pair in known})
    if samplers < LEAST_UNITS:
        return []
    ranked = {
        name: found_
        for name, found_ in associations(known).items()
        if name not in NOT_OF_SAMPLERS and np.isfinite(found_.low) and not found_.holds_zero
    }
    if not ranked:
        return ["No diagnostic's rank correlation with the regret gap over these cells excludes zero."]
    best = sorted(ranked.items(), key=lambda item: -abs(item[1].value))[:3]
    told = ", ".join(f"{name} (Spearman {interval.told(2)})" for name, interval in best)
    whose = "its" if len(best) == 1 else "their"
    return [
        f"{told}: of all diagnostics, {whose} ranks go closest with those of the regret gap, over "
        f"{counted(len(known), 'cell')} of {samplers} samplers."
    ]


def _samplers(cells: Sequence[Cell], data: Data) -> list[str]:
    found = pairs(cells, data)
    return _quality(found) + _added(found) + _gaps(found) + _cheapest(found) + _inside(found)


def _cheapest(found: Sequence[Pair]) -> list[str]:
    """The least work that comes within a tenth of the oracle's regret, in a sentence for all environments."""
    parts = []
    known = cheapest(found)
    for environment in dict.fromkeys(where for where, _ in known):
        costs = {name: cost for (where, name), cost in known.items() if where == environment}
        close = sorted(
            (c.num_gradients, name) for name, c in costs.items() if np.isfinite(c.num_gradients.value)
        )
        told = ", ".join(f"{name} ({_work(costs[name])})" for _, name in close[:4])
        parts.append(f"on {environment}: {told or 'none'}")
    return [f"Within 10% of exact regret for the least gradients, {'; '.join(parts)}."] if parts else []


def _work(cost: Cost) -> str:
    """The gradients and seconds of closeness, with what their error leaves open."""
    gradients, seconds = cost.num_gradients, cost.seconds
    told = f"{counted(gradients.value, 'gradient')} a round"
    if (
        gradients.value <= 1 and cost.work != "steps"
    ):  # a kernel without gradients says what it counts instead
        told += f", that is {cost.work}"
    if gradients.low < gradients.value:
        told += f", by its interval perhaps {gradients.low:.0f}"
    if not np.isfinite(gradients.high):
        told += ", surely at none of these settings"
    elif gradients.high > gradients.value:
        told += f", surely {gradients.high:.0f}"
    return f"{told}; {seconds.value:.1f} s"


def _inside(found: Sequence[Pair]) -> list[str]:
    """Whether the rounds with a worse action distribution are the rounds with more regret, sampler by sampler."""
    known = [pair for pair in found if "diagnostics" in pair.data.children]
    shown = [(pair, within(pair, "tv")) for pair in known]
    told = [
        f"{pair.cell.flat['environment']} {pair.label()} ({interval.told(2)})"
        for pair, interval in shown
        if np.isfinite(interval.low) and not interval.holds_zero
    ]
    return (
        [f"Within a sampler, over runs and probe rounds, tv goes with the regret gap in: {', '.join(told)}."]
        if told
        else []
    )


def _budget(cells: Sequence[Cell], data: Data) -> list[str]:
    found = pairs(cells, data)
    sentences = []
    for (environment, sampler), cost in cheapest(found).items():
        if np.isfinite(cost.num_gradients.value):
            text = f"comes within 10% of exact regret at {_work(cost)}"
        elif np.isfinite(cost.num_gradients.low):
            text = (
                "does not come within 10% of exact regret at any of these budgets by its mean; by its interval perhaps "
                f"at {counted(cost.num_gradients.low, 'gradient')} a round"
            )
        else:
            text = "does not come within 10% of exact regret at any of these budgets, by its whole interval"
        sentences.append(f"{environment}: {sampler} {text}.")
    return _cheapest(found) + _quality(found) + sentences


def _stiffness(cells: Sequence[Cell], data: Data) -> list[str]:
    """Regret gaps against the measured condition number, and whether they grow with it, run by run."""
    sentences = []
    found = [pair for pair in pairs(cells, data) if "posterior.alpha" in pair.cell.flat]
    for sampler in dict.fromkeys(pair.cell.flat["sampler"] for pair in found):
        own = [pair for pair in found if pair.cell.flat["sampler"] == sampler]
        line = [(condition(pair.data), pair.cell.flat["posterior.alpha"], pair.gaps) for pair in own]
        line.sort(key=lambda one: -one[1])
        told = [f"{number:.0e} (alpha={alpha:g}): {mean_and_median(gaps)}" for number, alpha, gaps in line]
        text = f"{sampler}, regret gap to exact by condition number: {'; '.join(told)}."
        if len(line) > 1:
            growth = paired_difference(line[-1][2], line[0][2])
            told_growth = "grows" if growth.low > 0 else "falls" if growth.high < 0 else "does not change"
            text += f" From the least stiff to the stiffest it {told_growth} ({growth.told()} per run)."
        sentences.append(text)
    return sentences


def _warmstart(cells: Sequence[Cell], data: Data) -> list[str]:
    """What a cold start costs, run by run at equal budget."""
    done = {(*budget(cell), cell.flat["agent.warm_start"]): cell for cell in cells}
    costs: dict[str, dict[str, np.ndarray]] = {}
    for place in dict.fromkeys(budget(cell) for cell in cells):
        warm, cold = done.get((*place, True)), done.get((*place, False))
        if warm and cold and place[1] != REFERENCE:
            gap = final_regret(data[cold.id]) - final_regret(data[warm.id])
            costs.setdefault(place[0], {})[named(place[1:])] = gap
    heads, sentences = [], []
    for environment, gaps in costs.items():
        found = {name: mean_interval(gap) for name, gap in gaps.items()}
        more = [name for name, gap in found.items() if gap.low > 0]
        less = [name for name, gap in found.items() if gap.high < 0]
        heads.append(
            f"{environment}: a cold start has more regret than a warm one with {', '.join(more) or 'none'}, less with "
            f"{', '.join(less) or 'none'}, of {len(gaps)} compared at equal budget."
        )
        sentences += [
            f"{environment}: {name}, cold minus warm start: {mean_and_median(gap)} regret per run."
            for name, gap in gaps.items()
        ]
    return heads + sentences


READINGS: dict[str, Reading] = {
    "samplers": _samplers,
    "budget": _budget,
    "stiffness": _stiffness,
    "warmstart": _warmstart,
    "bonus": bonus,
    "blindness": blindness,
    "variance": comparisons.variance,
    "general": comparisons.general,
}
