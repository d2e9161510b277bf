"""The leaderboard: a figure of errors against gradients and seconds, and a page with tables and a panel to explore."""

import json
from collections.abc import Mapping
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.figures.style import look
from experiments.storage.files import write_atomically
from experiments.targets.error_figure import error_figure
from experiments.targets.leaderboard import ERRORS, standings
from experiments.targets.worker import REFERENCE
from samplers.registry import SAMPLERS

INTRODUCTION = (
    "The <b>score</b> is the mean over targets of log2 of the error over that of exact draws: 0 is exact, 1 is twice "
    "the error. The error is the sliced Wasserstein distance of one draw per chain, after following a sequence with "
    "one draw per posterior."
)
DETAILS = (
    "<b>following</b>: one draw from each posterior of the sequence, started where the last one ended. <b>cold</b>: "
    "draws from the last posterior, started at draws of the prior. Errors are those of the distribution of one draw "
    "per chain, against reference draws; the error of exact draws is that of as many reference draws. A target on "
    "which a sampler fails counts as the worst result of any sampler there. <b>score_se</b> is the standard error over "
    "chains. <b>within_2x</b>: targets on which a sampler comes, cold, within twice the error of exact draws, and "
    "<b>gradients_to_2x</b> the median number of gradients per chain that this took. <b>gradients</b> and "
    "<b>seconds</b>: mean over targets, per chain, following; seconds of one core, without compilation."
)
COLUMN_NOTES = (
    "action_tv: total variation between the distributions of the best arm; action_tv_floor: what as many exact draws "
    "have on average. sliced_wasserstein, mean_error and covariance_error in standard deviations of the posterior. "
    "mmd: root of the unbiased square, 0 if that is negative. stein_discrepancy: IMQ kernel, whitened. "
    "classifier_accuracy: 1/2 is perfect. pareto_khat: of importance sampling from the normal distribution with the "
    "draws' moments; above 0.7 these do not cover the target, or there are too few draws for its dimension (compare "
    "with the reference's row)."
)
HEAD_COLUMNS = ("sampler", "target", "mode", "reason", "title", "references")  # words, not numbers


def write(
    folder: Path, table: pd.DataFrame, targets: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Path]:
    """Writes leaderboard.csv, leaderboard.svg and leaderboard.html.

    Args:
        folder: Made if it does not exist.
        table: Of `leaderboard.run`.
        targets: What is said about each target.

    Returns:
        The three paths.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"leaderboard.{suffix}" for suffix in ("csv", "svg", "html")]
    write_atomically(paths[0], table.to_csv(index=False).encode())
    picture = BytesIO()
    error_figure(table).savefig(picture, format="svg", metadata={"Date": None})
    write_atomically(paths[1], picture.getvalue())
    write_atomically(paths[2], page(table, targets or {}).encode())
    return paths


def page(table: pd.DataFrame, targets: Mapping[str, Mapping[str, Any]]) -> str:
    """The page: standings, a panel to explore, the figure, the targets, failures with their reasons, and every row."""
    failed = table[table["status"] == "failed"].groupby(["sampler", "reason"], sort=False)["target"]
    failures = failed.agg(", ".join).reset_index()[["sampler", "target", "reason"]]
    done = table[table["status"] == "done"].drop(columns=["status", "reason"])
    samplers = [name for name in dict.fromkeys(table["sampler"]) if name != REFERENCE]
    names = list(dict.fromkeys(table["target"]))
    own = {name for name in samplers if name not in SAMPLERS.names()}
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Samplers on moving targets</title><style>{_asset('report', 'report.css')}",
        f"{_asset('targets', 'leaderboard.css')}</style><h1>Samplers on moving targets</h1>",
        f"<p>{len(samplers)} samplers on {len(names)} sequences of posteriors.</p>",
        f"<h2>Standings</h2><p>{INTRODUCTION}</p>",
        f"<details><summary>What the columns mean</summary><p>{DETAILS}</p></details>",
        _html(standings(table), own),
    ]
    if len(done):
        parts.append(_panel(done, names))
    parts += [
        "<h2>All panels</h2><p>Lines: cold. Crosses: following. Dotted: as many reference draws.</p>",
        '<div class="scroll" tabindex="0" role="region" aria-label="all panels">'
        '<img class="figure" src="leaderboard.svg" alt="errors against gradients and seconds"></div>',
    ]
    if targets:
        known = pd.DataFrame([{"target": name, **facts} for name, facts in targets.items()])
        parts += ["<h2>Targets</h2>", _html(known, set())]
    if len(failures):
        parts += ["<h2>Failures</h2>", _html(failures, own)]
    rows = f"<details><summary>{len(done)} rows</summary><p>{COLUMN_NOTES}</p>{_html(done, own)}</details>"
    return "\n".join([*parts, "<h2>All rows</h2>", rows, "</html>\n"])


def _panel(done: pd.DataFrame, names: list[str]) -> str:
    columns = ["target", "sampler", "mode", "gradients", "seconds", *ERRORS]
    rows = [
        {key: None if value != value else value for key, value in row.items()}
        for row in done[columns].to_dict("records")
    ]
    looks = {name: _look(name) for name in dict.fromkeys(done["sampler"])}
    options = {
        "target": {name: name for name in names if name in set(done["target"])},
        "error": ERRORS,
        "axis": {"gradients": "gradients", "seconds": "seconds"},
    }
    controls = "".join(
        f'<label>{label}<select id="{key}">'
        + "".join(
            f'<option value="{escape(one)}">{escape(text)}</option>' for one, text in options[key].items()
        )
        + "</select></label>"
        for key, label in (("target", "target"), ("error", "error"), ("axis", "against"))
    )
    return (
        f'<h2>Error against cost</h2><div class="controls">{controls}</div><figure style="margin:0">'
        '<svg id="chart" role="img" aria-label="error against cost of all samplers on one target"></svg>'
        "<figcaption>Lines: cold, after 1, 4, ... draws. Crosses: following. Dotted: as many reference draws."
        '</figcaption></figure><p id="told" aria-live="polite"></p><div id="legend"></div>'
        f'<script type="application/json" id="rows">{_json(rows)}</script>'
        f'<script type="application/json" id="looks">{_json(looks)}</script>'
        f"<script>{_asset('targets', 'leaderboard.js')}</script>"
    )


def _look(name: str) -> tuple[str, str]:
    """Colour and dashes of a sampler's line; one's own is black, or white on black."""
    if name not in SAMPLERS.names():
        return "currentColor", "none"
    own = look(name)
    return own["color"], "none" if own["linestyle"] == "-" else "2 3"


def _json(value: object) -> str:
    """JSON that cannot end the script element it is in."""
    return json.dumps(value).replace("<", "\\u003c")


def _asset(room: str, name: str) -> str:
    return (Path(__file__).parents[1] / room / name).read_text()


def _html(frame: pd.DataFrame, own: set[str]) -> str:
    """A table that scrolls if it does not fit; rows of one's own samplers are bold."""

    def kind(column: str) -> str:
        return (
            ' class="reason"' if column == "reason" else "" if column in HEAD_COLUMNS else ' class="number"'
        )

    head = "".join(f"<th{kind(str(name))}>{escape(str(name))}</th>" for name in frame.columns)
    body = "".join(
        ('<tr class="own">' if own & {str(value) for value in row} else "<tr>")
        + "".join(
            f"<td{kind(str(name))}>{_cell(value)}</td>"
            for name, value in zip(frame.columns, row, strict=True)
        )
        + "</tr>"
        for row in frame.itertuples(index=False)
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="region" aria-label="table">{table}</div>'


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return escape(str(value))
