"""Puts the page together from its parts."""

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any

from experiments.analysis.summary import Row
from experiments.analysis.text import counted
from experiments.config.labels import by_panel, labels_of
from experiments.figures.draw import Drawn, draw
from experiments.figures.style import COLOURS, look
from experiments.report import association_tables, svg, tables
from experiments.report.load import Stored, read
from experiments.report.markup import Markup, data_block, join, tag
from experiments.report.reading import answer
from experiments.report.round_view import rounds
from experiments.storage.files import remove_partial_files, write_atomically
from experiments.storage.folder import MARK
from fgtsva_ppl.diagnostics import METRICS
from samplers.errors import InputError

HERE = Path(__file__).parent
FIRST = 2  # sentences of a reading that are the answer; the others unfold
CAPTIONS = {  # of figures whose name begins so, in the order in which they are shown
    "gaps": "Mean regret beyond that of exact draws in the same worlds, with its 95% interval.",
    "regret": "Cumulative regret, mean over runs; bands are two standard errors either way.",
    "scaling": "Final regret against the dimension and the total variance; bars are 95% intervals.",
    "exponents": "Fitted exponents with 95% intervals, hollow at textbook settings; grey bars are the theory's.",
    "sweep": "Along the setting that the study varies, with 95% intervals; the floor of TV is what it comes out on "
    "average for equal laws.",
    "condition": "Final regret with its 95% interval against the largest condition number met at a probe round, "
    "median over runs; whoever keeps to one arm makes its own posterior stiffer.",
    "quality": "Sampler quality against the regret gap to exact draws; a thin line leads from each "
    "cell's floor of TV, what it comes out on average for equal laws, to its TV.",
}


def write(folder: Path) -> Path:
    """Draws the figures of an output folder anew and writes `report.html`. Raises InputError if it is not one."""
    try:
        return build(folder)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from None
    except InputError:
        raise
    except Exception as error:  # a stranger's folder may hold anything under our names
        why = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        raise InputError(f"{folder} holds what no report can be made of ({why})") from None


def build(folder: Path, drawn: Drawn | None = None) -> Path:
    """The same, but what the disk says is raised as it is. Figures are drawn, unless they were just now.

    Those that lie there are not looked at: they may be cut short, of fewer cells, or somebody else's.
    """
    stored = read(folder)
    for place in (folder, folder / "figures"):
        remove_partial_files(place)
    drawn = drawn or draw(folder / "figures", stored.cells, stored.data(), stored.comparison)
    path = folder / "report.html"
    write_atomically(path, page(stored, drawn).encode())
    return path


def _place(path: Path) -> int:
    return next((index for index, name in enumerate(CAPTIONS) if path.stem.startswith(name)), len(CAPTIONS))


def page(stored: Stored, drawn: Drawn) -> str:
    """The page as text."""
    labels = labels_of(stored.cells)
    panels = {cell.id: panel for panel, cells in by_panel(stored.cells).items() for cell in cells}
    view, data = _rounds(stored, labels, panels)
    sections = {
        "answer": ("Answer", _answer(stored, labels, panels)),
        "verdicts": ("Verdicts on the paper's claims", _verdicts(stored)),
        "choices": ("Chosen where the paper is silent", _list(stored.comparison.choices)),
        "standings": ("Textbook and tuned settings", tables.standings_table(stored.table("standings"))),
        "scaling": ("Exponents", tables.scaling_table(stored.table("scaling"))),
        "failed": ("Cells that failed", _failed(stored, labels, panels)),
        "results": ("Results", tables.summary_table(stored.rows) if stored.rows else None),
        "quality": (
            "Sampler quality",
            tables.quality_table(stored.rows, [stored.probes.get(cell.id) for cell in stored.cells]),
        ),
        "cost": ("Work to come close to exact regret", association_tables.cost_table(stored.table("cost"))),
        "association": (
            "Diagnostics against regret",
            association_tables.association_table(stored.table("association")),
        ),
        "by-round": (
            "Regret around the probe rounds",
            _folded(association_tables.by_round_table(stored.table("by_round"))),
        ),
        "figures": ("Figures", _figures(drawn)),
        "rounds": ("A round, looked into", view),
        "settings": ("Settings and versions", _settings(stored)),
    }
    there = {key: (title, body) for key, (title, body) in sections.items() if body is not None}
    script = asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    values: dict[str, str] = {
        "version": str(stored.config[MARK]),
        "study": str(stored.config.get("study", "")),
        "title": str(stored.config.get("title", "")),
        "question": str(stored.config.get("question", "")),
    }
    command = stored.config.get("command")  # that of an older run is not known
    return Template(asset("page.html")).substitute(
        {key: join([value]) for key, value in values.items()},
        asked=tag("p", str(command), class_="asked") if command else "",
        navigation=join(tag("a", title, href=f"#{key}") for key, (title, _) in there.items()),
        sections=join(
            (
                tag("section", tag("h2", title), body, id=key, class_=key)
                for key, (title, body) in there.items()
            ),
            "\n",
        ),
        data=data,
        style=asset("report.css").strip(),
        script=script,
        script_hash=f"sha256-{digest}",
    )


