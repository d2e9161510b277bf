"""Tables of data to classify: scikit-learn's, from a file, or from OpenML; numbers standardised, words one-hot."""

import hashlib
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fgtsva_ppl.jax_config import cache_folder
from samplers.errors import InputError

MOST_CLASSES = 100
READERS = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
# As used in the literature on contextual bandits: name and version at OpenML.
LITERATURE = {
    "shuttle": ("shuttle", 1),
    "mushroom": ("mushroom", 1),
    "magic": ("MagicTelescope", 1),
    "covertype": ("covertype", 3),
    "adult": ("adult", 2),
}


_read: dict[str, str] = {}  # files that this process has read -> their digests


class Table(NamedTuple):
    """ReplayBuffer to classify."""

    contexts: np.ndarray  # (rows, size), standardised
    labels: np.ndarray  # (rows,), 0, 1, ...
    classes: tuple[str, ...]


class Source(NamedTuple):
    """Where a table is."""

    kind: str  # bundled, file or openml
    name: str
    label: str = ""


def load(source: Source) -> Table:
    """The whole table."""
    if source.kind == "file":
        return read(source.name, source.label)
    return bundled(source.name) if source.kind == "bundled" else openml(source.name)


@lru_cache(maxsize=8)
def reduced(source: Source, rows: int, components: int) -> Table:
    """At most so many rows, the same ones always, and their first principal components; 0 for all."""
    contexts, labels, classes = load(source)
    if rows and rows < len(labels):
        kept = np.random.default_rng(0).permutation(len(labels))[:rows]
        contexts, labels = contexts[kept], labels[kept]
    if components and components < contexts.shape[1]:
        centred = contexts - contexts.mean(axis=0)
        directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :components]
        # an eigenvector's sign is nobody's choice: the largest entry is positive
        signs = np.sign(directions[np.argmax(np.abs(directions), axis=0), np.arange(components)])
        contexts = _standardised(centred @ (signs * directions))
    return Table(contexts, labels, classes)


def bundled(name: str) -> Table:
    """One of the sets that come with scikit-learn."""
    found = getattr(_scikit_learn(), f"load_{name}")()
    return Table(_standardised(found.data), np.asarray(found.target), tuple(map(str, found.target_names)))


def read(path: str, label: str) -> Table:
    """A CSV or Parquet file."""
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
    return tabulated(frame, label, path)


def fingerprint(path: str) -> str:
    """A digest of a file, so that results from another content are not taken for this one's."""
    try:
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise InputError(f"cannot read {path!r}: {error.strerror}") from None
    if _read.setdefault(path, digest) != digest:  # what was read, and compiled programs, hold the old content
        raise InputError(f"{path} has changed since this process read it; begin anew")
    return digest


def openml(name: str) -> Table:
    """A set from OpenML, kept in the cache folder. There a value may be missing: that is a category of its own."""
    if not name:
        raise InputError(
            f"environment 'openml' needs a name: set dataset=NAME, such as {', '.join(LITERATURE)}"
        )
    at_openml, version = LITERATURE.get(name, (name, "active"))
    folder = cache_folder() / "openml"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it tries again; what comes of it is told below
            found = _scikit_learn().fetch_openml(
                at_openml, version=version, data_home=str(folder), as_frame=True, parser="auto"
            )
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot get {name!r} from OpenML: {_first_line(error)}; the first time this needs a network, "
            f"then it is kept in {folder}"
        ) from None
    frame = found.data.assign(**{LABEL: found.target})
    words = [column for column in frame if column != LABEL and not _is_number(frame[column])]
    frame[words] = frame[words].astype(object).where(frame[words].notna(), "missing")
    return tabulated(frame, LABEL, name)


LABEL = "the label"


def tabulated(frame: Any, label: str, source: str) -> Table:
    """A data frame as a table; InputError says what is wrong with it."""
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
        raise InputError(f"{source}: label {label!r} is constant; there must be two classes at least")
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"{source}: label {label!r} has {len(classes)} values; each is an arm, and {MOST_CLASSES} are the most"
        )
    columns = frame.drop(columns=label)
    words = [column for column in columns if not _is_number(columns[column])]
    contexts = pd.get_dummies(columns, columns=words, dtype=float).to_numpy(float)
    if not np.all(np.isfinite(contexts)):
        raise InputError(f"{source} has numbers that are not finite")
    made = _standardised(contexts)
    if not made.shape[1]:
        raise InputError(f"{source} has no column beside {label!r} that varies")
    return Table(made, labels, tuple(map(str, classes)))


def _standardised(columns: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1; what never varies is left out."""
    spread = columns.std(axis=0)
    varied = spread > 1e-12 * np.abs(columns).max(axis=0, initial=1.0)
    return np.asarray((columns - columns.mean(axis=0))[:, varied] / spread[varied], dtype=float)


def _is_number(column: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _scikit_learn() -> Any:
    try:
        from sklearn import datasets
    except ImportError:
        raise InputError("this environment needs scikit-learn: install fgtsva[data]") from None
    return datasets
