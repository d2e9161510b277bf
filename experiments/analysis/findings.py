"""Findings: at most three sentences that follow from a study's numbers, each with one number and its interval.

What needs more than that is a table. A study with a question of its own has its own findings and tables.
"""

import math
from collections.abc import Mapping

import numpy as np

from experiments.analysis.costs import Cost
from experiments.analysis.hyperparameters import LEVELS
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import MIN_UNITS, paired_difference
from experiments.config.cell import REFERENCE, Cell
from experiments.config.text import counted, last_key
from fgtsva_ppl.diagnostics import METRICS

MAX_FINDINGS = 3
STEPS = "sampler.num_steps"  # the setting that is a sampler's budget

type Budget = tuple[str, int]  # a sampler and its number of steps, 0 where it has none


def default_findings(results: StudyResults) -> list[str]:
    """Which algorithms lead, which samplers keep up with exact draws, or which cell has the least regret."""
    if results.tuned_algorithms:
        return standings(results) if results.comparison.sweep is None else along_sweep(results)
    if not results.pairs:
        return least_regret(results)
    return gaps_to_exact(results) + best_diagnostic(results)


def gaps_to_exact(results: StudyResults) -> list[str]:
    """How many cells have more regret than exact draws, and the largest gap."""
    gaps = results.regret_gaps
    if all(math.isnan(gap.low) for gap in gaps.values()):
        return [
            "With one run per cell, gaps to exact draws have no interval: no sampler can be compared with them."
        ]
    counts = {
        "cannot be distinguished from exact draws": sum(gap.contains_zero for gap in gaps.values()),
        "had more regret": sum(gap.low > 0 for gap in gaps.values()),
        "had less regret": sum(gap.high < 0 for gap in gaps.values()),
    }
    listed = listing([f"{count} {what}" for what, count in counts.items() if count])
    sentences = [f"Of {counted(len(gaps), 'cell')}, {listed}, by the 95% interval of the paired regret gap."]
    largest = max(results.pairs, key=lambda pair: pair.regret_gap.value)
    if largest.regret_gap.low > 0:
        cell = largest.cell
        own = f"{float(np.mean(results.final(cell) - largest.regret_gap_by_run)):.3g}"
        sentences.append(
            f"The largest gap has {results.labels[cell.id]} on {results.panels[cell.id]}: "
            f"{largest.regret_gap.format('auto')} beyond the {own} of exact draws."
        )
    return sentences


def best_diagnostic(results: StudyResults) -> list[str]:
    """The diagnostic whose ranks go closest with those of the regret gap."""
    probed = results.probed_pairs
    if len({pair.sampler for pair in probed}) < MIN_UNITS:
        return []
    clear = {
        name: correlation
        for name, correlation in results.associations.items()
        if METRICS[name].of_sampler and np.isfinite(correlation.low) and not correlation.contains_zero
    }
    if not clear:
        return ["No diagnostic's rank correlation with the regret gap over these cells excludes zero."]
    name = max(clear, key=lambda name: abs(clear[name].value))
    return [
        f"Of all diagnostics {METRICS[name].heading} goes closest with the regret gap: Spearman "
        f"{clear[name].format('+.2f')} over {counted(len(probed), 'cell')}."
    ]


def least_regret(results: StudyResults) -> list[str]:
    """Without exact draws to compare with: who has the least regret, who cannot be told from it, who has the most."""
    sentences = []
    for panel in dict.fromkeys(results.panels[cell.id] for cell in results.done):
        inside = [cell for cell in results.done if results.panels[cell.id] == panel]
        best = min(inside, key=lambda cell: float(results.final(cell).mean()))
        text = f"On {panel}: {results.labels[best.id]} has the least regret, {results.final(best).mean():.3g}"
        gaps = {
            cell.id: gap
            for cell in inside
            if cell.id in results.gaps_to_best
            and (gap := results.gaps_to_best[cell.id][1])
            and results.gaps_to_best[cell.id][0].id == best.id
        }
        alike = sum(not gap.low > 0 for gap in gaps.values())
        text += f"; {counted(alike, 'other')} cannot be distinguished from it" if alike else ""
        if gaps and gaps[worst := max(gaps, key=lambda key: gaps[key].value)].low > 0:
            text += f"; the most has {results.labels[worst]}, {gaps[worst].format('auto')} more"
        sentences.append(text + ".")
    return _at_most(sentences, "environment")


