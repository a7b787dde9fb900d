"""The commands of README and tutorial run as they are written, in an empty directory; those of all pages parse."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from indextables.cli.parser import make_parser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").glob("*.md") if path.name != "api.md")]
COMMAND = re.compile(r"^\$ (.+)$", re.MULTILINE)
NOT_RUN = re.compile(r"(make|pip|python3 -m venv|indextables ui)\b")
"""Set-up, which a test does not repeat, and a server, which does not end."""
FENCED = re.compile(r"^```(?:console)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(indextables [^`]+)`")
ENDS = ("|", "||", ";", "&&", ">", "<")


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    found = [command for block in blocks for command in COMMAND.findall(block)]
    return [command for command in found if not NOT_RUN.match(command)]


def run(page: Path, home: Path) -> dict[str, list[str]]:
    """Run the commands of a page, and return what each printed, as often as it was run."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    outputs: dict[str, list[str]] = {}
    for command in commands(page):
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", command],
            cwd=home,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        outputs.setdefault(command, []).append(done.stdout)
    return outputs


@pytest.mark.slow
def test_the_commands_of_the_tutorial_run(tmp_path):
    outputs = run(ROOT / "docs" / "tutorial.md", tmp_path)
    assert sum(map(len, outputs.values())) >= 20
    assert outputs["indextables count logs"] == ['{"count": 20500}\n', '{"count": 20000}\n']
    assert outputs["indextables count logs --version 0"] == ['{"count": 20000}\n']


@pytest.mark.slow
def test_the_commands_of_the_readme_run(tmp_path):
    outputs = run(ROOT / "README.md", tmp_path)
    assert len(outputs) >= 3
    assert all(outputs.values())


def written(page: Path) -> list[list[str]]:
    """Return the arguments of every command of a page, in its blocks and in its sentences."""
    text = page.read_text()
    lines = [line.removeprefix("$ ") for block in FENCED.findall(text) for line in block.splitlines()]
    found = []
    for line in [*lines, *INLINE.findall(text)]:
        words = shlex.split(line.partition(" #")[0]) if line.startswith("indextables ") else []
        if len(words) > 1 and words[1].islower():
            ends = [place for place, word in enumerate(words) if word in ENDS]
            shown = words[1 : min(ends, default=len(words))]
            found.append(["3" if word == "VERSION" else word for word in shown])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_has_these_arguments(page, capsys):
    wrong = [arguments for arguments in written(page) if len(arguments) > 1 and not parses(arguments)]
    assert wrong == [], capsys.readouterr().err


def parses(arguments: list[str]) -> bool:
    try:
        make_parser().parse_args(arguments)
    except SystemExit as done:
        return done.code == 0
    return True


INSTALLED = re.compile(r"pip install [^`\n]*indextables[^`\n]*|pip install '?\"?\.\S*")


def test_the_package_is_installed_from_a_clone_wherever_the_reader_is():
    commands = [(page.name, text) for page in PAGES for text in INSTALLED.findall(page.read_text())]
    assert {"README.md", "tutorial.md", "cli.md", "ui.md", "columns.md"} <= {name for name, _ in commands}
    for name, command in commands:
        assert re.match(r'pip install "\$HOME/indextables(\[[a-z,]+\])?"', command), f"{name}: {command}"


def test_the_pages_have_commands():
    assert sum(len(written(page)) for page in PAGES) > 30
