"""Run the cases of test modules on Spark Connect: python run_on_connect.py DIRECTORY MODULE...

For each module, the outcome of its cases goes to a report in the directory as soon as they have run.
"""

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
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    # Queries run once on a few rows: interpreting them takes less time than compiling them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def main() -> None:
    directory = Path(sys.argv[1])
    sys.path.insert(0, str(HERE.parent))  # modules that tests share
    spark = configure(SparkSession.builder.remote("local[2]")).getOrCreate()
    for key, value in SETTINGS.items():
        spark.conf.set(key, value)
    for name in sys.argv[2:]:
        report = _run(spark, HERE / name, directory / Path(name).stem)
        partial = directory / f"{name}.partial"
        partial.write_text(json.dumps(report))
        partial.rename(directory / f"{Path(name).stem}.json")


def _run(spark: SparkSession, module: Path, directory: Path) -> dict[str, str | None]:
    """Return None for each case that passes, and the traceback of each that fails."""
    names = runpy.run_path(str(module))
    spark.sql(
        "USE spark_catalog.default"
    ).collect()  # the module before may have chosen a database of its own
    world = names["prepare"](spark, directory)
    report: dict[str, str | None] = {}
    for title, case in names["CASES"].items():
        try:
            case(spark, world)
        except (Exception, pytest.fail.Exception):
            report[title] = traceback.format_exc()
        else:
            report[title] = None
    return report


if __name__ == "__main__":
    main()
