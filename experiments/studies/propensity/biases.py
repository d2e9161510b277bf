"""Errors of logged propensities, and the bias of what is estimated from them.

Cells come in pairs that play the same arms: one logs propensities from replicas of its own draw, the other those of
exact draws from the posterior, as an agent does that takes its sampler for exact.
"""

import json
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from experiments.analysis.logs import log_of_cell
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, mean_interval
from experiments.config.cell import REFERENCE, Cell
from experiments.config.text import setting_text
from experiments.storage.codecs import values
from fgtsva_ppl.evaluation import evaluate, fit_rewards

SOURCE = "agent.propensity_from"
REPLICAS, POSTERIOR = "replicas", "posterior"
ESTIMATORS = ("ips", "snips", "doubly_robust")
NAMED = ("sampler.spread", "sampler.num_steps")  # settings that a sampler's name is followed by


class Logged(NamedTuple):
    """A sampler's logs.

    Attributes:
        name: The sampler, with its settings.
        error: Action-TV between its draws and exact ones, by run: the mean of max(0, 1 - q / p) over played arms, where
            p is from replicas and q from exact draws; it has a floor, which exact draws show.
        biases: Estimate less true value of the uniform policy, by source of the propensities, estimator and run.
        scale: Value of the best arm less that of the uniform policy, mean over runs.
    """

    name: str
    error: Float[np.ndarray, " runs"]
    biases: dict[str, dict[str, Float[np.ndarray, " runs"]]]
    scale: float

    @property
    def exact(self) -> bool:
        """Whether draws are exact."""
        return self.name == "exact draws"

    def bias(self, source: str, estimator: str = ESTIMATORS[0]) -> Interval:
        """Mean over runs."""
        return mean_interval(self.biases[source][estimator])

    @property
    def total_variation(self) -> Interval:
        """Mean over runs."""
        return mean_interval(self.error)


def total_variation(
    own: Float[np.ndarray, "runs rounds"], exact: Float[np.ndarray, "runs rounds"]
) -> Float[np.ndarray, " runs"]:
    """sum_a (p - q)+ of each run, as the mean of (1 - q / p)+ over arms that were played with probability p."""
    return np.asarray(np.maximum(0, 1 - exact / own).mean(axis=1))


@lru_cache(maxsize=4)
def logged(results: StudyResults) -> list[Logged]:
    """Every sampler that has both kinds of propensities."""
    pairs: dict[str, dict[str, Cell]] = {}
    for cell in results.done:
        if cell.flat.get(SOURCE) and cell.flat.get("agent.propensity_draws"):
            key = {name: value for name, value in cell.flat.items() if name != SOURCE}
            pairs.setdefault(json.dumps(key, sort_keys=True), {})[str(cell.flat[SOURCE])] = cell
    return [_logged(results, pair) for pair in pairs.values() if len(pair) == 2]


def _logged(results: StudyResults, pair: dict[str, Cell]) -> Logged:
    found, scale = {}, 0.0
    for source, cell in pair.items():
        found[source], scale = biases(cell, results)
    own, exact = (values(results.data[pair[source].id], "propensity") for source in (REPLICAS, POSTERIOR))
    return Logged(_name(pair[REPLICAS]), total_variation(own, exact), found, scale)


def biases(cell: Cell, results: StudyResults) -> tuple[dict[str, Float[np.ndarray, " runs"]], float]:
    """Estimates of the uniform policy's value less the true one, by estimator and run; what the best arm has more."""
    log, means, _ = log_of_cell(cell, results.data[cell.id])
    policy, model = log.uniform(), fit_rewards(log)
    found: dict[str, list[float]] = {name: [] for name in ESTIMATORS}
    assert log.runs is not None
    for run in np.unique(log.runs):
        own = log.runs == run
        estimates = evaluate(log.actions[own], log.rewards[own], log.propensity[own], policy[own], model[own])
        for name in ESTIMATORS:
            found[name].append(estimates[name].value - float(means[own].mean()))
    scale = float(np.mean(means.max(axis=1) - means.mean(axis=1)))
    return {name: np.array(found[name]) for name in ESTIMATORS}, scale


def _name(cell: Cell) -> str:
    if cell.flat["sampler"] == REFERENCE:
        return "exact draws"
    chosen = [f"{key.partition('.')[2]}={setting_text(cell.flat[key])}" for key in NAMED if key in cell.flat]
    return " ".join([str(cell.flat["sampler"]), *chosen])
