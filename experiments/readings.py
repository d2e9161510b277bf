"""What a study's numbers say, in sentences that follow from them and from nothing else."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr

from experiments import comparisons
from experiments.cells import Cell
from experiments.relation import Pair, associations, cheapest, median_of, pairs, within
from experiments.statistics import Interval, paired_difference
from experiments.store import values
from experiments.summary import LOCKED, final_regret, locked_share

type Data = Mapping[str, xr.DataTree]
type Reading = Callable[[Sequence[Cell], Data], list[str]]


def read(study: str, cells: Sequence[Cell], data: Data) -> list[str]:
    """The reading of a study; one without its own says which samplers keep up with exact draws."""
    done = [cell for cell in cells if cell.id in data]
    return READINGS.get(study, _gaps)(done, data) if done else []


def _told(interval: Interval, digits: int = 1) -> str:
    return f"{interval.value:+.{digits}f} [{interval.low:+.{digits}f}, {interval.high:+.{digits}f}]"


def _label(pair: Pair, *keys: str) -> str:
    extra = [f"{key.rpartition('.')[2]}={pair.cell.flat[key]:g}" for key in keys if key in pair.cell.flat]
    return " ".join([str(pair.cell.flat["sampler"]), *extra])


def _gap(pair: Pair) -> Interval:
    return paired_difference(final_regret(pair.data), final_regret(pair.reference))


def _by_environment(found: Sequence[Pair]) -> dict[str, list[Pair]]:
    grouped: dict[str, list[Pair]] = {}
    for pair in found:
        grouped.setdefault(str(pair.cell.flat["environment"]), []).append(pair)
    return grouped


def _gaps(cells: Sequence[Cell], data: Data) -> list[str]:
    """Who keeps up with exact draws, environment by environment."""
    sentences = []
    for environment, found in _by_environment(pairs(cells, data)).items():
        level = final_regret(found[0].reference).mean()
        apart = [pair for pair in found if not _gap(pair).holds_zero]
        even = [f"{_label(pair)} ({_told(_gap(pair))})" for pair in found if pair not in apart]
        text = f"{environment}: exact draws have a mean regret of {level:.1f}."
        if even:
            text += f" Within sampling error of it, by paired 95% intervals: {', '.join(even)}."
        for pair in apart:
            text += f" {_label(pair)}: {_told(_gap(pair))} per run, median {np.median(pair.gaps):+.1f}, "
            locked = locked_share(final_regret(pair.data), final_regret(pair.reference))
            text += f"{locked:.0%} of runs above {LOCKED:g} times exact."
        sentences.append(text)
    return sentences


def _quality(found: Sequence[Pair]) -> list[str]:
    """Which diagnostics rank the samplers as regret does."""
    known = [pair for pair in found if "diagnostics" in pair.data.children]
    if len({pair.cell.flat["sampler"] for pair in known}) < 4:
        return []
    ranked = {k: v for k, v in associations(known).items() if np.isfinite(v.low) and not v.holds_zero}
    if not ranked:
        return ["No diagnostic's rank correlation with the regret gap over these cells excludes zero."]
    best = sorted(ranked.items(), key=lambda item: -abs(item[1].value))[:3]
    told = ", ".join(f"{name} (Spearman {_told(interval, 2)})" for name, interval in best)
    return [f"Over {len(known)} cells, the diagnostics whose ranks go closest with the regret gap: {told}."]


def _samplers(cells: Sequence[Cell], data: Data) -> list[str]:
    found = pairs(cells, data)
    return _gaps(cells, data) + _quality(found) + _cheapest(found) + _inside(found)


def _cheapest(found: Sequence[Pair]) -> list[str]:
    """The least work that comes within a tenth of the oracle's regret, environment by environment."""
    sentences = []
    for environment in dict.fromkeys(pair.cell.flat["environment"] for pair in found):
        costs = {name: cost for (where, name), cost in cheapest(found).items() if where == environment}
        close = sorted(
            (c.gradients, c.seconds, name) for name, c in costs.items() if np.isfinite(c.gradients)
        )
        told = ", ".join(
            f"{name} ({gradients:.0f} gradients a round, {s:.1f} s)" for gradients, s, name in close[:4]
        )
        sentences.append(
            f"{environment}: within 10% of exact regret for the least gradients: {told or 'none'}."
        )
    return sentences


