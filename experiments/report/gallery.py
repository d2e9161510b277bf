"""The gallery in `experiments/README.md`, and the page of each study: `add(folder)` updates both.

`python -m experiments.cli.publish FOLDER ...` calls it, and updates the README of the project too.
"""

import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments import studies
from experiments.analysis.findings import MAX_FINDINGS
from experiments.analysis.load import load_results
from experiments.analysis.results import StudyResults
from experiments.analysis.verdicts import Verdict
from experiments.config.text import counted
from experiments.figures.draw import draw
from experiments.report.page import Content
from experiments.report.study_page import study_page

HERE = Path(__file__).parents[1]
MAIN = (
    "sweep",
    "gaps",
    "regret",
)  # the first of these that a study has is its main figure, else its first one
BESIDE = ("regret", "condition_number", "quality")  # shown on the study's own page
STIFFENING = "posterior.alpha"  # the setting that a study varies to change condition numbers
BEGIN, END = "<!-- gallery: begin -->", "<!-- gallery: end -->"


def entry(
    results: StudyResults, findings: Sequence[str], verdicts: Sequence[Verdict], picture: str, minutes: float
) -> str:
    """A study in the gallery: question, figure, at most three sentences, command, time, and a link to its page.

    Args:
        results: the results of the study.
        findings: sentences that follow from its numbers; the first ones are shown.
        verdicts: on claims of the paper; their outcomes are counted.
        picture: the figure, by its path from the page.
        minutes: how long the study took.
    """
    study, title = results.name, results.title
    sentences = list(findings[:MAX_FINDINGS])
    if verdicts:
        sentences.append(f"Claims of the paper: {verdict_counts(verdicts)}.")
    return (
        f"### `{study}`: {title}\n{results.question}\n\n"
        f"![{title}]({picture})\n\n"
        f"{' '.join(sentences)} [Details](studies/{study}/README.md)\n\n"
        f"    {command(results, minutes)}\n\n"
    )


def command(results: StudyResults, minutes: float) -> str:
    """The command of a study, with its minutes and its number of cells."""
    return f"fgtsva run study={results.name}    # {_duration(minutes)}, {counted(len(results.cells), 'cell')}"


def _duration(minutes: float) -> str:
    return f"{minutes:.0f} minutes" if minutes >= 1.5 else "a minute"


def verdict_counts(verdicts: Sequence[Verdict]) -> str:
    """How many claims have each outcome, without the conditions: 3 reproduced, 1 not reproduced."""
    outcomes = Counter(
        re.split(r" only with| only where| at these settings|, because", verdict.outcome())[0]
        + (" with conditions" if " only w" in verdict.outcome() else "")
        for verdict in verdicts
    )
    return ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())


def minutes_of(folder: Path) -> float:
    """From the claim of a folder to its results: the time of a study that was not interrupted."""
    return ((folder / "results.nc").stat().st_mtime - (folder / "config.yaml").stat().st_mtime) / 60


def place(page: str, study: str, text: str) -> str:
    """The page with a study's entry replaced or added, the others unchanged."""
    before, inside, after = re.split(f"({re.escape(BEGIN)}|{re.escape(END)})", page)[::2]
    entries = {match[1]: match[0] for match in re.findall(r"(### `(\w+)`.*?(?=### `|\Z))", inside, re.DOTALL)}
    entries[study] = text
    listed = "\n\n".join(entries[name].strip() for name in sorted(entries))
    return f"{before}{BEGIN}\n{listed}\n{END}{after}"


def shown(drawn: Sequence[str], sweep: str | None) -> list[str]:
    """The main figure of a study, then those of its own page."""
    first = next((name for name in MAIN if name in drawn), drawn[0])
    beside = [name for name in BESIDE if name in drawn and name != first]
    return [first, *(name for name in beside if name != "condition_number" or sweep == STIFFENING)]


def add(folder: Path, here: Path = HERE) -> StudyResults:
    """Copies a study's figures beside the gallery, and writes its entry and its page.

    Args:
        folder: the output folder of the study.
        here: the folder of the gallery.
    """
    results = load_results(folder)
    findings, verdicts = studies.findings(results), studies.verdicts(results)
    drafts = studies.figures(results)
    files = draw(folder / "figures", drafts)
    drawn = {path.stem: path for path in files.paths if path.suffix == ".png"}
    chosen, study = shown(list(drawn), results.comparison.sweep), results.name
    pictures = {name: f"gallery/{study}{'' if name == chosen[0] else f'_{name}'}.png" for name in chosen}
    (here / "gallery").mkdir(exist_ok=True)
    for name, picture in pictures.items():
        shutil.copyfile(drawn[name], here / picture)
    minutes, page = minutes_of(folder), here / "README.md"
    text = entry(results, findings, verdicts, pictures[chosen[0]], minutes)
    page.write_text(place(page.read_text(), study, text))
    own = here / "studies" / study / "README.md"
    own.parent.mkdir(parents=True, exist_ok=True)
    titles: Mapping[str, str] = {f"../../{picture}": drafts[name].title for name, picture in pictures.items()}
    content = Content(results, findings, verdicts, studies.tables(results), files)
    own.write_text(study_page(content, titles, command(results, minutes)))
    return results
