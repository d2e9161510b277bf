"""Regret at each c over that at c=0: of exact draws, and of the least accurate sampler."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, by_parts
from experiments.analysis.measures import ratio, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import numbers_along

CAPTION = "Regret over that without a bonus, with 95% intervals: below 1 the bonus helps."


def _ratios(results: StudyResults, environment: str) -> dict[str, dict[float, Interval]]:
    """Ratios by sampler, from the most accurate on, and by c."""
    steps = values_of(results, "sampler.num_steps", sampler="sgld", environment=environment)
    samplers = {"exact draws": {"sampler": "exact"}}
    samplers |= {f"K={k}": {"sampler": "sgld", "sampler.num_steps": k} for k in reversed(steps)}
    values = [c for c in values_of(results, "posterior.c", environment=environment) if c > 0]
    where = {"environment": environment}
    return {
        name: {
            c: ratio(results, own | where | {"posterior.c": c}, own | where | {"posterior.c": 0.0})
            for c in values
        }
        for name, own in samplers.items()
    }


def measure(results: StudyResults) -> dict[str, Interval]:
    """The ratios of exact draws and of the fewest steps."""
    numbers = {}
    for environment in values_of(results, "environment"):
        ratios = _ratios(results, environment)
        for name in (next(iter(ratios)), list(ratios)[-1]):
            kind = "exact draws" if name == "exact draws" else f"{name}, the least accurate"
            for c, number in ratios[name].items():
                numbers[f"{environment}, {kind}, c={c:g}"] = number
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """In each environment: some bonus certainly helps exact draws, and some certainly hurts the least accurate."""
    parts, seen = {}, []
    for environment in dict.fromkeys(name.partition(",")[0] for name in numbers):
        own = {name: n for name, n in numbers.items() if name.startswith(f"{environment},")}
        accurate = [n for name, n in own.items() if "exact draws" in name]
        rough = [n for name, n in own.items() if "least accurate" in name]
        parts[f"noise is {environment} and sampling exact: the bonus helps"] = any(
            n.high < 1 for n in accurate
        )
        parts[f"noise is {environment} and sampling inaccurate: the bonus hurts"] = any(
            n.low > 1 for n in rough
        ) and not any(n.high < 1 for n in rough)
        seen.append(
            f"{environment}: at best {min(n.value for n in accurate):.2f} times the regret without a bonus with exact "
            f"draws, {min(n.value for n in rough):.2f} to {max(n.value for n in rough):.2f} times with the least "
            "accurate sampler"
        )
    return by_parts(parts, f"With a bonus, {'; '.join(seen)}.")


def figure(results: StudyResults) -> Figure:
    """Ratios against c in the first environment."""
    environment = str(values_of(results, "environment")[-1])
    return numbers_along(
        _ratios(results, environment),
        f"c ({environment} noise)",
        "regret / regret at c=0",
        log="xy",
        marks=(1.0,),
    )
