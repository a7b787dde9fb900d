"""The formats that Spark reads and writes, behind one protocol: search tables and datasets of column groups."""

from __future__ import annotations

from typing import Final

from indextables.spark.formats.datasets import Datasets
from indextables.spark.formats.due_upkeep import upkeep_after_delete
from indextables.spark.formats.plan_json import DecodedScan, encode_scan
from indextables.spark.formats.protocol import Answer, Format
from indextables.spark.formats.row_changes import row_change_writer
from indextables.spark.formats.table_scan import table_reader
from indextables.spark.formats.table_streams import (
    feed_plan,
    feed_reader,
    stream_latest,
    stream_limits,
    stream_newest,
    stream_plan,
    stream_reader,
    stream_start,
)
from indextables.spark.formats.table_write import table_writer
from indextables.spark.formats.tables import Tables
from indextables.spark.formats.tasks import TaskReader, TaskWriter

TABLES: Final = Tables()
DATASETS: Final = Datasets()

__all__ = [
    "DATASETS",
    "TABLES",
    "Answer",
    "DecodedScan",
    "Format",
    "TaskReader",
    "TaskWriter",
    "encode_scan",
    "feed_plan",
    "feed_reader",
    "row_change_writer",
    "stream_latest",
    "stream_limits",
    "stream_newest",
    "stream_plan",
    "stream_reader",
    "stream_start",
    "table_reader",
    "table_writer",
    "upkeep_after_delete",
]
