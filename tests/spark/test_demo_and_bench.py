"""The demo and the bench run, at a small size; what they time is checked there, not here."""

from __future__ import annotations

import io

import demo
from report import Report
from rich.console import Console

from bench import measure, tables
from indextables.demo import log_dataframe


def test_the_demo_shows_what_it_found(spark, tmp_path):
    output = io.StringIO()
    report = Report(Console(file=output, width=140))
    demo.tour(report, spark, tmp_path, 20_000)
    demo.summary(report, tmp_path, 1.0)
    said = output.getvalue()
    assert "no rows" not in said
    assert "NO" not in said.replace("NOT", "")
    assert "21,000" in said  # with the thousand rows that plain Python appended
    assert str(tmp_path / "logs") in said


def test_the_bench_compares_equal_answers(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "_ROUNDS", 1)
    monkeypatch.setattr(measure, "_SHORT_SECONDS", 0.0)
    rows = log_dataframe(spark, 20_000)
    pair = tables.Pair(spark, tmp_path / "table", tmp_path / "parquet")
    found = tables.write(pair, rows, rows, count=20_000, mb=4.0, repeat=1)
    found += tables.search(pair, repeat=1, warm_up=0)
    found += tables.scan(pair, repeat=1, warm_up=0)
    output = io.StringIO()
    measure.show(Console(file=output, width=140), "small", found)
    measure.record(tmp_path / "results" / "results.json", {}, found)
    assert output.getvalue().count("Parquet") >= 10
    assert "met" in output.getvalue()
    assert (tmp_path / "results" / "results.json").exists()
