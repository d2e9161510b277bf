"""The atlas: every published claim on one page, with what was measured and the verdict, from stored studies."""

import tempfile
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from experiments import studies
from experiments.analysis.claims import Claim, Judgement, Numbers, claim_of
from experiments.analysis.load import load_results
from experiments.analysis.results import StudyResults
from experiments.config.cell import Cell
from experiments.config.compose import compose
from experiments.config.study_files import claim_names, read_study
from experiments.figures.draw import Draft, draw
from experiments.report import svg
from experiments.report.page import asset, template
from experiments.storage.layout import CONFIG, RESULTS
from experiments.studies.claims import RULES, pending
from fgtsva_ppl import __version__
from samplers.errors import InputError

DEFAULT = Path("results")
SHOWN = 8  # numbers of a claim that are not folded
PNG_DPI = 72
HARMLESS = ("processes=", "devices=", "backend", "output=")  # overrides that change no number


class Entry(NamedTuple):
    """A claim on the page.

    Attributes:
        study: name of the study; empty for a claim that has none.
        claim: what is claimed.
        judgement: the verdict; None for a claim that was not run.
        numbers: what was measured.
        figure: an SVG element; empty if there is none.
        caption: of the figure.
        minutes: computing time of all cells, compilation included.
        size: what differs from the study's own settings, such as the quick size; empty if nothing does.
        folder: where the results are.
        command: what runs it.
        runs: independent runs of a cell, each with its own seed.
        png: the figure as a small PNG file; empty if there is none.
    """

    study: str
    claim: Claim
    judgement: Judgement | None = None
    numbers: Numbers = MappingProxyType({})
    figure: str = ""
    caption: str = ""
    minutes: float = 0.0
    size: str = ""
    folder: str = ""
    command: str = ""
    runs: int = 0
    png: bytes = b""


def find(folders: Sequence[Path]) -> list[Path]:
    """The output folders of finished runs among these folders and all below them. Raises InputError for no folder."""
    found: list[Path] = []
    for folder in folders:
        if not folder.is_dir():
            raise InputError(
                f"{folder} is not a folder; give output folders of runs, or a folder that holds some"
            )
        found += [path.parent for path in sorted(folder.rglob(CONFIG)) if (path.parent / RESULTS).is_file()]
    return list(dict.fromkeys(found))


def gather(folders: Iterable[Path], warn: Callable[[str], None] = print) -> list[Entry]:
    """An entry for each claim: of the newest full-size run, else of the newest quick one, else how to run it.

    Args:
        folders: output folders of runs; those of other studies are left out.
        warn: takes a line for each folder that cannot be read.
    """
    runs: dict[str, tuple[tuple[bool, float], StudyResults]] = {}
    for folder in folders:
        try:
            if not _is_claim(folder):
                continue
            results = load_results(folder)
        except InputError as error:
            warn(f"left out: {error}")
            continue
        order = (not _size(results), (folder / RESULTS).stat().st_mtime)
        if results.name not in runs or order > runs[results.name][0]:
            runs[results.name] = (order, results)
    entries = [
        _entry(index, name, runs[name][1] if name in runs else None)
        for index, name in enumerate(claim_names())
    ]
    entries += [Entry("", claim) for claim in pending()]
    return sorted(entries, key=lambda entry: _number(entry.claim))


def _number(claim: Claim) -> tuple[int, str]:
    first = claim.id.partition(",")[0].lstrip("C")
    return (int(first) if first.isdigit() else 10**6, claim.id)


def _is_claim(folder: Path) -> bool:
    """Whether a folder holds the study of a claim, by the text of its config: others may be large."""
    text = (folder / CONFIG).read_text(encoding="utf-8", errors="replace")
    return any(f"study: {name}\n" in text for name in claim_names())


def _size(results: StudyResults) -> str:
    """What differs from the study's own settings, by its command; empty if nothing does."""
    words = results.command.split()[2:]
    changed = [word for word in words if not word.startswith((*HARMLESS, f"study={results.name}"))]
    if not changed:
        known = {key for cell in results.cells for key in cell.flat}
        same = _content(results.cells, known) == _content(compose([f"study={results.name}"]).cells, known)
        return "" if same else "cells of an earlier version of this study"
    return "quick size" if changed == ["quick=true"] else " ".join(changed)


def _content(cells: Iterable[Cell], known: Container[str]) -> set[str]:
    """What is run, by settings that are known: later versions of the code add some, with neutral defaults."""
    return {str(sorted((key, value) for key, value in cell.flat.items() if key in known)) for cell in cells}


def _entry(index: int, name: str, results: StudyResults | None) -> Entry:
    if results is None:
        return Entry(name, claim_of(name, read_study(name)), command=f"fgtsva run study={name}")
    assessment = RULES[name].assess(results)
    figure, caption, png = _figure(results, f"c{index}-")
    seconds = sum(
        float(tree.attrs["seconds"]) + float(tree.attrs["compile_seconds"]) for tree in results.data.values()
    )
    return Entry(
        name,
        assessment.claim,
        assessment.judgement,
        assessment.numbers,
        figure,
        caption,
        seconds / 60,
        _size(results),
        str(results.folder),
        f"fgtsva run study={name}" if not _size(results) else results.command,
        max((cell.runs for cell in results.done), default=0),
        png,
    )


def _figure(results: StudyResults, prefix: str) -> tuple[str, str, bytes]:
    """The first figure of a study as an SVG element, its caption, and a PNG; a line on why where it cannot be drawn."""
    drafts = studies.figures(results)
    first = dict(list(drafts.items())[:1])
    with tempfile.TemporaryDirectory() as folder:
        drawn = draw(Path(folder), first)
        paths = [path for path in drawn.paths if path.suffix == ".svg"]
        if not paths:
            return "", "; ".join(f"The figure could not be drawn: {line}" for line in drawn.failures), b""
        return svg.inline(paths[0], prefix), drawn.captions[paths[0].stem], _small(first)


def _small(drafts: Mapping[str, Draft]) -> bytes:
    """A figure as a PNG of few pixels."""
    (draft,) = drafts.values()
    buffer = BytesIO()
    draft.draw().savefig(buffer, format="png", dpi=PNG_DPI, bbox_inches="tight", metadata={"Software": None})
    return buffer.getvalue()


def render(entries: Sequence[Entry]) -> str:
    """The page, complete in itself."""
    judged = [entry for entry in entries if entry.judgement is not None]
    content: dict[str, Any] = {
        "version": __version__,
        "style": asset("report.css").strip() + "\n" + asset("atlas.css").strip(),
        "judged": judged,
        "waiting": [entry for entry in entries if entry.judgement is None and entry.study],
        "missing": [entry for entry in entries if not entry.study],
        "format": format_number,
        "shown": SHOWN,
    }
    return template("atlas.html.jinja").render(**content)


def format_number(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}"
