"""What a study's numbers say, in sentences that follow from them and from nothing else."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments import comparisons
from experiments.cells import Cell
from experiments.layout import Layout
from experiments.relation import Cost, Pair, associations, cheapest, condition, median_of, pairs, within
from experiments.scaling import Line, exponent, lines
from experiments.statistics import LEAST_UNITS, Interval, mean_interval, paired_difference
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
    samplers = len({pair.cell.flat["sampler"] for pair in known})
    if samplers < LEAST_UNITS:
        return []
    ranked = {k: v for k, v in associations(known).items() if np.isfinite(v.low) and not v.holds_zero}
    if not ranked:
        return ["No diagnostic's rank correlation with the regret gap over these cells excludes zero."]
    best = sorted(ranked.items(), key=lambda item: -abs(item[1].value))[:3]
    told = ", ".join(f"{name} (Spearman {_told(interval, 2)})" for name, interval in best)
    return [
        f"Over {len(known)} cells of {samplers} samplers, the diagnostics whose ranks go closest with the regret gap: "
        f"{told}."
    ]


def _samplers(cells: Sequence[Cell], data: Data) -> list[str]:
    found = pairs(cells, data)
    return _gaps(cells, data) + _quality(found) + _cheapest(found) + _inside(found)


def _cheapest(found: Sequence[Pair]) -> list[str]:
    """The least work that comes within a tenth of the oracle's regret, environment by environment."""
    sentences = []
    known = cheapest(found)
    for environment in dict.fromkeys(where for where, _ in known):
        costs = {name: cost for (where, name), cost in known.items() if where == environment}
        close = sorted((c.gradients, name) for name, c in costs.items() if np.isfinite(c.gradients.value))
        told = ", ".join(f"{name} ({_work(costs[name])})" for _, name in close[:4])
        sentences.append(
            f"{environment}: within 10% of exact regret for the least gradients: {told or 'none'}."
        )
    return sentences


def _work(cost: Cost) -> str:
    """The gradients and seconds of closeness, with what their error leaves open."""
    gradients, seconds = cost.gradients, cost.seconds
    told = f"{gradients.value:.0f} gradients a round"
    if gradients.value <= 1:
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
        if np.isfinite(cost.gradients.value):
            text = f"comes within 10% of exact regret at {_work(cost)}"
        elif np.isfinite(cost.gradients.low):
            text = (
                "does not come within 10% of exact regret at any of these budgets by its mean; by its interval perhaps "
                f"at {cost.gradients.low:.0f} gradients a round"
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
        told = [
            f"{number:.0e} (alpha={alpha:g}): {_told(mean_interval(gaps))}" for number, alpha, gaps in line
        ]
        text = f"{sampler}, regret gap to exact by condition number: {'; '.join(told)}."
        if len(line) > 1:
            growth = paired_difference(line[-1][2], line[0][2])
            told_growth = "grows" if growth.low > 0 else "falls" if growth.high < 0 else "does not change"
            text += f" From the least stiff to the stiffest it {told_growth} ({_told(growth)} per run)."
        sentences.append(text)
    return sentences


def _warmstart(cells: Sequence[Cell], data: Data) -> list[str]:
    """What a cold start costs, run by run at equal budget."""
    done = {(*_place(cell), cell.flat["agent.warm"]): cell for cell in cells}
    costs: dict[str, dict[str, Interval]] = {}
    for place in dict.fromkeys(_place(cell) for cell in cells):
        warm, cold = done.get((*place, True)), done.get((*place, False))
        if warm and cold and place[1] != REFERENCE:
            gap = paired_difference(final_regret(data[cold.id]), final_regret(data[warm.id]))
            costs.setdefault(place[0], {})[_named(place[1:])] = gap
    heads, sentences = [], []
    for environment, gaps in costs.items():
        more = [name for name, gap in gaps.items() if gap.low > 0]
        less = [name for name, gap in gaps.items() if gap.high < 0]
        heads.append(
            f"{environment}: a cold start has more regret than a warm one with {', '.join(more) or 'none'}, less with "
            f"{', '.join(less) or 'none'}, of {len(gaps)} compared at equal budget."
        )
        sentences += [
            f"{environment}: {name}, cold minus warm start: {_told(gap)} regret per run."
            for name, gap in gaps.items()
        ]
    return heads + sentences


def _place(cell: Cell) -> tuple[str, str, int]:
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


def _bonus(cells: Sequence[Cell], data: Data) -> list[str]:
    """Gains by the feel-good term, and whether they are larger with exact draws than with others, run by run."""
    lines: dict[str, dict[tuple[str, int], dict[float, np.ndarray]]] = {}
    for cell in cells:
        if "posterior.c" not in cell.flat:
            continue
        environment, sampler, steps = _place(cell)
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
                f"{environment}: with {_named(who)} the c that is best on the other half of the runs ({chosen}) saves "
                f"{_told(mean_interval(found.saved))} regret per run against c=0."
            )
        verdicts += _whose_effect(environment, gains)
        sentences += _with_budget(environment, gains)
    return verdicts + sentences


