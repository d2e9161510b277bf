"""Reads the YAML files of studies and of the default cell. Nothing here imports JAX."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from samplers.errors import InputError, did_you_mean

DEFAULTS = Path(__file__).with_name("defaults.yaml")
STUDIES = Path(__file__).parents[1] / "studies"  # a folder each, with study.yaml in it
DEFAULT = "default"  # the study that is run if none is named


def study_names() -> list[str]:
    """The names of all studies, the default one first."""
    names = sorted(path.parent.name for path in STUDIES.glob("*/study.yaml"))
    return sorted(names, key=lambda name: name != DEFAULT)


def read_study(name: str) -> dict[str, Any]:
    """A study's file as plain data; `grids` has every algorithm in every environment."""
    if name not in study_names():
        raise InputError(
            f"unknown study {name!r}{did_you_mean(name, study_names())}; valid: {', '.join(study_names())}"
        )
    study = _read(STUDIES / name / "study.yaml")
    if "algorithms" in study:
        study["grids"] = [
            environment | algorithm
            for algorithm in study["algorithms"]
            for environment in study["environments"]
        ]
    return study


@lru_cache(maxsize=1)
def read_defaults() -> dict[str, Any]:
    """The member of each group, and the numbers, of a cell for which nothing else is specified."""
    return _read(DEFAULTS)


def _read(path: Path) -> dict[str, Any]:
    from omegaconf import OmegaConf  # takes a third of the time of a completion, which needs names only

    data = OmegaConf.to_container(OmegaConf.load(path))
    assert isinstance(data, dict)
    return {str(key): value for key, value in data.items()}
