"""Every row of the specification's checklist names tests, and those exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = [
    tuple(cell.strip() for cell in line.strip("| \n").split(" | "))
    for line in (TESTS / "columns" / "checklist.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| row |")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_is_proved_by_tests_that_exist(row: tuple[str, str]):
    _, proof = row
    files = re.findall(r"`([\w/]+\.py)`", proof)
    names = re.findall(r"`(test_\w+)(?:\[[^`]*\])?`", proof)
    assert files or names
    there = {
        name
        for file in (TESTS / "columns").glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE)
    }
    assert set(names) <= there
    assert all((TESTS / file).is_file() for file in files)


def test_no_row_is_missing():
    assert len(ROWS) == 18