def _inside(found: Sequence[Pair]) -> list[str]:
    """Whether the rounds with a worse action distribution are the rounds with more regret, sampler by sampler."""
    known = [pair for pair in found if "diagnostics" in pair.data.children]
    shown = [(pair, within(pair, "tv")) for pair in known]
    told = [
        f"{pair.cell.flat['environment']} {_label(pair)} ({_told(interval, 2)})"
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
        if np.isfinite(cost.gradients):
            text = f"comes within 10% of exact regret at {cost.gradients:.0f} gradients a round ({cost.seconds:.1f} s)"
        else:
            text = "does not come within 10% of exact regret at any of these budgets"
        sentences.append(f"{environment}: {sampler} {text}.")
    return sentences + _quality(found)


def _stiffness(cells: Sequence[Cell], data: Data) -> list[str]:
    sentences = []
    for sampler in dict.fromkeys(pair.cell.flat["sampler"] for pair in pairs(cells, data)):
        told = []
        for pair in pairs(cells, data):
            if pair.cell.flat["sampler"] == sampler:
                condition = _last(pair, "condition")
                told.append(
                    f"alpha={pair.cell.flat['posterior.alpha']:g} (condition {condition:.0e}): {_told(_gap(pair))}"
                )
        sentences.append(f"{sampler}, regret gap to exact: " + "; ".join(told) + ".")
    return sentences


def _last(pair: Pair, metric: str) -> float:
    """A diagnostic's median over runs at the last probe round."""
    if "diagnostics" not in pair.data.children:
        return float("nan")
    return median_of(values(pair.data.children["diagnostics"], metric)[:, -1])


def _warmstart(cells: Sequence[Cell], data: Data) -> list[str]:
    sentences = []
    done = {(*_place(cell), cell.flat["agent.warm"]): cell for cell in cells}
    for place in dict.fromkeys(_place(cell) for cell in cells):
        warm, cold = done.get((*place, True)), done.get((*place, False))
        if warm and cold and place[1] != "exact":
            gap = paired_difference(final_regret(data[cold.id]), final_regret(data[warm.id]))
            steps = f" with {place[2]} steps" if place[2] else ""
            sentences.append(
                f"{place[0]}: {place[1]}{steps}, cold minus warm start: {_told(gap)} regret per run."
            )
    return sentences


def _place(cell: Cell) -> tuple[str, str, int]:
    return cell.flat["environment"], cell.flat["sampler"], cell.flat.get("sampler.steps", 0)


def _bonus(cells: Sequence[Cell], data: Data) -> list[str]:
    sentences = []
    for place in dict.fromkeys(_place(cell) for cell in cells):
        line = {
            cell.flat["posterior.c"]: final_regret(data[cell.id]) for cell in cells if _place(cell) == place
        }
        best = min(line, key=lambda c: line[c].mean())
        steps = f" with {place[2]} steps" if place[2] else ""
        text = (
            f"{place[0]}: {place[1]}{steps} has its least mean regret at c={best:g} ({line[best].mean():.1f})"
        )
        if 0.0 in line and best != 0.0:
            text += f"; against c=0 that is {_told(paired_difference(line[best], line[0.0]))}"
        sentences.append(text + ".")
    return sentences


def _blindness(cells: Sequence[Cell], data: Data) -> list[str]:
    sentences = []
    for pair in pairs(cells, data):
        if "diagnostics" not in pair.data.children:
            continue
        found = pair.data.children["diagnostics"]
        tv, floor = median_of(values(found, "tv")), median_of(values(found, "tv_floor"))
        rhat, accept = median_of(values(found, "rhat")), median_of(values(found, "acceptance"))
        unique = median_of(values(found, "unique"))
        wrong = tv > 3 * floor + 0.02
        shown = rhat > 1.1 or unique < 0.1
        gap = _gap(pair)
        verdict = "wrong" if wrong else "right"
        effect = "less" if gap.high < 0 else "more" if gap.low > 0 else "no different"
        seen = "R-hat or unique draws show it" if shown else "R-hat, acceptance and unique draws look fine"
        label = _label(pair, "posterior.c", "sampler.spread", "sampler.contamination", "sampler.stuck")
        text = (
            f"{pair.cell.flat['environment']}: {label}: actions {verdict} (TV {tv:.2f}, floor {floor:.2f}), "
        )
        text += f"regret {effect} than exact ({_told(gap)}); {seen} (R-hat {rhat:.2f}"
        text += f", acceptance {accept:.2f})" if np.isfinite(accept) else ")"
        sentences.append(text + ".")
    return sentences


READINGS: dict[str, Reading] = {
    "samplers": _samplers,
    "budget": _budget,
    "stiffness": _stiffness,
    "warmstart": _warmstart,
    "bonus": _bonus,
    "blindness": _blindness,
    "variance": comparisons.variance,
    "general": comparisons.general,
}
