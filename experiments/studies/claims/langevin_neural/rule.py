"""Regret of LMC-TS over that of LinTS on linear rewards, and over that of NeuralTS and NeuralUCB elsewhere."""

from experiments.analysis.claims import Judgement, Numbers, by_parts, untested
from experiments.analysis.measures import cells_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, paired_ratio
from experiments.config.cell import Cell

COMPETITIVE = 1.25  # a ratio of regrets that is certainly below this is no disadvantage
RIVALS = ("lints", "neural_ts", "neural_ucb")
NOT_CLAIMED = ("logistic",)  # measured, but the claim says nothing of these environments


def measure(results: StudyResults) -> dict[str, Interval]:
    """Ratios of mean regret to each rival at its best setting, in every environment that has both."""
    numbers = {}
    for sampled in cells_of(results, agent="thompson"):
        environment = sampled.flat["environment"]
        for rival in RIVALS:
            own = [
                cell
                for cell in results.done
                if (cell.flat["agent"], cell.flat["environment"]) == (rival, environment)
            ]
            if own:
                best = min(own, key=lambda cell: float(results.final(cell).mean()))
                numbers[f"{environment}: regret of LMC-TS over that of {rival}"] = _ratio(
                    results, sampled, best
                )
    return numbers


def _ratio(results: StudyResults, sampled: Cell, rival: Cell) -> Interval:
    return paired_ratio(results.final(sampled), results.final(rival))


def judge(numbers: Numbers) -> Judgement:
    """Competitive with LinTS: certainly below 1.25. Less regret than the neural agents: certainly below 1."""
    if not numbers:
        return untested("no environment has LMC-TS and one of its rivals")
    parts = {
        name: number.high < (COMPETITIVE if name.endswith("lints") else 1.0)
        for name, number in numbers.items()
        if not name.startswith(NOT_CLAIMED)
    }
    if not parts:
        return untested("only environments were run of which the claim says nothing")
    named = {
        name.replace(": regret of LMC-TS over that of", ", against"): holds for name, holds in parts.items()
    }
    shown = ", ".join(
        f"{number.value:.2f} ({name.rpartition(' ')[2]}, {name.partition(':')[0]})"
        for name, number in numbers.items()
    )
    return by_parts(named, f"Regret of LMC-TS over that of its rivals at their best setting: {shown}.")
