"""Output on a terminal of 80 columns: nothing truncated, no word broken, only visible columns explained."""

from io import StringIO

import pytest
from helpers.synthetic_comparison import study
from rich.console import Console

from experiments.cli import listing, terminal
from experiments.config.labels import varied
from samplers import SAMPLERS
from samplers.errors import InputError


def printed(shown, width=80):
    console = Console(file=StringIO(), width=width, highlight=False)
    console.print(shown)
    return console.file.getvalue()


def whole(text, expected):
    """Every expected word is in the text, and nothing was truncated."""
    assert "…" not in text
    assert not set(expected) - set(text.split())


def rows_of(cells):
    """As a summary has them."""
    settings = [key for key in varied(cells) if "." in key]
    figures = {"status": "done", "final_regret_mean": 1234.5, "final_regret_se": 12.3}
    figures |= {"regret_gap": 1200.0, "regret_gap_low": 1100.0, "regret_gap_high": 1300.0}
    figures |= {"acceptance_rate": 0.5, "gradients_per_round": 21.0, "seconds": 1.5}
    return [{key: cell.flat.get(key, "") for key in (*terminal.NAMES, *settings)} | figures for cell in cells]


def test_a_study_with_many_settings_fits():
    cells = study("blindness").cells
    text = printed(terminal.summary_table(rows_of(cells), 80, cells))
    whole(text, ["cell", "control", "contamination=0.05", "stuck=0.99", "1234.5", "[+1100.0,", "+1300.0]"])
    assert max(map(len, text.splitlines())) <= 80
    assert "acceptance" not in text


def test_a_wide_terminal_shows_and_explains_every_column():
    cells = study("default").cells
    text = printed(terminal.summary_table(rows_of(cells), 200, cells), 200)
    whole(text, ["environment", "sampler", "acc", "grads"])
    assert "acc: acceptance" in text
    assert "grads: gradients a round" in text


def test_omitted_columns_are_not_explained():
    rows = [
        dict.fromkeys(terminal.NAMES, "x" * 12) | {"environment": e, "sampler": "y" * 20} for e in ("a", "b")
    ]
    rows = [one | {"status": "done", "final_regret_mean": 1.0, "final_regret_se": 0.1} for one in rows]
    text = printed(terminal.summary_table(rows, 30), 30)
    assert "acceptance" not in text
    assert "seconds" not in text


def test_standings_have_a_heading_for_each_environment_and_fit():
    names = ("FGTS-VA (SGLD)", "Weighted OFUL (sub-Gaussian)", "LinNATS-style")
    environments = ("sparse dim=2 p=0.1 scale=1", "dense")
    rows = [
        {"algorithm": name, "environment": environment, "level": level, "growth": 0.5}
        | {
            "setting": "alpha=0.0158 (edge), step=1.5 (edge)",
            "final_regret_mean": 3370.9,
            "final_regret_se": 12.5,
        }
        for environment in environments
        for name in names
        for level in ("textbook", "tuned")
    ]
    text = printed(terminal.standings_table(rows, 80))
    expected = [
        "algorithm",
        "setting",
        "growth",
        "(sub-Gaussian)",
        "LinNATS-style",
        "alpha=0.0158",
        "textbook",
        "0.50",
    ]
    whole(text, expected)
    assert all(
        text.count(f"{environment}\n") == 1 for environment in (" ".join(e.split()) for e in environments)
    )
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("width", [80, 120])
def test_a_list_of_samplers_fits_a_screen(width):
    console = Console(file=StringIO(), width=width, highlight=False)
    listing.show(console, "samplers")
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for line, (name, cls) in zip(lines, SAMPLERS, strict=False):
        assert line.split()[0] == name
        assert cls.info.family in line


def test_a_member_is_listed_with_its_settings():
    console = Console(file=StringIO(), width=200, highlight=False)
    listing.show(console, "samplers", "mala")
    text = console.file.getvalue()
    assert "asymptotically exact" in text
    assert "sampler.step_size" in text
    assert "sampler.adaptation.num_steps" in text
    with pytest.raises(InputError, match=r"did you mean 'mala'"):
        listing.show(console, "samplers", "malla")
    with pytest.raises(InputError, match=r"did you mean 'budget'"):
        listing.show(console, "studies", "budgt")


def test_a_study_is_listed_with_its_grid():
    console = Console(file=StringIO(), width=200, highlight=False)
    listing.show(console, "studies", "budget")
    assert "1, 2, 5, 10, 20, 50, 100" in console.file.getvalue()
