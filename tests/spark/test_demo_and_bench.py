"""The demo and the bench run, at a small size; what they time is checked there, not here."""

from __future__ import annotations

import io

import demo
import pyarrow.compute as pc
import pyarrow.parquet as pq
from report import Report
from rich.console import Console

from bench import measure, original_driver, tables
from indextables.demo import BROAD_WORD, RARE_WORD, log_dataframe, log_table


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
    grouped = tables.aggregate(pair, repeat=1, warm_up=0)
    assert [(c.name.partition(": ")[2], c.other_name) for c in grouped] == [
        *(
            (what, other)
            for what in ("count", "GROUP BY service", "day histogram")
            for other in ("without push-down", "Parquet")
        ),
        ("the 10 newest", "the same 10 rows of Parquet"),
        ("the 10 best, of all splits", "any 10 rows of Parquet"),
    ]
    assert [c.at_least for c in grouped if c.at_least] == [tables.LEAST_OF_GROUPING]
    found += grouped
    found += tables.scan(pair, repeat=1, warm_up=0)
    output = io.StringIO()
    measure.show(Console(file=output, width=140), "small", found)
    measure.record(tmp_path / "results" / "results.json", {}, found)
    assert output.getvalue().count("Parquet") >= 10
    assert "met" in output.getvalue()
    assert (tmp_path / "results" / "results.json").exists()


def test_our_side_of_the_comparison_with_the_original_does_every_operation(spark, tmp_path):
    pq.write_table(log_table(11_000), tmp_path / "rows.parquet")
    words = {"few": RARE_WORD, "many": BROAD_WORD}
    asked = {"side": "ours", "rows": str(tmp_path / "rows.parquet"), "home": str(tmp_path)}
    found = original_driver.Driver(spark, asked | {"repeat": 1, "words": words, "appends": 2}).run()
    assert [name for name, one in found.items() if "error" in one] == [], found
    many = log_table(11_000).filter(pc.match_substring_regex(pc.field("message"), rf"\b{BROAD_WORD}\b"))
    assert found["search of many rows"]["rows"] == found["search of many rows, default settings"]["rows"]
    assert found["search of many rows"]["rows"] == many.num_rows
    assert found["search of few rows"]["rows"] == 1
    assert found["count, cold"]["hash"] == found["count, warm"]["hash"] == repr([str(many.num_rows)])
    assert found["merge"]["rows"] == 11_000
    assert found["bytes on disk"]["bytes"] > 0