def _named(who: tuple[str, int]) -> str:
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
                f"{environment}: {sampler} gains {told} by c at {steps[-1]} than at {steps[0]} steps ({_told(more)})."
            )
    return sentences


def _whose_effect(environment: str, gains: Mapping[tuple[str, int], Gain]) -> list[str]:
    """A sampler's gain is that of exact draws, which is the posterior's, and the difference, which is the sampler's."""
    exact = gains.get((REFERENCE, 0))
    if exact is None:
        return []
    own = mean_interval(exact.saved)
    parts = {
        _named(who): (mean_interval(found.saved), paired_difference(found.saved, exact.saved))
        for who, found in gains.items()
        if found is not exact
    }
    less = [f"{name} ({_told(rest)})" for name, (_, rest) in parts.items() if rest.high < 0]
    more = [f"{name} ({_told(rest)})" for name, (_, rest) in parts.items() if rest.low > 0]
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


class Seen(NamedTuple):
    """A cell in the eyes of its diagnostics."""

    label: str
    wrong: bool  # the action distribution, against exact draws
    shown: bool  # by R-hat, nested R-hat or unique draws, for which no exact draws are needed
    accepting: bool  # acceptance above one half
    gap: Interval


def _blindness(cells: Sequence[Cell], data: Data) -> list[str]:
    sentences, found = [], []
    for pair in pairs(cells, data):
        if "diagnostics" not in pair.data.children:
            continue
        measured = pair.data.children["diagnostics"]
        names = ("tv", "tv_floor", "rhat", "nested_rhat", "unique", "acceptance")
        medians = {name: median_of(values(measured, name)) for name in names}
        label = _label(pair, "posterior.c", "sampler.spread", "sampler.contamination", "sampler.stuck")
        wrong = medians["tv"] > 3 * medians["tv_floor"] + 0.02
        alarms = _alarms(medians)
        seen = Seen(label, wrong, bool(alarms), medians["acceptance"] > 0.5, _gap(pair))
        found.append(seen)
        effect = "less" if seen.gap.high < 0 else "more" if seen.gap.low > 0 else "no different"
        text = f"{pair.cell.flat['environment']}: {label}: actions {'wrong' if wrong else 'right'} "
        text += f"(TV {medians['tv']:.2f}, floor {medians['tv_floor']:.2f}), "
        text += f"regret {effect} than exact ({_told(seen.gap)}); "
        text += f"bad: {', '.join(alarms)}" if alarms else "what needs no exact draws looks fine"
        told = [f"{SIGNS[name]} {medians[name]:.2f}" for name in SIGNS if not np.isnan(medians[name])]
        silent = [SIGNS[name] for name in SIGNS if np.isnan(medians[name])]
        text += f" ({', '.join(told)}" + (f"; does not apply: {', '.join(silent)})" if silent else ")")
        sentences.append(text + ".")
    return _blind_spots(found) + sentences


SIGNS = {
    "rhat": "R-hat",
    "nested_rhat": "nested R-hat",
    "unique": "share of moves",
    "acceptance": "acceptance",
}


def _alarms(medians: Mapping[str, float]) -> list[str]:
    """What looks bad without exact draws; a diagnostic that does not apply to a sampler is silent."""
    bad = {"rhat": medians["rhat"] > 1.1, "nested_rhat": medians["nested_rhat"] > 1.1}
    bad["unique"] = medians["unique"] < 0.1
    return [SIGNS[name] for name, alarm in bad.items() if alarm]


def _blind_spots(found: Sequence[Seen]) -> list[str]:
    """What the cells say together."""
    kinds = {
        "wrong, and no sign of it without exact draws": [s for s in found if s.wrong and not s.shown],
        "wrong, with an acceptance above one half": [s for s in found if s.wrong and s.accepting],
        "right, although R-hat, nested R-hat or unique draws look bad": [
            s for s in found if not s.wrong and s.shown
        ],
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
