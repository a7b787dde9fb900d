"""Run cases of test_local_cluster.py on two executors, each a process: run_on_local_cluster.py DIRECTORY NAME.

NAME is that of the dictionary of the cases. The outcome of each case goes to report.json in the directory.
"""

from __future__ import annotations

import json
import os
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
    sys.path.insert(0, str(HERE.parent))  # modules that tests share
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # of the driver, and of the executors that inherit it
    names = runpy.run_path(str(HERE / "test_local_cluster.py"))
    builder = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    )
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    report: dict[str, str | None] = {}
    try:
        for title, case in names[sys.argv[2]].items():
            try:
                case(spark, directory)
            except (Exception, pytest.fail.Exception):
                report[title] = traceback.format_exc()
            else:
                report[title] = None
    finally:
        spark.stop()
        (directory / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
