"""Datasets from OpenML, by a pinned id or by name; downloaded once."""

import warnings
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fgtsva_ppl.environments.tables import Table, fill_categories, table_from_frame
from fgtsva_ppl.jax_config import cache_folder
from samplers.errors import InputError

_LABEL = "the label"  # the label column of a data frame from OpenML
ROW_ID = "id"  # a column of this name numbers the rows, and tells the class where rows are sorted by it
READ_ERRORS = (OSError, ValueError, EOFError, zlib.error)  # of a network, a checksum, a damaged file


class Pinned(NamedTuple):
    """A version of a dataset at OpenML, and the size that it must have.

    scikit-learn compares the MD5 of what it downloaded with that of OpenML's description; the size is checked here.
    """

    data_id: int
    rows: int
    columns: int  # without the label and row numbers
    classes: int


# Datasets of the contextual bandit literature
PINNED = {
    "shuttle": Pinned(40685, 58_000, 9, 7),
    "mushroom": Pinned(24, 8_124, 22, 2),
    "magic": Pinned(1120, 19_020, 10, 2),
    "adult": Pinned(1590, 48_842, 14, 2),
    "covertype": Pinned(1596, 581_012, 54, 7),
    "mnist": Pinned(554, 70_000, 784, 10),
}


def folder() -> Path:
    """Where scikit-learn keeps what it downloaded."""
    return cache_folder() / "openml"


def is_downloaded(name: str) -> bool:
    """Whether a pinned dataset was downloaded before: its description is in the folder."""
    return any(folder().glob(f"openml/openml.org/**/data/{PINNED[name].data_id}.gz"))


def fetch_openml(name: str) -> Table:
    """Downloads a dataset, or reads it from the cache folder; known names stand for pinned versions.

    A missing value of a categorical column becomes a category of its own. A column that numbers the rows is dropped.
    """
    if not name:
        raise InputError(f"environment 'openml' needs a name: set dataset=NAME, such as {', '.join(PINNED)}")
    pinned = PINNED.get(name)
    which = {"data_id": pinned.data_id} if pinned else {"name": name, "version": "active"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about retries; a final failure is reported below
            dataset = sklearn_datasets().fetch_openml(
                **which, data_home=str(folder()), as_frame=True, parser="auto"
            )
    except READ_ERRORS as error:
        raise InputError(
            f"cannot get {name!r} from OpenML: {first_line(error)}; the first time this needs a network, "
            f"later it is read from {folder()} (delete that if it is damaged)"
        ) from None
    columns = dataset.data[[column for column in dataset.data if str(column).strip(" :_").lower() != ROW_ID]]
    if pinned:
        _check_size(name, pinned, columns, dataset.target)
    return table_from_frame(fill_categories(columns).assign(**{_LABEL: dataset.target}), _LABEL, name)


def _check_size(name: str, pinned: Pinned, columns: pd.DataFrame, target: pd.Series) -> None:
    size = (*columns.shape, target.nunique())
    if size != pinned[1:]:
        found, expected = (
            " x ".join(map(str, numbers[:2])) + f", {numbers[2]} classes" for numbers in (size, pinned[1:])
        )
        raise InputError(f"{name!r} from OpenML (id {pinned.data_id}) is {found}, but should be {expected}")


def first_line(error: Exception) -> str:
    """The first line of an error's message."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def sklearn_datasets() -> Any:
    """scikit-learn's module of datasets. Raises InputError if it is not installed."""
    try:
        from sklearn import datasets
    except ImportError:
        raise InputError("this environment needs scikit-learn: install fgtsva[data]") from None
    return datasets
