"""How regret scales: exponents in the dimension and in the total variance, beside those of the theory."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.analysis.hyperparameters import LEVELS, Data, TunedAlgorithm, growth, halves
from experiments.analysis.statistics import Interval, bootstrap
from experiments.analysis.summary import Row
from experiments.config.cell import Cell
from fgtsva_ppl import ENVIRONMENTS

SETTINGS = ("dim", "p", "scale")  # of the environment, which the axes go along

# The exponents of Table 1: of d and of Lambda in general, of d in the deterministic case. None: no such dependence.
THEORY: dict[str, tuple[float, float | None, float]] = {
    "Weighted OFUL+": (1.0, 0.5, 1.0),
    "Weighted OFUL (sub-Gaussian)": (1.0, 0.5, 1.0),
    "SAVE": (1.0, 0.5, 1.0),
    "SAVE (practical)": (1.0, 0.5, 1.0),
    "LinVDTS-style": (1.5, 0.5, 1.5),
    "FGTS-A": (1.0, None, 1.0),
    "FGTS-VA (SGLD)": (1.0, 0.5, 1.0),
    "FGTS-VA (exact)": (1.0, 0.5, 1.0),
}


class Axis(NamedTuple):
    """A line of environments along which one setting goes."""

    name: str
    along: str  # the setting that goes
    power: int  # of that setting, which makes d or Lambda
    deterministic: bool
    column: int  # of THEORY

    def x(self, cell: Cell) -> float:
        """d, or what Lambda is proportional to."""
        return float(cell.flat[f"environment.{self.along}"]) ** self.power

    def holds(self, cell: Cell) -> bool:
        """Whether a cell lies on the line: every other setting is the environment's default, p=0 if deterministic."""
        own = {key: cell.flat.get(f"environment.{key}") for key in SETTINGS}
        if None in own.values():
            return False
        usual = {
            **ENVIRONMENTS.defaults(cell.flat["environment"]),
            **({"p": 0.0} if self.deterministic else {}),
        }
        return all(own[key] == usual[key] for key in SETTINGS if key != self.along) and self.x(cell) > 0


AXES = (
    Axis("d", "dim", 1, False, 0),
    Axis("Λ, by p", "p", 1, False, 1),
    Axis("Λ, by scale", "scale", 2, False, 1),
    Axis("d, deterministic", "dim", 1, True, 2),
)


class Line(NamedTuple):
    """The regret of an algorithm along an axis, at one level of tuning."""

    name: str
    level: str
    axis: Axis
    x: np.ndarray
    regret: np.ndarray  # (runs, points)
    half: np.ndarray  # the same after half of the rounds

    @property
    def growth(self) -> Interval:
        """At the point where regret grows fastest."""
        points = (np.stack(pair, axis=1) for pair in zip(self.regret.T, self.half.T, strict=True))
        return max(map(growth, points), key=lambda grows: grows.value)

    @property
    def theory(self) -> float | None:
        """The exponent of Table 1."""
        return THEORY[self.name][self.axis.column] if self.name in THEORY else None


def lines(found: Sequence[TunedAlgorithm], data: Data) -> list[Line]:
    """Every algorithm along every axis that has two points at least, and where nothing else varies."""
    made = []
    for name in dict.fromkeys(place.name for place in found):
        for axis in AXES:
            for level in LEVELS:
                chosen = [place.at(level) for place in found if place.name == name]
                on = sorted(
                    (one.cell for one in chosen if one is not None and axis.holds(one.cell)), key=axis.x
                )
                x = np.unique([axis.x(cell) for cell in on])
                if len(on) > 1 and x.size == len(on):
                    both = np.stack([halves(data[cell.id]) for cell in on], axis=1)
                    made.append(Line(name, level, axis, x, both[..., 0], both[..., 1]))
    return made


def exponent(x: np.ndarray, regret: np.ndarray) -> Interval:
    """The slope of log mean regret over log x; the bootstrap is over runs, the rows."""
    return bootstrap(regret, lambda rows: _slope(x, rows), resamples=2000)


def exponent_difference(first: Line, second: Line) -> Interval:
    """By how much the first exponent is larger, where both met the same runs."""
    both = np.concatenate([first.regret, second.regret], axis=1)
    cut = first.x.size
    return bootstrap(both, lambda rows: _slope(first.x, rows[..., :cut]) - _slope(second.x, rows[..., cut:]))


def _slope(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    centred = np.log(x) - np.log(x).mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(rows.mean(axis=-2)) @ centred / (centred @ centred))


def scaling_rows(found: Sequence[Line]) -> list[Row]:
    """A row per line: the exponent with its interval, the theory's, and how regret still grows with the rounds."""
    rows: list[Row] = []
    for line in found:
        fitted, grows = exponent(line.x, line.regret), line.growth
        rows.append(
            {
                "algorithm": line.name,
                "level": line.level,
                "axis": line.axis.name,
                "points": line.x.size,
                "exponent": fitted.value,
                "exponent_low": fitted.low,
                "exponent_high": fitted.high,
                "theory": float("nan") if line.theory is None else line.theory,
                "growth": grows.value,
                "growth_low": grows.low,
                "growth_high": grows.high,
            }
        )
    return rows
