"""Regret per round above that of exact draws, and the least number of members within 0.02 of it."""

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, below, by_parts, near
from experiments.analysis.measures import MissingCellsError, final, least_budget, slope, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, mean_interval
from experiments.figures.claims import numbers_along

ENOUGH = 0.02  # regret per round above exact draws, the authors' criterion
FEW = 8  # members that are said to nearly match exact draws
ABOUT = 0.35  # an exponent that is certainly within this of 1 is linear
FLAT = 0.25  # one that is certainly below this is no dependence
CAPTION = (
    "Regret per round above that of exact draws, with 95% intervals; the grey line is enough for the authors."
)
AGENTS = {"Ensemble++": "linear_ensemble_plus_plus", "ensemble": "ensemble"}

type Place = tuple[int, int]  # dimension and number of arms


def _where(place: Place) -> dict[str, object]:
    return {"environment.dim": place[0], "environment.arms": place[1]}


def _places(results: StudyResults) -> list[Place]:
    """Where exact draws were run."""
    cells = [cell for cell in results.done if cell.flat.get("sampler") == "exact"]
    return sorted({(cell.flat["environment.dim"], cell.flat["environment.arms"]) for cell in cells})


def _excess(results: StudyResults, name: str, place: Place) -> dict[float, np.ndarray]:
    """By the number of members, each run's regret per round above that of exact draws; empty if none was run."""
    agent, where = AGENTS[name], _where(place)
    try:
        members = values_of(results, "agent.members", agent=agent, **where)
    except MissingCellsError:
        return {}
    exact = final(results, {"sampler": "exact", **where})
    rounds = results.done[0].rounds
    return {
        m: (final(results, {"agent": agent, "agent.members": m, **where}) - exact) / rounds for m in members
    }


def _least(results: StudyResults, name: str, place: Place) -> Interval | None:
    excess = _excess(results, name, place)
    if len(excess) < 2:
        return None
    rows = np.stack(list(excess.values()))
    return least_budget(list(excess), rows, np.full(rows.shape[1], ENOUGH))


def measure(results: StudyResults) -> dict[str, Interval]:
    """The excess of 8 members, the least numbers of members, and their slopes."""
    numbers: dict[str, Interval] = {}
    least: dict[Place, Interval] = {}
    for place in _places(results):
        at = f"d={place[0]}, {place[1]:,} arms"
        for name in AGENTS:
            excess = _excess(results, name, place)
            if FEW in excess:
                numbers[f"excess regret per round, {name}, {FEW} members, {at}"] = mean_interval(excess[FEW])
            found = _least(results, name, place)
            if found is not None:
                numbers[f"least members, {name}, {at}"] = found
                if name == "Ensemble++":
                    least[place] = found
    arms = [place for place in least if place[0] == min(p[0] for p in least)]
    common = [place for place in least if place[1] == sorted(p[1] for p in least)[len(least) // 2]]
    numbers["slope of the least members in d"] = slope([p[0] for p in common], [least[p] for p in common])
    numbers["slope of the least members in the arms"] = slope([p[1] for p in arms], [least[p] for p in arms])
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """Four parts, each decided by its interval."""
    few = list(numbers.items())
    prefix = f"excess regret per round, Ensemble++, {FEW} members, "
    largest, excess = [(name.removeprefix(prefix), n) for name, n in few if name.startswith(prefix)][-1]
    dims, arms = numbers["slope of the least members in d"], numbers["slope of the least members in the arms"]
    plain = {
        name.removeprefix("least members, ensemble, "): n
        for name, n in few
        if name.startswith("least members, ensemble, ")
    }
    at, members = list(plain.items())[-1]
    plus = numbers[f"least members, Ensemble++, {at}"]
    parts: dict[str, bool | None] = {
        f"Ensemble++ with {FEW} members is within {ENOUGH:g} of exact draws per round ({largest})": near(
            excess, 0, ENOUGH
        ),
        "the members that it needs grow linearly with d": near(dims, 1, ABOUT) if _known(dims) else None,
        "they do not grow with the number of arms": below(arms, FLAT) if _known(arms) else None,
        f"a plain ensemble needs more ({at})": (
            True if plus.high < members.low else False if members.high <= plus.low else None
        ),
    }
    return by_parts(
        parts,
        f"With {FEW} members Ensemble++ has {excess.value:+.3f} regret per round above exact draws ({largest}); the "
        f"members that it needs grow with the power {dims.format('.2f')} of d and {arms.format('.2f')} of the arms; at "
        f"{at} it needs {plus.value:.1f} and a plain ensemble {members.value:.1f}.",
    )


def _known(number: Interval) -> bool:
    return bool(np.all(np.isfinite(number)))


def figure(results: StudyResults) -> Figure:
    """The excess against the number of members."""
    groups = {
        f"{name}, d={place[0]}, {place[1]:,} arms": {m: mean_interval(x) for m, x in excess.items()}
        for place in _places(results)
        for name in AGENTS
        if (excess := _excess(results, name, place))
    }
    return numbers_along(groups, "members", "regret per round above exact", log="x", marks=(0.0, ENOUGH))
