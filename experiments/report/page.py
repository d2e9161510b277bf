"""Renders the report: collects the content of each section, then fills the template."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from experiments.analysis.results import DONE, StudyResults
from experiments.analysis.summary import records
from experiments.analysis.verdicts import Verdict
from experiments.config.text import counted
from experiments.figures.draw import Drawn
from experiments.figures.style import COLOURS
from experiments.report import association_tables, svg, tables
from experiments.report.answer import answer
from experiments.report.round_view import probed_cells, rounds
from experiments.storage.folder import MARK
from experiments.studies import StudyTable
from fgtsva_ppl.diagnostics import METRICS

HERE = Path(__file__).parent
FIRST = 2  # findings that are the answer; the others unfold


class Content(NamedTuple):
    """What the report shows."""

    results: StudyResults
    findings: Sequence[str]
    verdicts: Sequence[Verdict]
    tables: Mapping[str, StudyTable]  # of the study's own, by name
    figures: Drawn


class Section(NamedTuple):
    """A section of the page; `kind` names the macro of `sections.html.jinja` that renders its content."""

    id: str
    title: str
    kind: str
    content: Any


def render(content: Content) -> str:
    """The report as an HTML page that is complete in itself.

    Args:
        content: the results with their findings, verdicts, tables and figures.
    """
    results, view = content.results, _rounds(content.results)
    sections = [section for section in _sections(content, view) if section.content]
    script = asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            version=str(results.config.get(MARK, "")),
            study=results.name,
            title=results.title,
            question=results.question,
            command=results.command,
            sections=sections,
            rounds=view,
            style=asset("report.css").strip(),
            script=script,
            script_digest=digest,
        )
    )


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


@lru_cache(maxsize=8)
def asset(name: str) -> str:
    """The text of a file beside this one."""
    return (HERE / name).read_text(encoding="utf-8")


def _sections(content: Content, view: dict[str, Any] | None) -> list[Section]:
    """All sections in order; those without content are not shown."""
    results = content.results
    return [
        Section("answer", "Answer", "answer", _answer(content)),
        Section("verdicts", "Verdicts on the paper's claims", "verdicts", content.verdicts),
        Section("choices", "Choices that the paper leaves open", "list", results.comparison.choices),
        Section(
            "standings",
            "Textbook and tuned settings",
            "table",
            tables.standings_table(records(results.standings)),
        ),
        *(Section(name, own.title, "table", tables.study_table(own)) for name, own in content.tables.items()),
        Section("failed", "Cells that failed", "failed", _failed(results)),
        Section("results", "Results", "table", tables.summary_table(records(results.summary))),
        Section("quality", "Sampler quality", "quality", tables.quality_table(results)),
        Section(
            "cost",
            "Work to come close to exact regret",
            "table",
            association_tables.cost_table(records(results.cost_table)),
        ),
        Section(
            "association",
            "Diagnostics against regret",
            "table",
            association_tables.association_table(records(results.association_table)),
        ),
        Section(
            "by-round",
            "Regret around the probe rounds",
            "folded_table",
            association_tables.by_round_table(records(results.by_round)),
        ),
        Section("figures", "Figures", "figures", _figures(content.figures)),
        Section("rounds", "A probed round", "round_view", view),
        Section("settings", "Settings and versions", "settings", _settings(results)),
    ]


def _answer(content: Content) -> dict[str, Any]:
    results, more = content.results, len(content.findings) - FIRST
    ids = [cell.id for cell in results.cells]
    rows = records(results.summary)
    return {
        "findings": content.findings,
        "first": FIRST,
        "more": counted(more, "more sentence") if more > 0 else "",
        "gaps": answer(rows, [results.labels[i] for i in ids], [results.panels[i] for i in ids]),
    }


def _failed(results: StudyResults) -> list[tuple[str, str]]:
    """The label of each cell that failed or diverged, and the reason."""
    return [
        (f"{results.labels[cell.id]} on {results.panels[cell.id]}", ": ".join(filter(None, status)))
        for cell in results.cells
        if (status := results.status[cell.id]) != DONE
    ]


def _figures(drawn: Drawn) -> dict[str, Any] | None:
    paths = [path for path in drawn.paths if path.suffix == ".svg"]
    if not paths and not drawn.failures:
        return None
    return {
        "figures": [_figure(index, path, drawn.captions[path.stem]) for index, path in enumerate(paths)],
        "failures": drawn.failures,
    }


def _figure(index: int, path: Path, caption: str) -> dict[str, str]:
    return {
        "name": path.stem.replace("_", " "),
        "file": path.name,
        "caption": caption,
        "svg": svg.inline(path, f"f{index}-"),
    }


def _rounds(results: StudyResults) -> dict[str, Any] | None:
    """The data of the view of a probed round; None where none was probed."""
    cells = rounds(probed_cells(results))
    if not cells:
        return None
    headings = [[key, tables.heading(key)] for key in METRICS]
    return {"cells": cells, "metrics": headings, "colours": COLOURS[:4]}


def _settings(results: StudyResults) -> dict[str, Any]:
    config = results.config
    versions = config.get("versions")
    listed = {
        "fgtsva": config.get(MARK, "unknown"),
        "code": config.get("code", "unknown"),
        "precision": config.get("precision", "unknown"),
        **(versions if isinstance(versions, dict) else {}),
    }
    return {"versions": list(listed.items()), "config": results.config_text}
