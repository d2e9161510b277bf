"""Logged rounds: what was seen, played and earned, and with which probability it was played."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from samplers.errors import InputError, did_you_mean

READERS = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
# Columns, with the names that the Open Bandit Data give them
COLUMNS = {
    "action": ("action", "item_id"),
    "reward": ("reward", "click"),
    "propensity": ("propensity", "propensity_score", "pscore"),
}
CONTEXT = "context_"  # columns that begin so are the features of a round's context
RIDGE = 1.0
BLOCKS = 20  # of a run, each predicted from those before it


class Log(NamedTuple):
    """Logged rounds.

    Attributes:
        actions: The arms that were played.
        rewards: Their rewards.
        propensity: Probability with which each was played; NaN where it is not known.
        features: Features of every arm in every round; one-hot arms if nothing else is known.
        runs: The run of each round; None for a single one.
    """

    actions: Int[np.ndarray, " rounds"]
    rewards: Float[np.ndarray, " rounds"]
    propensity: Float[np.ndarray, " rounds"]
    features: Float[np.ndarray, "rounds arms dim"]
    runs: Int[np.ndarray, " rounds"] | None = None

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.features.shape[1]

    def uniform(self) -> Float[np.ndarray, "rounds arms"]:
        """The policy that plays every arm with the same probability."""
        return np.full((len(self.actions), self.arms), 1 / self.arms)

    def constant(self, arm: int) -> Float[np.ndarray, "rounds arms"]:
        """The policy that always plays one arm. Raises InputError if there is no such arm."""
        if not 0 <= arm < self.arms:
            raise InputError(f"policy={arm}: the log has arms 0 to {self.arms - 1}")
        return np.broadcast_to(np.eye(self.arms)[arm], (len(self.actions), self.arms))

    def frequencies_of(self, other: "Log") -> Float[np.ndarray, "rounds arms"]:
        """The policy that plays every arm as often as another log does."""
        if other.arms > self.arms:
            raise InputError(f"the policy's log has {other.arms} arms, and the evaluated one {self.arms}")
        counts = np.bincount(other.actions, minlength=self.arms)
        return np.broadcast_to(counts / counts.sum(), (len(self.actions), self.arms))


def read_log(path: Path) -> Log:
    """Reads a log from a CSV or Parquet file.

    Columns: `action` (0, 1, ...), `reward`, `propensity`; optionally numbers `context_*` and `run`. The column names of
    the Open Bandit Data (`item_id`, `click`, `propensity_score`) are understood.

    Raises:
        InputError: If the file cannot be read, a column is missing, or actions are no whole numbers.
    """
    if path.suffix not in READERS:
        raise InputError(f"{path}: a log is a file with the suffix {' or '.join(READERS)}")
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        frame = READERS[path.suffix](path)
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if frame.empty:
        raise InputError(f"{path}: a log without rows")
    columns = {name: _column(path, frame, name, aliases) for name, aliases in COLUMNS.items()}
    actions = columns["action"]
    if np.any(actions != np.floor(actions)) or np.any(actions < 0):
        raise InputError(f"{path}: column action must have whole numbers from 0 on, the index of an arm")
    runs = frame["run"].to_numpy() if "run" in frame.columns else None
    arms = int(actions.max()) + 1
    contexts = [name for name in frame.columns if str(name).startswith(CONTEXT)]
    return Log(
        actions.astype(int),
        columns["reward"],
        columns["propensity"],
        _features(path, frame, contexts, arms),
        runs,
    )


def _column(path: Path, frame: pd.DataFrame, name: str, aliases: Sequence[str]) -> np.ndarray:
    found = [alias for alias in aliases if alias in frame.columns]
    if not found:
        hint = did_you_mean(name, [str(column) for column in frame.columns])
        what = " (the probability with which the action was played)" if name == "propensity" else ""
        raise InputError(
            f"{path}: a log needs a column {name}{what}{hint}; it has: {', '.join(map(str, frame))}"
        )
    values = pd.to_numeric(frame[found[0]], errors="coerce").to_numpy(float)
    if name != "propensity" and not np.all(np.isfinite(values)):
        raise InputError(
            f"{path}: column {found[0]} has {int(np.sum(~np.isfinite(values)))} values that are no numbers"
        )
    return values


def _features(path: Path, frame: pd.DataFrame, contexts: Sequence[str], arms: int) -> np.ndarray:
    """One-hot arms, times the context if there is one: a linear model then has coefficients for each arm."""
    if not contexts:
        return np.broadcast_to(np.eye(arms), (len(frame), arms, arms))
    values = frame[list(contexts)].apply(pd.to_numeric, errors="coerce").to_numpy(float)
    if not np.all(np.isfinite(values)):
        raise InputError(f"{path}: the columns {CONTEXT}* must be numbers")
    context = np.column_stack([np.ones(len(frame)), values])
    return np.einsum("ac,nk->nack", np.eye(arms), context).reshape(len(frame), arms, -1)


def fit_rewards(log: Log, folds: int = 2) -> Float[np.ndarray, "rounds arms"]:
    """Mean rewards of all arms by ridge regression on the features, never fitted on the round that it predicts.

    Rounds of several runs are those of agents that learn, where later rounds depend on earlier rewards: each is then
    predicted from the earlier rounds of its own run, in blocks. Those of a single log are predicted by the other folds.
    """
    rows = log.features[np.arange(len(log.actions)), log.actions]
    if log.runs is None:
        fold = np.arange(len(rows)) % folds
        return _fitted(log, rows, [(fold != one, fold == one) for one in range(folds)], np.mean(log.rewards))
    splits = []
    for run in np.unique(log.runs):
        (own,) = np.nonzero(log.runs == run)
        ends = np.unique(np.linspace(0, len(own), BLOCKS + 1).astype(int))
        splits += [(own[:begin], own[begin:end]) for begin, end in itertools.pairwise(ends)]
    return _fitted(log, rows, splits, 0.0)


def _fitted(
    log: Log,
    rows: Float[np.ndarray, "rounds dim"],
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    centre: float | np.floating,
) -> Float[np.ndarray, "rounds arms"]:
    """Each second part predicted from the first; `centre` where there are no data."""
    model = np.full((len(rows), log.arms), float(centre))
    for train, test in splits:
        fitted = rows[train]
        if len(fitted):
            gram = fitted.T @ fitted + RIDGE * np.eye(rows.shape[1])
            theta = np.linalg.solve(gram, fitted.T @ (log.rewards[train] - centre))
            model[test] += log.features[test] @ theta
    return model
