"""What the README shows, runs."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_python_example_runs_and_is_about_ten_lines(capsys):
    (example, *_) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(example.strip().splitlines()) <= 12
    exec(compile(example.replace("rounds=200", "rounds=12"), str(README), "exec"), {})
    assert capsys.readouterr().out.count("\n") == 3


def test_it_opens_with_the_two_commands():
    commands = re.findall(r"^    (make \w+)", README.read_text(), re.MULTILINE)
    assert commands[:2] == ["make demo", "make test"]