def standings(results: StudyResults) -> list[str]:
    """The algorithm with the least regret at tuned settings, and its lead over the next, by environment."""
    sentences = []
    for panel, algorithms in results.algorithms_by_panel.items():
        tuned = {
            name: results.final(chosen.cell)
            for name, algorithm in algorithms.items()
            if (chosen := algorithm.at(LEVELS[-1]) or algorithm.at(LEVELS[0])) is not None
        }
        order = sorted(tuned, key=lambda name: float(tuned[name].mean()))
        if not order:
            continue
        text = f"{panel}, tuned settings: {order[0]} has the least regret, {tuned[order[0]].mean():.3g}"
        if len(order) > 1 and tuned[order[0]].size == tuned[order[1]].size:
            lead = paired_difference(tuned[order[1]], tuned[order[0]])
            text += f"; the next, {order[1]}, has {lead.format('auto')} more"
        sentences.append(text + ".")
    return _at_most(sentences, "environment")


def along_sweep(results: StudyResults) -> list[str]:
    """Where along the study's varied setting the study's first algorithm has its least regret, by environment."""
    sentences, key = [], str(results.comparison.sweep)
    for panel in dict.fromkeys(algorithm.panel for algorithm in results.tuned_algorithms):
        inside = [algorithm for algorithm in results.tuned_algorithms if algorithm.panel == panel]
        line = {
            float(chosen.cell.flat[key]): results.final(chosen.cell)
            for algorithm in inside
            if algorithm.name == inside[0].name
            and (chosen := algorithm.at(LEVELS[-1]) or algorithm.at(LEVELS[0])) is not None
        }
        if len(line) < 2:
            continue
        best, first = min(line, key=lambda x: float(line[x].mean())), min(line)
        text = f"{panel}: {inside[0].name} has its least regret at {last_key(key)}={best:g}"
        if best != first:
            text += f", {paired_difference(line[best], line[first]).format('auto')} against {first:g}"
        sentences.append(text + ".")
    return _at_most(sentences, "environment")


def cheapest_samplers(costs: Mapping[tuple[str, str], Cost]) -> list[str]:
    """The sampler that comes within a tenth of exact regret for the least gradients, by case."""
    sentences = []
    for case in dict.fromkeys(case for case, _ in costs):
        here = {name: cost.gradients_per_round for (own, name), cost in costs.items() if own == case}
        name = min(here, key=lambda name: here[name])
        work = here[name]
        if not math.isfinite(work.value):
            sentences.append(f"On {case} no sampler comes within 10% of exact regret.")
            continue
        surely = f"{work.high:.0f}" if math.isfinite(work.high) else "none of these budgets"
        sentences.append(
            f"On {case} {name} comes within 10% of exact regret at {counted(work.value, 'gradient')} a round "
            f"(by the interval of the ratio perhaps at {work.low:.0f}, surely at {surely})."
        )
    return _at_most(sentences, "case")


def budget_of(cell: Cell) -> Budget:
    """A cell's sampler and its number of steps, 0 where it has none."""
    return str(cell.flat["sampler"]), int(cell.flat.get(STEPS, 0))


def format_budget(budget: Budget) -> str:
    """A sampler with its number of steps."""
    sampler, steps = budget
    if steps:
        return f"{sampler} at {counted(steps, 'step')}"
    return "exact draws" if sampler == REFERENCE else sampler


def listing(parts: list[str]) -> str:
    """Parts of a sentence: a, b and c."""
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def _at_most(sentences: list[str], noun: str) -> list[str]:
    """The first sentences, and how many more the tables have."""
    rest = len(sentences) - MAX_FINDINGS
    if rest <= 0:
        return sentences
    return [*sentences[: MAX_FINDINGS - 1], f"{counted(rest + 1, f'more {noun}')}: see the tables."]
