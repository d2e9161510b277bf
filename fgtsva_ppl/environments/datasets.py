"""Classification tables from scikit-learn, a file or OpenML, with standardized numbers and one-hot categories."""

import hashlib
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fgtsva_ppl.jax_config import cache_folder
from samplers.errors import InputError

MAX_CLASSES = 100
READERS = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
# Datasets of the contextual bandit literature: short name -> name and version at OpenML.
OPENML_DATASETS = {
    "shuttle": ("shuttle", 1),
    "mushroom": ("mushroom", 1),
    "magic": ("MagicTelescope", 1),
    "covertype": ("covertype", 3),
    "adult": ("adult", 2),
}
_LABEL = "the label"  # the label column of a data frame from OpenML

_digests: dict[str, str] = {}  # files read by this process -> digests of their content


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


class Source(NamedTuple):
    """Where a table comes from."""

    kind: str  # bundled, file or openml
    name: str  # name of the dataset, or path of the file
    label: str = ""  # label column of a file


def load(source: Source) -> Table:
    """Loads a whole table."""
    if source.kind == "file":
        return read_file(source.name, source.label)
    return load_bundled(source.name) if source.kind == "bundled" else fetch_openml(source.name)


@lru_cache(maxsize=8)
def load_reduced(source: Source, max_rows: int, num_components: int) -> Table:
    """Loads a random subset of a table's rows, projected on their first principal components.

    Args:
        source: Where the table comes from.
        max_rows: Number of rows to keep at most, the same ones in every call; 0 for all.
        num_components: Number of principal components, standardized; 0 to keep the contexts.

    Returns:
        The reduced table.
    """
    contexts, labels, classes = load(source)
    if max_rows and max_rows < len(labels):
        kept = np.random.default_rng(0).permutation(len(labels))[:max_rows]
        contexts, labels = contexts[kept], labels[kept]
    if num_components and num_components < contexts.shape[1]:
        centred = contexts - contexts.mean(axis=0)
        directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :num_components]
        # The sign of an eigenvector is arbitrary: make its largest entry positive, on every machine.
        signs = np.sign(directions[np.argmax(np.abs(directions), axis=0), np.arange(num_components)])
        contexts = _standardize(centred @ (signs * directions))
    return Table(contexts, labels, classes)


def load_bundled(name: str) -> Table:
    """Loads one of the datasets that come with scikit-learn."""
    dataset = getattr(_sklearn_datasets(), f"load_{name}")()
    return Table(
        _standardize(dataset.data), np.asarray(dataset.target), tuple(map(str, dataset.target_names))
    )


def read_file(path: str, label: str) -> Table:
    """Reads a CSV or Parquet file."""
    if not path or not label:
        raise InputError("environment 'table' needs a file and its label column: set path=FILE label=COLUMN")
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        raise InputError(f"path={path} must end in {' or '.join(READERS)}")
    try:
        frame = reader(path)
    except ImportError:
        raise InputError(f"to read {path}, install fgtsva[data]") from None
    except (OSError, ValueError) as error:  # pandas' and pyarrow's own errors are ValueErrors
        raise InputError(f"cannot read {path}: {_first_line(error)}") from None
    return table_from_frame(frame, label, path)


def fingerprint(path: str) -> str:
    """Digest of a file's content; InputError if the file has changed since this process first read it.

    The digest identifies results by the data that they were computed from. Tables and compiled programs are cached by
    path, so a process must not mix two contents of one file.
    """
    if not path:
        raise InputError(
            "environment 'table' needs a file: set environment.path=FILE and environment.label=COLUMN"
        )
    try:
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise InputError(f"cannot read {path!r}: {error.strerror}") from None
    if _digests.setdefault(path, digest) != digest:
        raise InputError(f"{path} has changed since this process read it; restart")
    return digest


def fetch_openml(name: str) -> Table:
    """Downloads a dataset from OpenML, or reads it from the cache folder.

    A missing value of a categorical column becomes a category of its own.
    """
    if not name:
        raise InputError(
            f"environment 'openml' needs a name: set dataset=NAME, such as {', '.join(OPENML_DATASETS)}"
        )
    openml_name, version = OPENML_DATASETS.get(name, (name, "active"))
    folder = cache_folder() / "openml"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about retries; a final failure is reported below
            dataset = _sklearn_datasets().fetch_openml(
                openml_name, version=version, data_home=str(folder), as_frame=True, parser="auto"
            )
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot get {name!r} from OpenML: {_first_line(error)}; the first time this needs a network, "
            f"later it is read from {folder}"
        ) from None
    frame = dataset.data.assign(**{_LABEL: dataset.target})
    categorical = [column for column in frame if column != _LABEL and not _is_numeric(frame[column])]
    frame[categorical] = frame[categorical].astype(object).where(frame[categorical].notna(), "missing")
    return table_from_frame(frame, _LABEL, name)


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
    categorical = [column for column in columns if not _is_numeric(columns[column])]
    contexts = pd.get_dummies(columns, columns=categorical, dtype=float).to_numpy(float)
    if not np.all(np.isfinite(contexts)):
        raise InputError(f"{source} has numbers that are not finite")
    contexts = _standardize(contexts)
    if not contexts.shape[1]:
        raise InputError(f"{source} has no column besides {label!r} that varies")
    return Table(contexts, labels, tuple(map(str, classes)))


def _standardize(columns: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and variance 1; constant columns are dropped."""
    deviation = columns.std(axis=0)
    varies = deviation > 1e-12 * np.abs(columns).max(axis=0, initial=1.0)
    return np.asarray((columns - columns.mean(axis=0))[:, varies] / deviation[varies], dtype=float)


def _is_numeric(column: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _sklearn_datasets() -> Any:
    try:
        from sklearn import datasets
    except ImportError:
        raise InputError("this environment needs scikit-learn: install fgtsva[data]") from None
    return datasets
