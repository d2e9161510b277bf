"""Reads the YAML files of studies and of the default cell. Nothing here imports JAX."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from experiments.config.keys import NUMBERS
from samplers.errors import InputError, did_you_mean

DEFAULTS = Path(__file__).with_name("defaults.yaml")
STUDIES = Path(__file__).parents[1] / "studies"  # a folder each, with study.yaml in it
CLAIMS = "claims"  # the folder of the studies that test a published claim
DEFAULT = "default"  # the study that is run if none is named


def study_names() -> list[str]:
    """The names of all studies, the default one first."""
    files = [*STUDIES.glob("*/study.yaml"), *STUDIES.glob(f"{CLAIMS}/*/study.yaml")]
    names = [path.parent.relative_to(STUDIES).as_posix() for path in files]
    return sorted(names, key=lambda name: (name != DEFAULT, name.startswith(CLAIMS), name))


def claim_names() -> list[str]:
    """The names of the studies that test a published claim."""
    return [name for name in study_names() if name.startswith(f"{CLAIMS}/")]


def read_study(name: str, *, quick: bool = False) -> dict[str, Any]:
    """A study's file as plain data; algorithms times environments are written out as `grids`.

    Args:
        name: of the study.
        quick: the small size, for a look at what the study does: its block `quick` replaces numbers in all grids, and
            other settings in the grids that have them.
    """
    if name not in study_names():
        raise InputError(
            f"unknown study {name!r}{did_you_mean(name, study_names())}; valid: {', '.join(study_names())}"
        )
    study = _read(STUDIES / name / "study.yaml")
    if "algorithms" in study:  # every algorithm is run in every environment
        study["grids"] = [
            grid | algorithm for algorithm in study["algorithms"] for grid in study["environments"]
        ]
    return _quick(name, study) if quick else study


def read_pending() -> list[dict[str, Any]]:
    """The published claims that have no study yet, each with what is missing."""
    return list(_read(STUDIES / CLAIMS / "pending.yaml")["claims"])


def _quick(name: str, study: dict[str, Any]) -> dict[str, Any]:
    """The study at its small size. Raises InputError if it has none."""
    if "quick" not in study:
        others = [other for other in study_names() if "quick" in _read(STUDIES / other / "study.yaml")]
        raise InputError(f"study={name} has no quick size; these have one: {', '.join(others) or 'none'}")
    small = dict(study["quick"])
    diagnostics = study.get("diagnostics", {}) | small.pop("diagnostics", {})
    grids = [
        grid | {key: values for key, values in small.items() if key in grid or key in NUMBERS}
        for grid in study["grids"]
    ]
    return study | {"grids": grids, "diagnostics": diagnostics, "title": f"{study['title']} (quick size)"}


@lru_cache(maxsize=1)
def read_defaults() -> dict[str, Any]:
    """The member of each group, and the numbers, of a cell for which nothing else is specified."""
    return _read(DEFAULTS)


def _read(path: Path) -> dict[str, Any]:
    from omegaconf import OmegaConf  # takes a third of the time of a completion, which needs names only

    data = OmegaConf.to_container(OmegaConf.load(path))
    assert isinstance(data, dict)
    return {str(key): value for key, value in data.items()}
