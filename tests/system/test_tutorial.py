"""The notebooks are those of their scripts, and the scripts run unchanged."""

import json
from pathlib import Path

import matplotlib as mpl
import pytest

import experiments
from experiments import notebooks

HERE = Path(experiments.__file__).parent


def test_a_script_becomes_text_and_code():
    first = "# %% First\n# What it\n# does.\nx = 1\nprint(x)\n"
    script = f'"""A title.\n\nMore.\n"""\n\n{first}\n# %% Second\ny = x + 1\nprint(y)\n'
    cells = notebooks.cells_of(script)
    assert [cell.text for cell in cells] == [
        "# A title\n\nMore.",
        "## First\n\nWhat it does.",
        "x = 1\nprint(x)",
        "## Second",
        "y = x + 1\nprint(y)",
    ]
    executed = notebooks.execute(cells, "script")
    assert [cell.printed for cell in executed if cell.is_code] == ["1\n", "2\n"]
    notebook = notebooks.to_notebook(executed)
    assert [cell["cell_type"] for cell in notebook["cells"]] == [
        "markdown",
        "markdown",
        "code",
        "markdown",
        "code",
    ]
    assert notebook["cells"][2]["outputs"] == [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]


@pytest.mark.parametrize("name", notebooks.SCRIPTS)
def test_notebooks_are_those_of_their_scripts(name):
    """`python -m experiments.notebooks` writes them again."""
    stored = json.loads((HERE / f"{name}.ipynb").read_text())
    script = (HERE / f"{name}.py").read_text()
    assert notebooks.sources(stored) == [cell.text for cell in notebooks.cells_of(script)]
    images = [output for cell in stored["cells"] for output in cell.get("outputs", ()) if "data" in output]
    assert len(images) == script.count(".savefig(")


@pytest.mark.slow
def test_the_tutorial_runs_and_draws_its_figures():
    mpl.use("Agg")
    cells = notebooks.execute(notebooks.cells_of((HERE / "tutorial.py").read_text()), "tutorial")
    assert sum(len(cell.figures) for cell in cells) == 3
    output = "".join(cell.printed for cell in cells)
    assert output.count("total variation to exact") == 4
    assert " modes: " in output
    assert "the floor" in output
    assert output.count("gradients a round") == 5


@pytest.mark.slow
def test_own_parts_run_and_keep_up():
    mpl.use("Agg")
    cells = notebooks.execute(notebooks.cells_of((HERE / "extend.py").read_text()), "extend")
    output = "".join(cell.printed for cell in cells)
    gaps = {
        line.split(":")[0].strip(): float(line.split("gap ")[1].split()[0])
        for line in output.splitlines()
        if "gap" in line
    }
    assert abs(gaps["multinomial_hmc"]) < gaps["sgld"]
    assert gaps["click_rate"] < gaps["epsilon_greedy"] < 0
    assert gaps["thompson"] < 0
