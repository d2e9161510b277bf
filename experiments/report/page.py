"""Renders the report: collects the content of each section, then fills the template."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from experiments.analysis.findings import MAX_FINDINGS
from experiments.analysis.results import DONE, StudyResults
from experiments.analysis.summary import defaults_note, records
from experiments.analysis.verdicts import Verdict
from experiments.config.labels import varied
from experiments.config.text import counted, setting_text
from experiments.figures.draw import Drawn
from experiments.figures.style import COLOURS
from experiments.report import association_tables, svg, tables
from experiments.report.fields import Table
from experiments.report.round_view import probed_cells, rounds
from experiments.storage.folder import MARK
from experiments.studies import StudyTable
from fgtsva_ppl.diagnostics import METRICS

HERE = Path(__file__).parent


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


class FoldedTable(NamedTuple):
    """A table that unfolds."""

    id: str
    title: str
    table: Table | None
    note: str = ""
    meanings: Sequence[tuple[str, str]] = ()  # of its columns


def render(content: Content) -> str:
    """The report as an HTML page that is complete in itself.

    Args:
        content: the results with their findings, verdicts, tables and figures.
    """
    results, view = content.results, _rounds(content.results)
    sections = [section for section in _sections(content, view) if section.content]
    script = asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return template("page.html.jinja").render(
        version=str(results.config.get(MARK, "")),
        study=results.name,
        title=results.title,
        question=results.question,
        command=results.command,
        sections=sections,
        rounds=view,
        cells=_described(results),
        style=asset("report.css").strip(),
        script=script,
        script_digest=digest,
    )


def template(name: str) -> Template:
    """A template beside this file."""
    return _environment().get_template(name)


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
    """All sections in order, pictures before tables; those without content are not shown."""
    results = content.results
    figures = _figures(content.figures)
    answer_figure, others = (figures[0] if figures else None), figures[1:]
    return [
        Section("answer", "Answer", "answer", _answer(content, answer_figure)),
        Section("verdicts", "Verdicts on published claims", "verdicts", content.verdicts),
        Section("failed", "Cells to look at", "failed", _failed(results)),
        Section("figures", "Figures", "figures", _with_failures(others, content.figures.failures)),
        Section("rounds", "A probed round", "round_view", view),
        Section("tables", "Tables", "folded_tables", tables_of(content)),
        Section("choices", "Choices that the paper leaves open", "list", results.comparison.choices),
        Section("settings", "Settings and versions", "settings", _settings(results)),
    ]


def tables_of(content: Content) -> list[FoldedTable]:
    """The tables that have rows."""
    results = content.results
    quality = tables.quality_table(results)
    all_tables = [
        FoldedTable(
            "standings", "Textbook and tuned settings", tables.standings_table(records(results.standings))
        ),
        *(FoldedTable(name, own.title, tables.study_table(own)) for name, own in content.tables.items()),
        FoldedTable(
            "results", "Regret and cost of every cell", tables.summary_table(tables.rows_of(results))
        ),
        FoldedTable("pairwise", "Every pair of cells", tables.pairwise_table(records(results.pairwise))),
        FoldedTable(
            "quality",
            "Sampler quality",
            None if quality is None else quality.table,
            "" if quality is None else quality.unavailable,
            () if quality is None else quality.meanings,
        ),
        FoldedTable(
            "cost",
            "Work to come close to exact regret",
            association_tables.cost_table(records(results.cost_table)),
        ),
        FoldedTable(
            "association",
            "Diagnostics against regret",
            association_tables.association_table(records(results.association_table)),
        ),
        FoldedTable(
            "by-round",
            "Regret around the probe rounds",
            association_tables.by_round_table(records(results.by_round)),
        ),
    ]
    return [one for one in all_tables if one.table is not None]


def _answer(content: Content, figure: dict[str, str] | None) -> dict[str, Any]:
    """One figure and at most three sentences; further findings unfold."""
    sentences = list(content.findings) or ["No cell was finished, so there is no answer."]
    rest = sentences[MAX_FINDINGS:]
    return {
        "sentences": sentences[:MAX_FINDINGS],
        "rest": rest,
        "more": counted(len(rest), "more sentence") if rest else "",
        "figure": figure,
        "note": defaults_note(content.results.summary_rows),
        "filters": _filters(content.results),
    }


def _filters(results: StudyResults) -> dict[str, list[str]]:
    """The values by which cells can be selected: panel, sampler or agent, and every setting that differs."""
    described = _described(results)
    values: dict[str, list[str]] = {}
    for one in described.values():
        for key, value in one["settings"].items():
            values.setdefault(key, [])
            if value not in values[key]:
                values[key].append(value)
    return {key: known for key, known in values.items() if len(known) > 1}


def _described(results: StudyResults) -> dict[str, dict[str, Any]]:
    """Name and settings of every cell that has results, by id, for filters and for what hovering shows."""
    keys = [key for key in varied(results.cells) if not key.startswith(("environment", "noise"))]
    described = {}
    for cell in results.done:
        settings = {"environment": results.panels[cell.id]}
        settings |= {key: setting_text(cell.flat[key]) for key in keys if key in cell.flat}
        gap = results.regret_gaps.get(cell.id)
        regret = f"regret {results.final(cell).mean():.3g}"
        described[cell.id] = {
            "name": f"{results.labels[cell.id]} on {results.panels[cell.id]}",
            "text": regret if gap is None else f"{regret}, gap to exact {gap.format('auto')}",
            "settings": settings,
        }
    return described


def _failed(results: StudyResults) -> list[tuple[str, str]]:
    """The label of each cell that failed or diverged, and the reason."""
    return [
        (f"{results.labels[cell.id]} on {results.panels[cell.id]}", ": ".join(filter(None, status)))
        for cell in results.cells
        if (status := results.status[cell.id]) != DONE
    ]


def _figures(drawn: Drawn) -> list[dict[str, str]]:
    paths = [path for path in drawn.paths if path.suffix == ".svg"]
    return [_figure(index, path, drawn.captions[path.stem]) for index, path in enumerate(paths)]


def _with_failures(figures: Sequence[dict[str, str]], failures: Sequence[str]) -> dict[str, Any] | None:
    return {"figures": figures, "failures": failures} if figures or failures else None


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
