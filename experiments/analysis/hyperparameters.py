"""Textbook and tuned settings of algorithms, tuned on other seeds than the one that is reported.

The first seed of a study is reported. At the other seeds every algorithm's hyperparameters are tried, and the setting
with the least mean regret there is the tuned one. Nothing that is reported has a part in its own choice.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.analysis.statistics import Interval, bootstrap, standard_error
from experiments.analysis.summary import Row, final_regret
from experiments.config.cell import Cell
from experiments.config.comparison import Comparison
from experiments.config.labels import by_panel
from experiments.storage.codecs import values

LEVELS = ("textbook", "tuned")

type Data = Mapping[str, xr.DataTree]


class Setting(NamedTuple):
    """A setting of an algorithm's hyperparameters."""

    cell: Cell  # at the reported seed
    tried: float  # mean regret at the other seeds


@dataclass(frozen=True)
class TunedAlgorithm:
    """An algorithm where everything but its hyperparameters is given."""

    name: str
    panel: str
    hyperparameters: tuple[str, ...]
    textbook: Setting | None
    tuned: Setting | None  # None where there is no other seed
    sweep: str | None = None  # the setting along which the study goes
    edge: tuple[
        str, ...
    ] = ()  # hyperparameters whose tuned value is the last that was tried: beyond may be better

    def at(self, level: str) -> Setting | None:
        """The textbook's or the tuned setting."""
        return self.textbook if level == "textbook" else self.tuned

    def told(self, level: str) -> str:
        """Where the hyperparameters are, and where along the study's own setting."""
        chosen = self.at(level)
        if chosen is None:
            return ""
        edge = self.edge if level == "tuned" else ()
        return ", ".join(
            f"{key.rpartition('.')[2]}={_short(chosen.cell.flat[key])}{' (edge)' if key in edge else ''}"
            for key in ((self.sweep, *self.hyperparameters) if self.sweep else self.hyperparameters)
        )


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float | int) else str(value)


def tuned_algorithms(cells: Sequence[Cell], data: Data, comparison: Comparison) -> list[TunedAlgorithm]:
    """Every algorithm of a study in every place, with the settings that were chosen for it. `cells` are all of them."""
    done = [cell for cell in cells if cell.id in data and cell.id in comparison.algorithm_runs]
    if comparison.sweep is not None:
        done = [cell for cell in done if comparison.sweep in cell.flat]  # an agent may have no such setting
    if not done:
        return []
    first = cells[0].seed
    panels = {cell.id: panel for panel, members in by_panel(done).items() for cell in members}
    found: dict[str, list[Cell]] = {}
    for cell in done:
        found.setdefault(_where(cell, comparison), []).append(cell)
    made = []
    for members in found.values():
        own = {_hyperparameters(cell, comparison): cell for cell in members if cell.seed == first}
        elsewhere = [cell for cell in members if cell.seed != first]
        tried = {
            hyperparameters: np.concatenate(
                [
                    final_regret(data[c.id])
                    for c in elsewhere
                    if _hyperparameters(c, comparison) == hyperparameters
                ]
            )
            for hyperparameters in dict.fromkeys(_hyperparameters(cell, comparison) for cell in elsewhere)
        }
        settings = {
            key: Setting(cell, float(tried[key].mean()) if key in tried else float("nan"))
            for key, cell in own.items()
        }
        textbook = next(
            (one for one in settings.values() if comparison.algorithm_runs[one.cell.id].textbook), None
        )
        best = choose({key: regret for key, regret in tried.items() if key in own})
        tuned = None if best is None else settings[best]
        if own:
            entry = comparison.algorithm_runs[members[0].id]
            edge = tuple(key for key in entry.hyperparameters if _at_edge(key, own.values(), tuned))
            panel = panels[members[0].id]
            made.append(
                TunedAlgorithm(
                    entry.name, panel, entry.hyperparameters, textbook, tuned, comparison.sweep, edge
                )
            )
    return made


def _at_edge(key: str, tried: Iterable[Cell], tuned: Setting | None) -> bool:
    """Whether a tuned value is the least or the largest of several that were tried, the textbook's or not."""
    values_tried = {cell.flat[key] for cell in tried}
    if tuned is None or len(values_tried) == 1:
        return False
    return tuned.cell.flat[key] in (min(values_tried), max(values_tried))


def choose[T](regret: Mapping[T, np.ndarray]) -> T | None:
    """The setting with the least mean regret; the first of several, None of none."""
    return min(regret, key=lambda setting: float(np.mean(regret[setting])), default=None)


def _where(cell: Cell, comparison: Comparison) -> str:
    entry = comparison.algorithm_runs[cell.id]
    kept = {
        key: value for key, value in cell.flat.items() if key not in (*entry.hyperparameters, "seed", "runs")
    }
    return json.dumps([entry.name, kept], sort_keys=True)


def _hyperparameters(cell: Cell, comparison: Comparison) -> str:
    return json.dumps([cell.flat[key] for key in comparison.algorithm_runs[cell.id].hyperparameters])


def halves(data: xr.DataTree) -> np.ndarray:
    """Each run's regret after all rounds and after half of them: (runs, 2)."""
    regret = values(data, "regret")
    return np.stack([regret.sum(axis=1), regret[:, : regret.shape[1] // 2].sum(axis=1)], axis=1)


def growth(regret: np.ndarray) -> Interval:
    """log2 of the regret after all rounds over that after half of them: 0 when learnt, 1/2 like sqrt(T), 1 linear."""
    return bootstrap(regret, _doubling, resamples=2000)


def _doubling(rows: np.ndarray) -> np.ndarray:
    whole, half = np.moveaxis(rows.mean(axis=-2), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(whole / half))


def standing_rows(found: Sequence[TunedAlgorithm], data: Data) -> list[Row]:
    """A row per algorithm and level: the setting, the regret and how it grows."""
    rows: list[Row] = []
    for place in found:
        for level in LEVELS:
            chosen = place.at(level)
            if chosen is None:
                continue
            own = data[chosen.cell.id]
            final, grows = final_regret(own), growth(halves(own))
            rows.append(
                {
                    "algorithm": place.name,
                    "environment": place.panel,
                    "level": level,
                    "setting": place.told(level),
                    "final_regret_mean": float(final.mean()),
                    "final_regret_se": standard_error(final),
                    "growth": grows.value,
                    "growth_low": grows.low,
                    "growth_high": grows.high,
                }
            )
    return rows
