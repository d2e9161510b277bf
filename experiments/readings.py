"""What a study's numbers say, in sentences that follow from them and from nothing else."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments import comparisons
from experiments.cells import Cell
from experiments.layout import Layout
from experiments.relation import Pair, associations, cheapest, median_of, pairs, within
from experiments.scaling import Line, exponent, lines
from experiments.statistics import Interval, paired_difference
from experiments.store import values
from experiments.summary import LOCKED, REFERENCE, final_regret, locked_share
from experiments.tuning import LEVELS, Place, places

type Data = Mapping[str, xr.DataTree]
LAYOUT = Layout()

type Reading = Callable[[Sequence[Cell], Data], list[str]]


def read(study: str, cells: Sequence[Cell], data: Data, layout: Layout = LAYOUT) -> list[str]:
    """The reading of a study; one without its own says which algorithms lead, or who keeps up with exact draws."""
    done = [cell for cell in cells if cell.id in data]
    found = places(cells, data, layout)
    if scaled := lines(found, data):
        return _exponents(scaled)
    if found:
        return _standings(found, data) if layout.sweep is None else _along(found, data, layout.sweep)
    return READINGS.get(study, _gaps)(done, data) if done else []


def _standings(found: Sequence[Place], data: Data) -> list[str]:
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


def _along(found: Sequence[Place], data: Data, key: str) -> list[str]:
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
            f"{line.axis.name} {_told(exponent(line.x, line.regret), 2)}"
            for line in found
            if (line.name, line.level) == (name, level)
        )
        sentences.append(f"{name}, {level} settings, exponents of regret in: {told}.")
    return sentences


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
    """The best c is chosen on every other run and compared with c=0 on the others: a choice flatters itself."""
    sentences = []
    helped: dict[str, dict[str, bool]] = {}
    for place in dict.fromkeys(_place(cell) for cell in cells):
        line = {
            cell.flat["posterior.c"]: final_regret(data[cell.id]) for cell in cells if _place(cell) == place
        }
        best = min(line, key=lambda c: line[c][::2].mean())
        who = f"{place[1]} with {place[2]} steps" if place[2] else place[1]
        text = f"{place[0]}: {who} has its least mean regret on every other run at c={best:g}"
        if 0.0 in line:
            gap = paired_difference(line[best][1::2], line[0.0][1::2])
            helped.setdefault(place[0], {})[who] = best != 0.0 and gap.high < 0
            if best != 0.0:
                text += f"; against c=0 that is {_told(gap)} on the other runs"
        sentences.append(text + ".")
    return sentences + [_whose_effect(*item) for item in helped.items()]


def _whose_effect(environment: str, helped: Mapping[str, bool]) -> str:
    """Of the posterior if exact draws gain by the feel-good term, of the sampler if only approximate ones do."""
    gaining = [who for who, gains in helped.items() if gains]
    text = f"{environment}: a c above zero shows an advantage with {', '.join(gaining) or 'no sampler'}"
    if helped.get(REFERENCE):
        return text + ": it is an effect of the posterior."
    if gaining and REFERENCE in helped:
        return text + ", and not with exact draws: it is an effect of the sampler."
    return text + "."


class Seen(NamedTuple):
    """A cell in the eyes of its diagnostics."""

    label: str
    wrong: bool  # the action distribution, against exact draws
    shown: bool  # by R-hat or unique draws, which need no exact draws
    gap: Interval


def _blindness(cells: Sequence[Cell], data: Data) -> list[str]:
    sentences, found = [], []
    for pair in pairs(cells, data):
        if "diagnostics" not in pair.data.children:
            continue
        measured = pair.data.children["diagnostics"]
        tv, floor = median_of(values(measured, "tv")), median_of(values(measured, "tv_floor"))
        rhat, accept = median_of(values(measured, "rhat")), median_of(values(measured, "acceptance"))
        unique = median_of(values(measured, "unique"))
        label = _label(pair, "posterior.c", "sampler.spread", "sampler.contamination", "sampler.stuck")
        seen = Seen(label, tv > 3 * floor + 0.02, rhat > 1.1 or unique < 0.1, _gap(pair))
        found.append(seen)
        effect = "less" if seen.gap.high < 0 else "more" if seen.gap.low > 0 else "no different"
        told = (
            "R-hat or unique draws show it" if seen.shown else "R-hat, acceptance and unique draws look fine"
        )
        text = f"{pair.cell.flat['environment']}: {label}: actions {'wrong' if seen.wrong else 'right'} "
        text += (
            f"(TV {tv:.2f}, floor {floor:.2f}), regret {effect} than exact ({_told(seen.gap)}); {told} (R-hat"
        )
        text += f" {rhat:.2f}, acceptance {accept:.2f})" if np.isfinite(accept) else f" {rhat:.2f})"
        sentences.append(text + ".")
    return _blind_spots(found) + sentences


def _blind_spots(found: Sequence[Seen]) -> list[str]:
    """What the cells say together."""
    kinds = {
        "wrong, and no sign of it without exact draws": [s for s in found if s.wrong and not s.shown],
        "right, although R-hat or unique draws look bad": [s for s in found if not s.wrong and s.shown],
        "wrong, with less regret than exact draws": [s for s in found if s.wrong and s.gap.high < 0],
        "right, with more regret than exact draws": [s for s in found if not s.wrong and s.gap.low > 0],
    }
    return [
        f"Actions {kind}: {len(those)} of {len(found)} cells ({', '.join(s.label for s in those)})."
        for kind, those in kinds.items()
        if those
    ]


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
