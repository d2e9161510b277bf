"""How regret scales: exponents in the dimension and in the total variance, beside those of the theory."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from experiments.analysis.hyperparameters import LEVELS, growth, halves
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, bootstrap
from experiments.analysis.summary import Row
from experiments.config.cell import Cell
from fgtsva_ppl import ENVIRONMENTS

SETTINGS = ("dim", "p", "scale")  # settings of the environment that the axes vary
RESAMPLES = 2000

# Exponents of Table 1: of d and of Lambda in general, of d in the deterministic case. None: no such dependence.
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
    """A line of environments that differ in one setting."""

    name: str
    along: str  # the setting that varies
    power: int  # power of that setting that is proportional to d or Lambda
    deterministic: bool
    column: int  # of THEORY

    def x(self, cell: Cell) -> float:
        """d, or what Lambda is proportional to."""
        return float(cell.flat[f"environment.{self.along}"]) ** self.power

    def holds(self, cell: Cell) -> bool:
        """Whether a cell is on the line: all other settings are the environment's defaults, p=0 if deterministic."""
        own = {key: cell.flat.get(f"environment.{key}") for key in SETTINGS}
        if None in own.values():
            return False
        expected = {
            **ENVIRONMENTS.defaults(cell.flat["environment"]),
            **({"p": 0.0} if self.deterministic else {}),
        }
        return all(own[key] == expected[key] for key in SETTINGS if key != self.along) and self.x(cell) > 0


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
    x: Float[np.ndarray, " points"]
    regret: Float[np.ndarray, "runs points"]
    half: Float[np.ndarray, "runs points"]  # after half of the rounds

    @property
    def growth(self) -> Interval:
        """Growth with the rounds, at the point where regret grows fastest."""
        points = (np.stack(both, axis=1) for both in zip(self.regret.T, self.half.T, strict=True))
        return max(map(growth, points), key=lambda grows: grows.value)

    @property
    def exponent(self) -> Interval:
        """The fitted exponent, see `exponent`."""
        return exponent(self.x, self.regret)

    @property
    def theory(self) -> float | None:
        """The exponent of Table 1."""
        return THEORY[self.name][self.axis.column] if self.name in THEORY else None


def scaling_lines(results: StudyResults) -> list[Line]:
    """Every algorithm along every axis that has at least two points, and where nothing else varies."""
    fitted, algorithms = [], results.tuned_algorithms
    for name in dict.fromkeys(algorithm.name for algorithm in algorithms):
        for axis in AXES:
            for level in LEVELS:
                chosen = [algorithm.at(level) for algorithm in algorithms if algorithm.name == name]
                on = sorted(
                    (one.cell for one in chosen if one is not None and axis.holds(one.cell)), key=axis.x
                )
                x = np.unique([axis.x(cell) for cell in on])
                if len(on) > 1 and x.size == len(on):
                    both = np.stack([halves(results.data[cell.id]) for cell in on], axis=1)
                    fitted.append(Line(name, level, axis, x, both[..., 0], both[..., 1]))
    return fitted


def exponent(x: Float[np.ndarray, " points"], regret: Float[np.ndarray, "runs points"]) -> Interval:
    """The slope of log mean regret over log x by least squares; the bootstrap resamples runs."""
    return bootstrap(regret, lambda rows: _slope(x, rows), resamples=RESAMPLES)


def exponent_difference(first: Line, second: Line) -> Interval:
    """First exponent minus second one, for two lines whose runs used the same random numbers."""
    both = np.concatenate([first.regret, second.regret], axis=1)
    cut = first.x.size
    return bootstrap(both, lambda rows: _slope(first.x, rows[..., :cut]) - _slope(second.x, rows[..., cut:]))


def _slope(
    x: Float[np.ndarray, " points"], rows: Float[np.ndarray, "*batch runs points"]
) -> Float[np.ndarray, "*batch"]:
    centred = np.log(x) - np.log(x).mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(rows.mean(axis=-2)) @ centred / (centred @ centred))


def scaling_rows(fitted: Sequence[Line]) -> list[Row]:
    """A row per line: the exponent with its interval, that of Table 1, and the growth with the rounds."""
    rows: list[Row] = []
    for line in fitted:
        slope, grows = line.exponent, line.growth
        rows.append(
            {
                "algorithm": line.name,
                "level": line.level,
                "axis": line.axis.name,
                "points": line.x.size,
                "exponent": slope.value,
                "exponent_low": slope.low,
                "exponent_high": slope.high,
                "theory": float("nan") if line.theory is None else line.theory,
                "growth": grows.value,
                "growth_low": grows.low,
                "growth_high": grows.high,
            }
        )
    return rows
