"""One folder per study: its `study.yaml` and, where it has them, its own findings, claims and figures.

A new study is a new folder. `study.yaml` defines the cells. `__init__.py` imports the modules that the study has:

- `findings.py` with `findings(results) -> list[str]`: sentences derived from the numbers; without it those for
  any study (`analysis.findings`).
- `claims.py` with `claims(results) -> Iterator[Verdict]`: claims of the paper with the evidence for them.
- `figures.py` with `figures(results) -> dict[str, Draft]`: figures instead of the usual ones, by file name.
"""

import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from experiments.analysis.results import StudyResults
    from experiments.analysis.verdicts import Verdict
    from experiments.figures.draw import Draft


class Hooks(NamedTuple):
    """The functions that a study defines; None where it has none."""

    findings: "Callable[[StudyResults], list[str]] | None" = None
    claims: "Callable[[StudyResults], Iterable[Verdict]] | None" = None
    figures: "Callable[[StudyResults], Mapping[str, Draft]] | None" = None


def hooks(name: str) -> Hooks:
    """The functions of the study of this name; none for a name that is no folder here."""
    return _all_hooks().get(name, Hooks())


@lru_cache(maxsize=1)
def _all_hooks() -> dict[str, Hooks]:
    """The hooks of every folder here. All are imported, so that no stored name decides what is."""

    def fail(name: str) -> None:
        raise  # the ImportError that pkgutil would hide

    packages = [one.name for one in pkgutil.walk_packages(__path__, f"{__name__}.", fail) if one.ispkg]
    named = {name.rpartition(".")[2]: sys.modules[name] for name in packages}
    for file in sorted(path for kind in Hooks._fields for path in Path(__file__).parent.glob(f"*/{kind}.py")):
        if not hasattr(named.get(file.parent.name), file.stem):
            raise ImportError(f"{file} is not used: {file.with_name('__init__.py')} must import {file.stem}")
    return {name: Hooks(**_functions(package)) for name, package in named.items()}


def _functions(package: object) -> dict[str, Any]:
    """The function of each module that is named after it."""
    modules = {kind: getattr(package, kind, None) for kind in Hooks._fields}
    return {kind: getattr(module, kind) for kind, module in modules.items() if module is not None}
