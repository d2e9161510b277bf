"""Textbook and tuned settings of algorithms, tuned on other seeds than the one that is reported.

The first seed of a study is reported. At the other seeds every setting of an algorithm's hyperparameters is tried, and
the one with the least mean regret there is the tuned one: no reported run takes part in the choice.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

from experiments.analysis.arrays import CellData, final_regret
from experiments.analysis.statistics import Interval, bootstrap, standard_error
from experiments.analysis.summary import Row
from experiments.config.cell import Cell
from experiments.config.comparison import Comparison
from experiments.config.labels import by_panel
from experiments.config.text import last_key, setting_text
from experiments.storage.codecs import values

LEVELS = ("textbook", "tuned")
GROWTH_RESAMPLES = 2000


class Setting(NamedTuple):
    """One choice of an algorithm's hyperparameters."""

    cell: Cell  # at the reported seed
    tuning_regret: float  # mean regret at the other seeds


@dataclass(frozen=True)
class TunedAlgorithm:
    """An algorithm in one panel, at its textbook and at its tuned hyperparameters."""

    name: str
    panel: str
    hyperparameters: tuple[str, ...]
    textbook: Setting | None
    tuned: Setting | None  # None where there is no other seed
    sweep: str | None = None  # the setting that the study varies
    edge: tuple[str, ...] = ()  # hyperparameters whose tuned value is the smallest or the largest tried

    def at(self, level: str) -> Setting | None:
        """The textbook or the tuned setting."""
        return self.textbook if level == "textbook" else self.tuned

    def describe(self, level: str) -> str:
        """The values of the study's varied setting and of the hyperparameters."""
        chosen = self.at(level)
        if chosen is None:
            return ""
        edge = self.edge if level == "tuned" else ()
        return ", ".join(
            f"{last_key(key)}={setting_text(chosen.cell.flat[key], 3)}{' (edge)' if key in edge else ''}"
            for key in ((self.sweep, *self.hyperparameters) if self.sweep else self.hyperparameters)
        )


def tuned_algorithms(cells: Sequence[Cell], data: CellData, comparison: Comparison) -> list[TunedAlgorithm]:
    """Every algorithm of a study in every panel, with the settings that were chosen for it.

    Args:
        cells: all cells of the study; the seed of the first one is reported.
        data: the arrays of the cells that have some, by id.
        comparison: which algorithm each cell runs, and which of its settings are hyperparameters.
    """
    done = [cell for cell in cells if cell.id in data and cell.id in comparison.algorithm_runs]
    if comparison.sweep is not None:
        done = [cell for cell in done if comparison.sweep in cell.flat]  # an agent may have no such setting
    if not done:
        return []
    reported = cells[0].seed
    panels = {cell.id: panel for panel, members in by_panel(done).items() for cell in members}
    groups: dict[str, list[Cell]] = {}
    for cell in done:
        groups.setdefault(_algorithm_key(cell, comparison), []).append(cell)
    algorithms = []
    for members in groups.values():
        own = {_setting_key(cell, comparison): cell for cell in members if cell.seed == reported}
        if not own:
            continue
        trials: dict[str, list[Float[np.ndarray, " runs"]]] = {}
        for cell in members:
            if cell.seed != reported:
                trials.setdefault(_setting_key(cell, comparison), []).append(final_regret(data[cell.id]))
        tried = {key: np.concatenate(regrets) for key, regrets in trials.items()}
        settings = {
            key: Setting(cell, float(tried[key].mean()) if key in tried else float("nan"))
            for key, cell in own.items()
        }
        textbook = next(
            (one for one in settings.values() if comparison.algorithm_runs[one.cell.id].textbook), None
        )
        best = choose({key: regret for key, regret in tried.items() if key in own})
        tuned = None if best is None else settings[best]
        entry = comparison.algorithm_runs[members[0].id]
        edge = tuple(key for key in entry.hyperparameters if _at_edge(key, own.values(), tuned))
        panel = panels[members[0].id]
        algorithms.append(
            TunedAlgorithm(entry.name, panel, entry.hyperparameters, textbook, tuned, comparison.sweep, edge)
        )
    return algorithms


def _at_edge(key: str, tried: Iterable[Cell], tuned: Setting | None) -> bool:
    """Whether a tuned value is the least or the largest of several that were tried, the textbook's included."""
    values_tried = {cell.flat[key] for cell in tried} - {None}  # None: derived from something else
    if tuned is None or len(values_tried) <= 1:
        return False
    return tuned.cell.flat[key] in (min(values_tried), max(values_tried))


def choose[T](regret: Mapping[T, Float[np.ndarray, " runs"]]) -> T | None:
    """The setting with the least mean regret; the first of several, None of none."""
    return min(regret, key=lambda setting: float(np.mean(regret[setting])), default=None)


def _algorithm_key(cell: Cell, comparison: Comparison) -> str:
    """What the cells of one algorithm in one panel have in common."""
    entry = comparison.algorithm_runs[cell.id]
    excluded = (*entry.hyperparameters, "seed", "runs")
    kept = {key: value for key, value in cell.flat.items() if key not in excluded}
    return json.dumps([entry.name, kept], sort_keys=True)


def _setting_key(cell: Cell, comparison: Comparison) -> str:
    return json.dumps([cell.flat[key] for key in comparison.algorithm_runs[cell.id].hyperparameters])


def halves(data: xr.DataTree) -> Float[np.ndarray, "runs 2"]:
    """Each run's regret after all rounds and after half of them."""
    regret = values(data, "regret")
    return np.stack([regret.sum(axis=1), regret[:, : regret.shape[1] // 2].sum(axis=1)], axis=1)


def growth(regret: Float[np.ndarray, "runs 2"]) -> Interval:
    """Growth with the rounds, log2 R(T) / R(T/2): 0 when learnt, 1/2 like sqrt(T), 1 when linear.

    Args:
        regret: each run's regret after all rounds and after half of them, see `halves`.
    """
    return bootstrap(regret, _log2_ratio, resamples=GROWTH_RESAMPLES)


def _log2_ratio(rows: Float[np.ndarray, "*batch runs 2"]) -> Float[np.ndarray, "*batch"]:
    whole, half = np.moveaxis(rows.mean(axis=-2), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(whole / half))


def standing_rows(algorithms: Sequence[TunedAlgorithm], data: CellData) -> list[Row]:
    """A row per algorithm and level: the setting, the regret and how it grows."""
    rows: list[Row] = []
    for algorithm in algorithms:
        for level in LEVELS:
            chosen = algorithm.at(level)
            if chosen is None:
                continue
            own = data[chosen.cell.id]
            final, grows = final_regret(own), growth(halves(own))
            rows.append(
                {
                    "algorithm": algorithm.name,
                    "environment": algorithm.panel,
                    "level": level,
                    "setting": algorithm.describe(level),
                    "final_regret_mean": float(final.mean()),
                    "final_regret_se": standard_error(final),
                    "growth": grows.value,
                    "growth_low": grows.low,
                    "growth_high": grows.high,
                }
            )
    return rows
