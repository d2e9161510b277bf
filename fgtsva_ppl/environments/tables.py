"""Classification tables: standardized numbers, one-hot categories, a class for each row."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from samplers.errors import InputError

MAX_CLASSES = 100


class Table(NamedTuple):
    """A classification dataset.

    Attributes:
        contexts: Standardized columns.
        labels: Index of each row's class.
        classes: Names of the classes.
    """

    contexts: Float[np.ndarray, "rows context_dim"]
    labels: Int[np.ndarray, " rows"]
    classes: tuple[str, ...]


def table_from_frame(frame: pd.DataFrame, label: str, source: str) -> Table:
    """Encodes a data frame as a table.

    Args:
        frame: One row per context, the label among its columns, without missing values.
        label: The label column; its values are the classes.
        source: Name of the data in error messages.

    Returns:
        The table; numeric columns and one-hot categories are standardized, constant columns dropped.
    """
    frame = frame.rename(columns=str)
    if label not in frame:
        raise InputError(f"{source} has no column {label!r}; it has: {', '.join(frame)}")
    missing = frame.isna().sum()
    if missing.any():
        worst = missing.idxmax()
        raise InputError(
            f"{source} has {int(missing.sum())} missing values, {missing[worst]} of them in column {worst!r}; "
            "fill or drop them first"
        )
    classes, labels = np.unique(frame[label].astype(str), return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"{source}: label {label!r} is constant; there must be at least two classes")
    if len(classes) > MAX_CLASSES:
        raise InputError(
            f"{source}: label {label!r} has {len(classes)} values, one arm each; at most {MAX_CLASSES} are allowed"
        )
    columns = frame.drop(columns=label)
    contexts = pd.get_dummies(columns, columns=categorical_columns(columns), dtype=float).to_numpy(float)
    if not np.all(np.isfinite(contexts)):
        raise InputError(f"{source} has numbers that are not finite")
    contexts = standardize(contexts)
    if not contexts.shape[1]:
        raise InputError(f"{source} has no column besides {label!r} that varies")
    return Table(contexts, labels, tuple(map(str, classes)))


def categorical_columns(frame: pd.DataFrame) -> list[str]:
    """The columns that are not numbers: text, categories, true or false."""
    return [column for column in frame if not _is_numeric(frame[column])]


def fill_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with missing values of categorical columns as a category of their own."""
    frame = frame.rename(columns=str)
    names = categorical_columns(frame)
    return frame.assign(
        **{name: frame[name].astype(object).where(frame[name].notna(), "missing") for name in names}
    )


def standardize(columns: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows varying"]:
    """Columns with mean 0 and variance 1; constant columns are dropped."""
    deviation = columns.std(axis=0)
    varies = deviation > 1e-12 * np.abs(columns).max(axis=0, initial=1.0)
    return np.asarray((columns - columns.mean(axis=0))[:, varies] / deviation[varies], dtype=float)


def reduce(table: Table, max_rows: int, num_components: int) -> Table:
    """A random subset of a table's rows, projected on their first principal components.

    Args:
        table: The whole table.
        max_rows: Number of rows to keep at most, the same ones in every call; 0 for all.
        num_components: Number of principal components, standardized; 0 to keep the contexts.
    """
    contexts, labels, classes = table
    if max_rows and max_rows < len(labels):
        kept = np.random.default_rng(0).permutation(len(labels))[:max_rows]
        contexts, labels = contexts[kept], labels[kept]
    if num_components and num_components < contexts.shape[1]:
        centred = contexts - contexts.mean(axis=0)
        directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :num_components]
        # The sign of an eigenvector is arbitrary: make its largest entry positive, on every machine.
        signs = np.sign(directions[np.argmax(np.abs(directions), axis=0), np.arange(num_components)])
        contexts = standardize(centred @ (signs * directions))
    return Table(contexts, labels, classes)


def _is_numeric(column: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))
