"""Regret of underdamped over that of overdamped chains, as published and with two lines of the code mended."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, below, by_parts
from experiments.analysis.measures import cell_of, growth_of, ratio, regret
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.cell import Cell
from experiments.figures.claims import named_numbers

CAPTION = "Regret with 95% intervals. `As published` appends to every arm played before and steps against the gradient."
VARIANTS = {
    "as published": {"agent.append": True, "agent.away": True},
    "without the append": {"agent.append": False, "agent.away": True},
    "with the right sign": {"agent.append": True, "agent.away": False},
    "with the right sign and without the append": {"agent.append": False, "agent.away": False},
}


def _cell(results: StudyResults, dynamics: str, variant: str) -> Cell:
    settings = {"agent.dynamics": dynamics, **VARIANTS[variant]}
    if dynamics == "exact":
        settings["agent.away"] = False
    return cell_of(results, **settings)


def _cells(results: StudyResults) -> dict[str, Cell]:
    cells = {
        f"{dynamics}, {variant}": _cell(results, dynamics, variant)
        for variant in VARIANTS
        for dynamics in ("underdamped", "overdamped")
    }
    exact = {"exact draws, with the append": "as published", "exact draws, without": "without the append"}
    return cells | {name: _cell(results, "exact", variant) for name, variant in exact.items()}


def measure(results: StudyResults) -> dict[str, Interval]:
    """Regrets, and the ratio and growth of each variant."""
    cells = _cells(results)
    numbers = {f"regret, {name}": regret(results, cell) for name, cell in cells.items()}
    for variant in VARIANTS:
        under, over = (cells[f"{dynamics}, {variant}"] for dynamics in ("underdamped", "overdamped"))
        numbers[f"underdamped over overdamped, {variant}"] = ratio(results, under, over)
        numbers[f"growth exponent, underdamped, {variant}"] = growth_of(results, under)
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """A line for each variant: underdamped chains must have certainly less regret."""
    ratios = {variant: numbers[f"underdamped over overdamped, {variant}"] for variant in VARIANTS}
    parts = {f"it is run {variant}": below(number, 1) for variant, number in ratios.items()}
    seen = ", ".join(f"{number.value:.2f} {variant}" for variant, number in ratios.items())
    return by_parts(parts, f"Regret of underdamped chains over that of overdamped ones: {seen}.")


def figure(results: StudyResults) -> Figure:
    """Regrets, a row each."""
    return named_numbers({name: regret(results, cell) for name, cell in _cells(results).items()}, "regret")
