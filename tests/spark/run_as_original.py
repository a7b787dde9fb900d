"""Run cases of test_drop_in.py in a session with the settings of IndexTables for Scala, and write report.json."""

from __future__ import annotations

import json
import runpy
import sys
import traceback
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from indextables.spark import jar_path

HERE = Path(__file__).parent


def main() -> None:
    directory = Path(sys.argv[1])
    sys.path.insert(0, str(HERE.parent))  # modules that tests share
    names = runpy.run_path(str(HERE / "test_drop_in.py"))
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.jars", str(jar_path()))
        .config("spark.sql.extensions", ",".join(names["EXTENSIONS"]))
    )
    for catalog, name in names["CATALOGS"].items():
        builder = builder.config(f"spark.sql.catalog.{catalog}", name)
    for key, value in names["original_settings"](directory).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    report: dict[str, str | None] = {}
    for title, case in names["ORIGINAL_CASES"].items():
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
