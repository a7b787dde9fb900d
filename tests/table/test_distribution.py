"""Sizes of writes: what settings and the files of a table make of them."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.log import load_snapshot
from indextables.schema import Field
from indextables.storage import open_store
from indextables.table.writes.distribution import (
    Distribution,
    file_bytes_per_row_byte,
    plan_distribution,
    split_row_bytes,
)

KEY = "spark.indextables.write.optimizeWrite."


def settings(**values: str) -> Settings:
    return Settings({KEY + name: value for name, value in values.items()})


MAP = '{"type":"map","keyType":"string","valueType":"string","valueContainsNull":true}'
COLUMNS = [Field("m", MAP), Field("a", "string"), Field("p", "string")]


def test_rows_are_clustered_by_partition_or_stay_in_order():
    assert plan_distribution(settings(), COLUMNS, ["p"], None).cluster_by == ("p",)
    for off in (settings(enabled="false"), settings(distributionMode="none")):
        assert plan_distribution(off, COLUMNS, ["p"], None) == Distribution()
        assert plan_distribution(off, COLUMNS, [], None) == Distribution()
    split = round((256 << 20) / 1.1)
    ordered = Distribution((), split, in_order=True)
    assert plan_distribution(settings(enabled="true"), COLUMNS, [], None) == ordered
    assert plan_distribution(settings(), COLUMNS, [], None) == replace(ordered, shuffle_bytes=split // 8)
    assert plan_distribution(settings(distributionMode="balanced"), COLUMNS, [], None) == Distribution()


def test_a_target_size_becomes_the_size_of_a_shuffle_partition():
    planned = plan_distribution(settings(targetSplitSize="11M"), COLUMNS, ["p"], None)
    assert planned.shuffle_bytes == 10 << 20
    planned = plan_distribution(settings(targetSplitSize="11M", samplingRatio="2"), COLUMNS, ["p"], None)
    assert planned.shuffle_bytes == 11 << 19


def test_balanced_writes_have_a_maximum_and_no_target():
    balanced = settings(enabled="true", distributionMode="balanced", maxSplitSize="3M", targetSplitSize="1M")
    assert plan_distribution(balanced, COLUMNS, ["p"], None) == Distribution(("a", "p"))
    assert split_row_bytes(balanced, ["p"], None) == 3 << 20


def test_a_split_takes_the_rows_that_fill_a_file_of_the_target_size():
    uri = "memory://distribution"
    it.write(
        uri, pa.table({"text": [f"words {n} {n * 7919 % 10007} again and again " * 5 for n in range(20_000)]})
    )
    table = load_snapshot(open_store(uri, Settings()))
    (file,) = table.files.values()
    ratio = file.size / file.uncompressed_size_bytes
    assert ratio < 0.5
    optimised = settings(enabled="true", targetSplitSize="1M")
    assert file_bytes_per_row_byte(optimised, table) == pytest.approx(ratio)
    assert split_row_bytes(optimised, [], table) == pytest.approx((1 << 20) / ratio, rel=0.01)
    assert split_row_bytes(optimised, [], None) == 1 << 20, "without history, a file is as large as its rows"
    few = settings(enabled="true", targetSplitSize="1M", minRowsForEstimation="20001")
    assert file_bytes_per_row_byte(few, table) == 1
    assert split_row_bytes(settings(targetSplitSize="1M"), [], table) == 256 << 20, "it is not optimised"
