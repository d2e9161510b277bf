"""The atlas as a page of Markdown, for readers of the repository: a table of verdicts, then a small figure each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from experiments.report.atlas import Entry, format_number
from experiments.storage.files import write_atomically

PICTURES = Path(__file__).parents[1] / "gallery" / "claims"
README = Path(__file__).parents[1] / "studies" / "claims" / "README.md"
NUMBERS = 6  # of a claim that are listed; all are on the page of `fgtsva atlas`

INTRODUCTION = """# What has been claimed about approximate Thompson sampling

Published claims, each a study of its own. A verdict follows from the numbers by a rule (`rule.py`) that is tested on
made-up numbers for each of its outcomes: *supported*, *supported only where ...*, *not supported at these settings*,
*cannot be tested here, because ...*. Intervals are 95%, over runs with seeds of their own. A part of a claim whose
interval holds the limit is open and counts for neither side.

    fgtsva run study=claims/two_divergences            # one claim; its report ends with the verdict
    fgtsva run study=claims/two_divergences --quick    # the same in seconds, for a look: no evidence
    fgtsva atlas                                       # what has been run (under results/) on one page, atlas.html

This page was written by `fgtsva atlas DIR --markdown` from the results of the commands below. Minutes are the estimate
of `--dry-run` for two free cores, compilation included; where a run took longer, other work shared its cores.
"""

CLOSING = """## To add a claim

Add a folder (an `__init__.py` of one line makes it part of the package):

- `study.yaml`: `title`, `question` and `grids` as in any study; a block `claim` with `id`, `paper`, `sentence` (what is
  claimed), `setting` (what is run) and `source` (how sure it is that the paper says so); a block `quick` with smaller
  numbers (`rounds`, `runs`, `diagnostics`) and shorter lists of settings.
- `rule.py`: `measure(results)` returns a few numbers with intervals by name (`experiments/analysis/measures.py` has
  growth exponents, paired ratios, least budgets, slopes); `judge(numbers)` derives the verdict from these alone
  (`experiments/analysis/claims.py`: `by_parts` takes parts that hold, do not hold, or are open); `figure(results)` and
  `CAPTION` are optional (`experiments/figures/claims.py`).
- a test of `judge` on made-up numbers for each of its outcomes, in `tests/experiments/studies/test_claim_rules.py`.

`--quick` works for any study whose file has a block `quick`.
"""


def markdown(entries: Sequence[Entry], estimates: Mapping[str, float] = MappingProxyType({})) -> str:
    """The page.

    Args:
        entries: of the atlas.
        estimates: seconds that a study is expected to take, by its name.
    """
    judged = [entry for entry in entries if entry.judgement is not None]
    rows = [
        f"| [{e.claim.id}](#{_anchor(e)}) | {_cell(e.claim.paper)} | {_cell(_verdict(e))} | {_minutes(e, estimates)} | "
        f"`{e.command}` |"
        for e in judged
    ]
    lines = [
        INTRODUCTION,
        "| claim | paper | verdict | minutes | command |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ]
    for entry in judged:
        lines += _section(entry)
    others = [entry for entry in entries if entry.judgement is None]
    if others:
        lines += ["## Without a verdict", ""]
        lines += [f"- {e.claim.id}. {e.claim.sentence} {_reason(e)}" for e in others]
        lines += [""]
    lines += [CLOSING]
    return "\n".join(lines)


def _minutes(entry: Entry, estimates: Mapping[str, float]) -> str:
    taken = f"took {entry.minutes:.1f}"
    return f"{estimates[entry.study] / 60:.1f} ({taken})" if entry.study in estimates else taken


def write(
    entries: Sequence[Entry],
    estimates: Mapping[str, float] = MappingProxyType({}),
    *,
    readme: Path = README,
    pictures: Path = PICTURES,
) -> None:
    """Writes the page and its pictures."""
    pictures.mkdir(parents=True, exist_ok=True)
    for entry in entries:
        if entry.png:
            write_atomically(pictures / f"{_short(entry)}.png", entry.png)
    write_atomically(readme, markdown(entries, estimates).encode())


def _section(entry: Entry) -> list[str]:
    assert entry.judgement is not None
    lines = [f"## {_title(entry)}", ""]
    if entry.png:
        lines += [f"![{entry.caption}](../../gallery/claims/{_short(entry)}.png)", ""]
    lines += [f"{entry.claim.sentence} **{_capital(_verdict(entry))}.** {entry.judgement.sentence}", ""]
    words = {True: "holds", False: "does not hold", None: "open"}
    if len(entry.judgement.parts) > 1:
        lines += [*(f"- {words[holds]}: {name}" for name, holds in entry.judgement.parts), ""]
    shown = list(entry.numbers.items())[:NUMBERS]
    lines += [f"Numbers: {'; '.join(f'{name} {number.format(format_number)}' for name, number in shown)}."]
    lines += ["", f"Setting ({entry.runs} runs): {entry.claim.setting} Known from: {entry.claim.source}.", ""]
    return lines


def _verdict(entry: Entry) -> str:
    assert entry.judgement is not None
    return entry.judgement.verdict + (f" ({entry.size}: a look, no evidence)" if entry.size else "")


def _reason(entry: Entry) -> str:
    if entry.claim.missing:
        return f"Cannot be tested here, because {entry.claim.missing}."
    return f"Not run: `{entry.command}`."


def _title(entry: Entry) -> str:
    return f"{entry.claim.id} {_short(entry).replace('_', ' ')}"


def _anchor(entry: Entry) -> str:
    return _title(entry).lower().replace(",", "").replace(" ", "-")


def _short(entry: Entry) -> str:
    return entry.study.rpartition("/")[2]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
