"""One folder per study: its `study.yaml` and, where it has them, its own findings, claims, tables and figures.

A new study is a new folder. `study.yaml` defines the cells. `__init__.py` imports the modules that the study has:

- `findings.py` with `findings(results) -> list[str]`: sentences derived from the numbers; without it those for
  any study (`analysis.findings`).
- `claims.py` with `claims(results) -> Iterator[Verdict]`: claims of the paper with the evidence for them.
- `tables.py` with `tables(results) -> dict[str, StudyTable]`: further tables, by the name of their CSV file.
- `figures.py` with `figures(results) -> dict[str, Draft]`: figures instead of the usual ones, by file name.

A study that tests a published claim is a folder of `claims`, with `study.yaml` and `rule.py`: see there.

The functions below give what a study has of its own, or what any study has.
"""

import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from experiments.analysis.findings import default_findings
from experiments.analysis.results import StudyResults
from experiments.analysis.verdicts import Verdict, with_evidence
from experiments.figures.draw import Draft, default_figures, quality_figure
from experiments.studies import claims


class StudyTable(NamedTuple):
    """A table of a study's own: a CSV file, and a section of the report."""

    title: str  # of the section
    caption: str
    columns: tuple[
        str, ...
    ]  # those that the report shows; one with `_low` and `_high` beside it is an interval
    frame: pd.DataFrame


class Hooks(NamedTuple):
    """The functions that a study defines; None where it has none."""

    findings: Callable[[StudyResults], list[str]] | None = None
    claims: Callable[[StudyResults], Iterable[Verdict]] | None = None
    tables: Callable[[StudyResults], Mapping[str, StudyTable]] | None = None
    figures: Callable[[StudyResults], Mapping[str, Draft]] | None = None


def findings(results: StudyResults) -> list[str]:
    """Sentences derived from the numbers: the study's own, or those for any study."""
    own = hooks(results.name).findings or default_findings
    return own(results) if results.done else []


def verdicts(results: StudyResults) -> list[Verdict]:
    """Verdicts on the paper's claims, where the study has claims and its cells have evidence."""
    own = hooks(results.name).claims
    return with_evidence(own(results)) if own and results.done else []


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """The study's own tables that have rows, by the name of their CSV file."""
    own = hooks(results.name).tables
    made = own(results) if own and results.done else {}
    return {name: table for name, table in made.items() if len(table.frame)}


def figures(results: StudyResults) -> dict[str, Draft]:
    """The figures by file name: the study's own, or the usual ones; and diagnostics against the regret gap."""
    own = hooks(results.name).figures
    chosen = (own(results) if own else {}) or default_figures(results)
    return {**chosen, **quality_figure(results)}


def hooks(name: str) -> Hooks:
    """The functions of the study of this name; none for a name that is no folder here."""
    if name in claims.RULES:
        own = claims.RULES[name]
        return Hooks(own.findings, own.verdicts, None, own.figures)
    return _all_hooks().get(name, Hooks())


@lru_cache(maxsize=1)
def _all_hooks() -> dict[str, Hooks]:
    """The hooks of every folder here. All are imported, so that no stored name decides what is."""

    def fail(name: str) -> None:
        raise  # the ImportError that pkgutil would hide

    packages = [one.name for one in pkgutil.walk_packages(__path__, f"{__name__}.", fail) if one.ispkg]
    packages = [name for name in packages if not name.startswith(claims.__name__)]
    named = {name.rpartition(".")[2]: sys.modules[name] for name in packages}
    for file in sorted(path for kind in Hooks._fields for path in Path(__file__).parent.glob(f"*/{kind}.py")):
        if not hasattr(named.get(file.parent.name), file.stem):
            raise ImportError(f"{file} is not used: {file.with_name('__init__.py')} must import {file.stem}")
    return {name: Hooks(**_functions(package)) for name, package in named.items()}


def _functions(package: object) -> dict[str, Any]:
    """The function of each module that is named after it."""
    modules = {kind: getattr(package, kind, None) for kind in Hooks._fields}
    return {kind: getattr(module, kind) for kind, module in modules.items() if module is not None}
