"""The scripts of examples/ that need no Spark run, and print what they say."""

from __future__ import annotations

import sys

import documents
import parquet_lake
import pytest
import security_logs


@pytest.mark.parametrize(
    ("example", "printed"),
    [
        (security_logs, "ALERT Failed password for root from 192.0.2.44"),
        (documents, "operating.md: Erase rows for good"),
        (parquet_lake, "the best 3 of 4 rows"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_example_runs(example, printed, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [example.__name__])
    example.main()
    assert capsys.readouterr().out.count(printed) == 1
