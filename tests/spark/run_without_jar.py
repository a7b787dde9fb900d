"""Run the cases of test_without_jar.py in a session that has no jar, and write report.json."""

from __future__ import annotations

import json
import runpy
import sys
import traceback
from pathlib import Path

import pytest
from pyspark.sql import SparkSession


def main() -> None:
    directory = Path(sys.argv[1])
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    report: dict[str, str | None] = {}
    for title, case in runpy.run_path(str(Path(__file__).parent / "test_without_jar.py"))["CASES"].items():
        try:
            case(spark, directory)
        except (Exception, pytest.fail.Exception):
            report[title] = traceback.format_exc()
        else:
            report[title] = None
    spark.stop()
    (directory / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
