"""The generated parts of the README: three findings, what the demo prints, and the table of findings.

Each part stands between two comments. Every number comes from a stored study by the rules below; a study that is not
given keeps the lines that are there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from experiments import studies
from experiments.analysis.findings import cheapest_samplers
from experiments.analysis.hyperparameters import LEVELS
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, paired_difference
from experiments.analysis.summary import interval_of, records
from fgtsva_ppl.diagnostics import METRICS

DEMO = "default"  # the study that `make demo` runs
SUMMARY = "summary"
TABLE_HEAD = "| finding | effect on regret | 95% interval | study |\n|---|---:|---|---|"


class Effect(NamedTuple):
    """A difference in regret, and the regret that it adds to if that is known."""

    difference: Interval
    base: float | None = None
    row: Mapping[str, Any] = {}  # of the table it comes from: its values may stand in the claim


class Headline(NamedTuple):
    """A row of the table of findings; the claim may name columns of its row in braces."""

    claim: str
    effect: Callable[[StudyResults], Effect | None]


def from_table(
    name: str, column: str, where: Mapping[str, Any], pick: int = 0, base: str = ""
) -> Callable[[StudyResults], Effect | None]:
    """An effect that stands in a table of the study.

    Args:
        name: of the study's table, or `summary`.
        column: the effect; its interval stands beside it.
        where: values of other columns that select rows.
        pick: which of the selected rows.
        base: the column of the regret that the effect adds to.
    """

    def effect(results: StudyResults) -> Effect | None:
        own = studies.tables(results)
        frame: pd.DataFrame | None = results.summary if name == SUMMARY else None
        frame = own[name].frame if name in own else frame
        if frame is None or not {column, *where} <= set(frame.columns):
            return None
        for key, value in where.items():
            frame = frame[frame[key] == value]
        rows = [row for row in records(frame) if column in row]
        if not rows:
            return None
        row = rows[pick]
        difference = interval_of(row, column)
        known = row.get(base) if base else None
        if name == SUMMARY and difference is not None:
            known = row["final_regret_mean"] - difference.value
        return None if difference is None else Effect(difference, known, row)

    return effect


def between(panel: str, first: str, second: str) -> Callable[[StudyResults], Effect | None]:
    """The regret of an algorithm minus that of another, at textbook settings, in a study that compares algorithms."""

    def effect(results: StudyResults) -> Effect | None:
        algorithms = results.algorithms_by_panel.get(panel, {})
        chosen = [algorithms[name].at(LEVELS[0]) for name in (first, second) if name in algorithms]
        if len(chosen) < 2 or chosen[0] is None or chosen[1] is None:
            return None
        own, other = (results.final(one.cell) for one in chosen if one is not None)
        return Effect(paired_difference(own, other), float(other.mean()))

    return effect


def _sampler(name: str, environment: str = "sparse") -> Callable[[StudyResults], Effect | None]:
    return from_table(SUMMARY, "regret_gap", {"environment": environment, "sampler": name})


HEADLINES: dict[str, list[Headline]] = {
    "default": [
        Headline(
            "20 steps of plain Langevin (`sgld`) instead of exact draws, sparse noise", _sampler("sgld")
        ),
        Headline("the same steps in preconditioned coordinates (`psgld`)", _sampler("psgld")),
    ],
    "samplers": [
        Headline("mean-field VI instead of exact draws, sparse noise", _sampler("meanfield_vi")),
        Headline("elliptical slice sampling, no gradients, sparse noise", _sampler("elliptical_slice")),
    ],
    "stiffness": [
        Headline(
            "plain Langevin at condition number {condition_number:.0e}",
            from_table("gap_by_condition", "gap", {"sampler": "sgld"}, pick),
        )
        for pick in (0, -1)
    ],
    "warmstart": [
        Headline(
            f"cold instead of warm start, 20 steps of {name}, sparse noise",
            from_table(
                "cold_starts",
                "cold_minus_warm",
                {"environment": "sparse", "sampler": sampler, "steps": 20},
            ),
        )
        for sampler, name in (("sgld", "plain Langevin"), ("psgld", "preconditioned Langevin"))
    ],
    "bonus": [
        Headline(
            f"no feel-good term instead of the best c, {name}, sparse noise",
            from_table("gains", "saved", {"environment": "sparse", "sampler": sampler}),
        )
        for sampler, name in (
            ("exact draws", "exact draws"),
            ("sgld at 20 steps", "20 steps of plain Langevin"),
        )
    ],
    "variance": [
        Headline(
            f"noise level {name} instead of revealed before the action, dense noise",
            from_table("cost_of_variance", "to_revealed", {"noise": "dense", "variance": model}),
        )
        for model, name in (("revealed_after", "revealed after"), ("modelled", "never revealed, modelled"))
    ],
    "logistic": [
        Headline(
            "0/1 rewards: {cell} instead of Polya-Gamma Gibbs",
            from_table("against_reference", "regret_gap", {}, pick),
        )
        for pick in (1, 3)
    ],
    "general": [
        Headline(
            "Thompson sampling with a Gaussian process instead of epsilon-greedy, wheel",
            from_table(
                "comparisons",
                "difference",
                {"environment": "wheel", "other": "epsilon_greedy"},
                base="regret_of_other",
            ),
        )
    ],
    "drift": [
        Headline(
            "{sampler}, {start} start, instead of exact draws, after the world jumps",
            from_table("recovery", "gap_after", {}),
        )
    ],
    "delay": [
        Headline(
            "rewards that come late ({delays}, {delay} rounds) instead of at once, {sampler}",
            from_table("delays", "cost", {}, -1, base="regret_without"),
        )
    ],
    "data": [
        Headline(
            f"the default Thompson agent instead of {other}, {panel}",
            between(panel, "Thompson (exact)", other),
        )
        for panel, other in (("digits", "epsilon-greedy"), ("iris", "greedy"))
    ],
}


def rows(results: StudyResults) -> list[str]:
    """The rows of the table of findings that a study has."""
    lines = []
    for headline in HEADLINES.get(results.name, ()):
        effect = headline.effect(results)
        if effect is None:
            continue
        difference, decimals = effect.difference, effect.difference.decimals
        value = f"{difference.value:+.{decimals}f}"
        value += f" on {effect.base:.3g}" if effect.base is not None else ""
        interval = f"[{difference.low:+.{decimals}f}, {difference.high:+.{decimals}f}]"
        link = f"[`{results.name}`](experiments/studies/{results.name}/README.md)"
        lines.append(f"| {headline.claim.format(**effect.row)} | {value} | {interval} | {link} |")
    return lines


def sampler_decides(results: StudyResults) -> str:
    """What plain and preconditioned Langevin add to exact draws."""
    plain, preconditioned = _sampler("sgld")(results), _sampler("psgld")(results)
    if plain is None or preconditioned is None:
        return ""
    return (
        f"The sampler decides: 20 plain Langevin steps add {plain.difference.format('auto')} to a regret of "
        f"{plain.base:.3g} in sparse noise, the same steps in preconditioned coordinates add "
        f"{preconditioned.difference.format('auto')}."
    )


def diagnostic_decides(results: StudyResults) -> str:
    """The diagnostic that goes closest with the regret gap, beside R-hat."""
    known = {name: one for name, one in results.associations.items() if METRICS[name].of_sampler}
    clear = {name: one for name, one in known.items() if one.low > 0 or one.high < 0}
    if not clear or "rhat" not in known:
        return ""
    best = max(clear, key=lambda name: abs(clear[name].value))
    return (
        f"Of all diagnostics {METRICS[best].heading} goes closest with lost regret: rank correlation "
        f"{clear[best].format('+.2f')} over cells, where that of R-hat is {known['rhat'].format('+.2f')}."
    )


def few_gradients(results: StudyResults) -> str:
    """The cheapest sampler that is close to exact regret."""
    return " ".join(cheapest_samplers(results.costs)[:1])


ANSWERS: Sequence[tuple[str, Callable[[StudyResults], str]]] = (
    ("default", sampler_decides),
    ("samplers", diagnostic_decides),
    ("budget", few_gradients),
)


def update(page: str, results: StudyResults, demo: str = "") -> str:
    """The README with what follows from one study replaced.

    Args:
        page: the README.
        results: the results of the study.
        demo: what its run prints, if it is the study of `make demo`.
    """
    link = f"([`{results.name}`](experiments/studies/{results.name}/README.md))"
    answers = part(page, "answer").splitlines()
    for number, (study, sentence) in enumerate(ANSWERS):
        if study == results.name and (text := sentence(results)):
            answers[number] = f"{number + 1}. {text} {link}"
    page = replace(page, "answer", "\n".join(answers))
    if results.name in HEADLINES and (own := rows(results)):
        kept = [line for line in part(page, "findings").splitlines()[2:] if f"[`{results.name}`]" not in line]
        order = list(HEADLINES)
        listed = sorted([*kept, *own], key=lambda line: order.index(_study_of(line)))
        page = replace(page, "findings", "\n".join([TABLE_HEAD, *listed]))
    return replace(page, "demo", demo) if results.name == DEMO and demo else page


def _study_of(line: str) -> str:
    found = re.search(r"\[`(\w+)`\]\(experiments/studies/", line)
    return found[1] if found and found[1] in HEADLINES else next(iter(HEADLINES))


def part(page: str, name: str) -> str:
    """What stands between the two comments of a part."""
    return page.partition(f"<!-- {name}: begin -->\n")[2].partition(f"\n<!-- {name}: end -->")[0]


def replace(page: str, name: str, text: str) -> str:
    """The page with another text between the two comments of a part."""
    before, begin, rest = page.partition(f"<!-- {name}: begin -->\n")
    _, end, after = rest.partition(f"\n<!-- {name}: end -->")
    if not begin or not end:
        raise ValueError(f"the page has no part {name!r}")
    return before + begin + text + end + after
