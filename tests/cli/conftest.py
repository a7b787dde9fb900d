from __future__ import annotations

import json

import pytest

import indextables as it
from indextables.cli import main
from support.cli_rows import rows


class Cli:
    """Runs the command in this process, and keeps what it printed."""

    def __init__(self, capsys) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err

    def rows(self, *arguments: object) -> list[dict]:
        code, out, err = self(*arguments)
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    def text(self, *arguments: object) -> str:
        code, out, err = self(*arguments, "--format", "table")
        assert code == 0, err
        return out


@pytest.fixture
def cli(capsys) -> Cli:
    return Cli(capsys)


@pytest.fixture
def logs(tmp_path) -> str:
    """A table of two versions: three rows, and one more."""
    path = str(tmp_path / "logs")
    it.write(path, rows(0, "disk full on db1", "login ok", "disk slow"), text=["message"])
    it.write(path, rows(3, "logout \x1b[31mred\x9b ok"))
    return path