@lru_cache(maxsize=8)
def asset(name: str) -> str:
    """A file that lies beside this one."""
    return (HERE / name).read_text(encoding="utf-8")


def _answer(stored: Stored, labels: dict[str, str], panels: dict[str, str]) -> Markup:
    ids = [cell.id for cell in stored.cells]
    numbers = join(
        tag("p", text) for text in answer(stored.rows, [labels[i] for i in ids], [panels[i] for i in ids])
    )
    if not stored.reading:
        return numbers
    said = [tag("p", sentence) for sentence in stored.reading]
    parts = [*said[:FIRST], tag("details", tag("summary", "Gaps to exact draws, cell by cell"), numbers)]
    if len(said) > FIRST:
        parts.insert(
            FIRST, tag("details", tag("summary", counted(len(said) - FIRST, "more sentence")), *said[FIRST:])
        )
    return join(parts)


def _verdicts(stored: Stored) -> Markup | None:
    rows = stored.verdicts
    if not rows:
        return None
    shown = join(
        tag(
            "details",
            tag("summary", tag("strong", str(row.get("verdict"))), f" · {row.get('claim')}"),
            tag("p", f"{row.get('source')}. Measured: {row.get('measured')}"),
            _list([str(one) for one in row.get("evidence", ())]) or Markup(),
        )
        for row in rows
    )
    return join([tag("p", "By rule from the numbers; each opens to them.", class_="note"), shown])


def _folded(body: Markup | None) -> Markup | None:
    """What is too long to be in the way."""
    return None if body is None else tag("details", tag("summary", "Show the table"), body)


def _list(lines: Sequence[str]) -> Markup | None:
    return tag("ul", *(tag("li", line) for line in lines)) if lines else None


def _failed(stored: Stored, labels: dict[str, str], panels: dict[str, str]) -> Markup | None:
    told = [
        tag("li", tag("strong", f"{labels[cell.id]} on {panels[cell.id]}"), ": ", _status(row))
        for cell, row in zip(stored.cells, stored.rows, strict=True)
        if row.get("status", "done") != "done"
    ]
    return tag("ul", *told) if told else None


def _status(row: Row) -> str:
    return ": ".join(str(row[key]) for key in ("status", "reason") if key in row)


def _figures(drawn: Drawn) -> Markup | None:
    shown = sorted(
        (path for path in drawn.paths if path.suffix == ".svg"), key=lambda path: (_place(path), path.name)
    )
    told = [tag("p", f"A figure could not be drawn: {line}") for line in drawn.undrawn]
    return join([*map(_figure, range(len(shown)), shown), *told]) if shown or told else None


def _figure(index: int, path: Path) -> Markup:
    name = path.stem.replace("_", " ")
    shown = tag(
        "div",
        svg.inline(path, f"f{index}-"),
        class_="card scroll",
        tabindex=0,
        role="region",
        aria_label=f"Figure: {name}",
    )
    caption = next(
        (text for start, text in CAPTIONS.items() if path.stem.startswith(start)), f"{name.capitalize()}."
    )
    return tag("figure", shown, tag("figcaption", f"{caption} File: figures/{path.name}"))


def _rounds(stored: Stored, labels: dict[str, str], panels: dict[str, str]) -> tuple[Markup | None, Markup]:
    """The view of a single round, and its data."""
    known = [cell for cell in stored.cells if cell.id in stored.probes]
    names = [
        {
            "label": labels[cell.id],
            "panel": panels[cell.id],
            "colour": look(str(cell.flat.get("sampler", "")), tuple(labels.values()))["color"],
        }
        for cell in known
    ]
    cells = rounds(names, [stored.probes[cell.id] for cell in known])
    if not cells:
        return None, Markup()
    headings = [[key, tables.SHORT.get(key, key.replace("_", " "))] for key in METRICS]
    data: dict[str, Any] = {"cells": cells, "metrics": headings, "colours": COLOURS[:4]}
    return Markup(asset("rounds.html")), data_block("rounds-data", data)


def _settings(stored: Stored) -> Markup:
    versions = stored.config.get("versions")
    listed = {
        "fgtsva": stored.config[MARK],
        "code": stored.config.get("code", "unknown"),
        "precision": stored.config.get("precision", "unknown"),
        **(versions if isinstance(versions, dict) else {}),
    }
    told = tag("dl", *(join([tag("dt", str(key)), tag("dd", str(value))]) for key, value in listed.items()))
    config = tag("pre", stored.config_text, tabindex=0, role="region", aria_label="config.yaml")
    return join([told, tag("details", tag("summary", "All settings (config.yaml)"), config)])
