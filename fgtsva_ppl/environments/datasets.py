"""Classification tables from scikit-learn, a file, OpenML or a package, reduced and cached."""

import hashlib
import os
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from fgtsva_ppl.environments import literature, openml, tables
from fgtsva_ppl.environments.tables import Table, reduce, standardize, table_from_frame
from fgtsva_ppl.jax_config import cache_folder
from samplers.errors import InputError

READERS = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
MAX_CONTEXT_DIM = (
    40  # contexts with more columns are reduced to principal components, unless the settings say otherwise
)
NUM_COMPONENTS = 20

_digests: dict[str, str] = {}  # files read by this process -> digests of their content


class Source(NamedTuple):
    """Where a table comes from."""

    kind: str  # bundled, file, openml or literature
    name: str  # name of the dataset, or path of the file
    detail: str = ""  # label column of a file, or origin of a dataset of the literature


def load(source: Source) -> Table:
    """Loads a whole table."""
    match source.kind:
        case "file":
            return read_file(source.name, source.detail)
        case "bundled":
            return load_bundled(source.name)
        case "literature":
            return literature.load(source.name, source.detail)
        case _:
            return openml.fetch_openml(source.name)


class Reduced(NamedTuple):
    """A reduced table, and the number of columns that its contexts had before."""

    table: Table
    num_columns: int


@lru_cache(maxsize=8)
def load_reduced(source: Source, max_rows: int, num_components: int | None) -> Reduced:
    """Loads a random subset of a table's rows, projected on their first principal components.

    Tables of the literature take seconds to read: what is returned is kept in the cache folder.

    Args:
        source: Where the table comes from.
        max_rows: Number of rows to keep at most, the same ones in every call; 0 for all.
        num_components: Number of principal components, standardized; 0 to keep the contexts; None for
            `NUM_COMPONENTS` of contexts with more than `MAX_CONTEXT_DIM` columns.

    Returns:
        The reduced table.
    """
    cached = _cache_file(source, max_rows, num_components)
    if cached is not None and cached.exists():
        return _read_cached(cached)
    table = load(source)
    num_columns = table.contexts.shape[1]
    if num_components is None:
        num_components = NUM_COMPONENTS if num_columns > MAX_CONTEXT_DIM else 0
    reduced = Reduced(reduce(table, max_rows, num_components), num_columns)
    if cached is not None:
        _write_cached(cached, reduced)
    return reduced


def _cache_file(source: Source, max_rows: int, num_components: int | None) -> Path | None:
    """Where a reduced table is kept: the name depends on the data and on the code that encodes them."""
    if source.kind != "literature":
        return None
    code = Path(tables.__file__).read_bytes()
    key = f"{literature.identity(source.name, source.detail)} {max_rows} {num_components}".encode()
    digest = hashlib.sha256(key + code).hexdigest()[:16]
    return cache_folder() / "data" / f"{source.name}-{digest}.npz"


def _read_cached(path: Path) -> Reduced:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            contexts, labels, classes = (stored[name] for name in Table._fields)
            num_columns = int(stored["num_columns"])
        return Reduced(Table(contexts, labels, tuple(map(str, classes))), num_columns)
    except (*openml.READ_ERRORS, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is damaged ({openml.first_line(error)}): delete it and run again") from None


def _write_cached(path: Path, reduced: Reduced) -> None:
    """Writes under another name and moves it, so that no other process reads half a file; a full disk is no error."""
    partial = path.with_name(f"{path.stem}.{os.getpid()}.partial.npz")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        contexts, labels, classes = reduced.table
        num_columns = np.asarray(reduced.num_columns)
        np.savez(
            partial, contexts=contexts, labels=labels, classes=np.array(classes), num_columns=num_columns
        )
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)


def load_bundled(name: str) -> Table:
    """Loads one of the datasets that come with scikit-learn."""
    dataset = getattr(openml.sklearn_datasets(), f"load_{name}")()
    return Table(standardize(dataset.data), np.asarray(dataset.target), tuple(map(str, dataset.target_names)))


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
        raise InputError(f"cannot read {path}: {openml.first_line(error)}") from None
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
