"""Runs the cases of test modules on Spark Connect and writes report.json: python run_on_connect.py DIR MODULE..."""

from __future__ import annotations

import json
import runpy
import sys
import traceback
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from indextables.spark import configure

HERE = Path(__file__).parent


def main() -> None:
    directory = Path(sys.argv[1])
    spark = configure(SparkSession.builder.remote("local[2]")).getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    report: dict[str, str | None] = {}
    for name in sys.argv[2:]:
        module = runpy.run_path(str(HERE / name))
        world = module["prepare"](spark, directory / name)
        for title, case in module["CASES"].items():
            try:
                case(spark, world)
            except (Exception, pytest.fail.Exception):
                report[title] = traceback.format_exc()
            else:
                report[title] = None
    (directory / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
