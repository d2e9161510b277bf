"""Findings of the study `bonus`: what the feel-good term saves, sampler by sampler."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from experiments.analysis.diagnostics_vs_regret import wrong_actions
from experiments.analysis.findings import Budget, budget_of, format_budget
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import format_mean_and_median, mean_interval, paired_difference
from experiments.config.cell import REFERENCE, Cell
from experiments.config.text import counted

C = "posterior.c"  # the scale of the feel-good term


class Gain(NamedTuple):
    """What a c above zero saves, and which c were best."""

    saved: Float[np.ndarray, " runs"]  # regret at c = 0 minus that at the best c
    best: tuple[float, ...]


def gain(regret: Mapping[float, Float[np.ndarray, " runs"]]) -> Gain:
    """What the best c saves, by two-fold cross-validation over runs: a choice looks too good on its own runs.

    Args:
        regret: final regret by c, which must include c = 0.
    """
    saved = np.zeros_like(regret[0.0])
    halves = (slice(0, None, 2), slice(1, None, 2))
    best = []
    for half, other in (halves, halves[::-1]):
        best.append(min(regret, key=lambda c, other=other: regret[c][other].mean()))  # type: ignore[misc]
        saved[half] = regret[0.0][half] - regret[best[-1]][half]
    return Gain(saved, tuple(best))


def findings(results: StudyResults) -> list[str]:
    """Gains by the feel-good term: with accurate samplers and with others, with exact draws and with others."""
    lines: dict[str, dict[Budget, dict[float, Cell]]] = {}
    for cell in results.done:
        if C in cell.flat:
            line = lines.setdefault(cell.flat["environment"], {}).setdefault(budget_of(cell), {})
            line[cell.flat[C]] = cell
    summaries, sentences = [], []
    for environment, here in lines.items():
        regret = {who: {c: results.final(cell) for c, cell in line.items()} for who, line in here.items()}
        gains = {
            who: gain(line) for who, line in regret.items() if len(line.get(0.0, ())) > 1 and len(line) > 1
        }
        wrong = {
            who: [wrong_actions(results.data[here[who][c].id]) for c in (0.0, *own.best)]
            for who, own in gains.items()
        }
        texts = when_accurate(gains, {who: any(seen) for who, seen in wrong.items() if None not in seen})
        texts += whose_effect(gains)
        summaries += [f"{environment}: {' '.join(texts)}"] if texts else []
        for who, own in gains.items():
            chosen = " and ".join(f"{c:g}" for c in dict.fromkeys(own.best))
            sentences.append(
                f"{environment}: with {format_budget(who)} the c that is best on the other half of the runs ({chosen}) "
                f"saves {format_mean_and_median(own.saved)} regret per run against c=0."
            )
        sentences += _with_budget(environment, gains)
    return summaries + sentences


def when_accurate(gains: Mapping[Budget, Gain], wrong: Mapping[Budget, bool]) -> list[str]:
    """Whether the term helps samplers whose actions are right, and those whose actions are wrong, at any c compared."""
    saved, parts = {}, []
    for side, name in ((False, "accurate"), (True, "inaccurate")):
        those = [who for who, is_wrong in wrong.items() if is_wrong is side]
        if those:
            saved[side] = np.mean([gains[who].saved for who in those], axis=0)
            parts.append(
                f"{format_mean_and_median(saved[side])} with {name} sampling ({', '.join(map(format_budget, those))})"
            )
        else:
            parts.append(f"no sampler here is {name}")
    if not saved:
        return []
    helps = [side for side, by_run in saved.items() if mean_interval(by_run).low > 0]
    if len(saved) == 1:
        text = "helps" if helps else "shows no help"
    else:
        text = {
            (): "shows no help, whether sampling is accurate or not",
            (False,): "helps only where sampling is accurate",
            (True,): "helps only where sampling is inaccurate",
        }.get(tuple(helps), "helps whether sampling is accurate or not")
    return [f"the feel-good term {text}. Regret that it saves per run: {'; '.join(parts)}."]


def _with_budget(environment: str, gains: Mapping[Budget, Gain]) -> list[str]:
    """Whether more steps of the same sampler gain more."""
    sentences = []
    for sampler in dict.fromkeys(name for name, _ in gains):
        steps = sorted(number for name, number in gains if name == sampler)
        if len(steps) > 1:
            few, many = gains[sampler, steps[0]], gains[sampler, steps[-1]]
            more = paired_difference(many.saved, few.saved)
            verdict = "more" if more.low > 0 else "less" if more.high < 0 else "no different"
            sentences.append(
                f"{environment}: {sampler} gains {verdict} by c at {steps[-1]} than at {counted(steps[0], 'step')} "
                f"({more.format()})."
            )
    return sentences


def whose_effect(gains: Mapping[Budget, Gain]) -> list[str]:
    """A sampler's gain is that of exact draws, which is the posterior's, and the difference, which is the sampler's."""
    exact = gains.get((REFERENCE, 0))
    if exact is None:
        return []
    own = mean_interval(exact.saved)
    parts = {
        format_budget(who): (mean_interval(other.saved), paired_difference(other.saved, exact.saved))
        for who, other in gains.items()
        if other is not exact
    }
    less = [f"{name} ({rest.format()})" for name, (_, rest) in parts.items() if rest.high < 0]
    more = [f"{name} ({rest.format()})" for name, (_, rest) in parts.items() if rest.low > 0]
    same = [name for name, (_, rest) in parts.items() if rest.contains_zero]
    gaining = [name for name, (whole, _) in parts.items() if whole.low > 0]
    if own.low > 0:
        text = "A c above zero helps exact draws: it is an effect of the posterior"
    elif any(parts[name][1].low > 0 for name in gaining):
        text = "A c above zero shows no help to exact draws, and more to some samplers: it is an effect of the sampler"
    elif gaining:
        text = "A c above zero helps some samplers, and whether that is the posterior's or the sampler's effect is open"
    else:
        text = "A c above zero shows no help to anyone"
    for relation, names in (("less than exact draws gain", less), ("more than exact draws gain", more)):
        text += f"; {relation}: {', '.join(names)}" if names else ""
    text += f"; no difference in gain found between exact draws and {', '.join(same)}" if same else ""
    return [f"{text}."]
