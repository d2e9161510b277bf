"""Findings of the study `data`: whether the default settings do what they should, dataset by dataset.

The rule: the default beats another algorithm on a dataset if the paired 95% interval of its regret minus the other's is
below zero; the other is taken at its default and at its tuned settings. Of the ratio of its regret to that of the best
Thompson agent or LinTS, tuned on the other seed: near if the interval is up to 1.1, not near if it is above, else open.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from experiments.analysis.hyperparameters import TunedAlgorithm
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, mean_interval, paired_difference, paired_ratio

DEFAULT = "Thompson (exact)"
TO_BEAT = ("epsilon-greedy", "uniform")
TUNED = ("Thompson, eta tuned", "LinTS")
NEAR = 1.1
type Algorithms = Mapping[str, TunedAlgorithm]


def findings(results: StudyResults) -> list[str]:
    """The verdict by the rule above, then the numbers of every dataset."""
    panels = {panel: here for panel, here in results.algorithms_by_panel.items() if _has(here, DEFAULT)}
    verdicts = {
        (other, level): _verdict(f"{other} at {words} settings", gaps)
        for other in (*TO_BEAT, "greedy", "LinTS")
        for level, words in (("textbook", "default"), ("tuned", "tuned"))
        if (gaps := _gaps(results, panels, other, level))
    }
    sentences = [
        " ".join(verdicts[other, "textbook"] for other in TO_BEAT if (other, "textbook") in verdicts)
    ]
    if ("greedy", "textbook") in verdicts:
        sentences += [" ".join([verdicts["greedy", "textbook"], *_why_not_greedy(results, panels)])]
    sentences += _nearness(results, panels)
    rest = [(other, "tuned") for other in ("epsilon-greedy", "greedy")] + [
        ("LinTS", "textbook"),
        ("LinTS", "tuned"),
    ]
    sentences += [verdicts[key] for key in rest if key in verdicts]
    return [*filter(None, sentences), *(_numbers(results, panel, here) for panel, here in panels.items())]


def _gaps(
    results: StudyResults, panels: Mapping[str, Algorithms], other: str, level: str
) -> dict[str, Interval]:
    """Regret of the default minus that of another algorithm, by dataset."""
    return {
        panel: paired_difference(_regret(results, here, DEFAULT), _regret(results, here, other, level))
        for panel, here in panels.items()
        if _has(here, other, level)
    }


def _has(here: Algorithms, name: str, level: str = "textbook") -> bool:
    return name in here and here[name].at(level) is not None


def _regret(
    results: StudyResults, here: Algorithms, name: str, level: str = "textbook"
) -> Float[np.ndarray, " runs"]:
    chosen = here[name].at(level)
    assert chosen is not None
    return results.final(chosen.cell)


def _verdict(other: str, gaps: Mapping[str, Interval]) -> str:
    """On which datasets the default has less, as much or more regret than another algorithm."""
    less = [panel for panel, gap in gaps.items() if gap.high < 0]
    text = (
        f"Against {other}, the default Thompson agent has less regret on {len(less)} of {len(gaps)} datasets"
    )
    text += f" ({', '.join(less)})" if less else ""
    same = [f"{panel} {gap.format()}" for panel, gap in gaps.items() if gap.low <= 0 <= gap.high]
    more = [f"{panel} {gap.format()}" for panel, gap in gaps.items() if gap.low > 0]
    text += f"; no difference found on {', '.join(same)}" if same else ""
    text += f"; more on {', '.join(more)}" if more else ""
    return f"{text}."


def _why_not_greedy(results: StudyResults, panels: Mapping[str, Algorithms]) -> list[str]:
    """Where the default does not beat greedy: whether a tuned weight of a datum does."""
    tuned_name = TUNED[0]
    texts, helped = [], []
    for panel, gap in _gaps(results, panels, "greedy", "textbook").items():
        here = panels[panel]
        if gap.high < 0 or not (_has(here, tuned_name, "tuned") and _has(here, "uniform")):
            continue
        greedy, uniform = _regret(results, here, "greedy"), _regret(results, here, "uniform")
        tuned = paired_difference(_regret(results, here, tuned_name, "tuned"), greedy)
        share = 100 * greedy.mean() / uniform.mean()
        texts.append(
            f"{panel} {greedy.mean():.1f} ({share:.0f}% of uniform play), eta tuned {tuned.format()}"
        )
        helped += [panel] if tuned.high < 0 else []
    if not texts:
        return []
    why = (
        f"a tuned weight of a datum does on {', '.join(helped)} alone"
        if helped
        else "neither does a tuned weight of a datum: contexts alone make greedy try every class"
    )
    return [f"Where it does not beat greedy, {why}; regret of greedy: {'; '.join(texts)}."]


def _nearness(results: StudyResults, panels: Mapping[str, Algorithms]) -> list[str]:
    """Regret of the default over that of the best tuned agent of its kind."""
    groups: dict[str, list[str]] = {"near": [], "open": [], "not near": []}
    for panel, here in panels.items():
        tuned = [name for name in TUNED if _has(here, name, "tuned")]
        if not tuned:
            continue
        regret = {name: _regret(results, here, name, "tuned") for name in tuned}
        best = min(tuned, key=lambda name, of=regret: of[name].mean())  # type: ignore[misc]
        ratio = paired_ratio(_regret(results, here, DEFAULT), regret[best])
        group = "near" if ratio.high <= NEAR else "not near" if ratio.low > NEAR else "open"
        groups[group].append(f"{panel} {ratio.format('.2f')} ({best}: {here[best].describe('tuned')})")
    parts = [f"{group}: {', '.join(texts)}" for group, texts in groups.items() if texts]
    text = f"Regret of the default over that of the best tuned on the other seed, near if at most {NEAR:g}"
    return [f"{text}; {'; '.join(parts)}."] if parts else []


def _numbers(results: StudyResults, panel: str, here: Algorithms) -> str:
    """Mean regret of every algorithm, with its interval, at default and at tuned settings."""
    parts = []
    for name, algorithm in here.items():
        text = f"{name} {mean_interval(_regret(results, here, name)).format('.1f')}"
        if algorithm.hyperparameters and _has(here, name, "tuned"):
            tuned = mean_interval(_regret(results, here, name, "tuned")).format(".1f")
            text += f", tuned {tuned} at {algorithm.describe('tuned')}"
        parts.append(text)
    return f"{panel}, mean regret: {'; '.join(parts)}."
