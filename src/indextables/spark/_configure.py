"""Setting up a Spark session. Spark itself is not imported: a builder is only asked to take options."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final, TypeVar

from indextables.errors import ConfigError

Builder = TypeVar("Builder", bound=Any)

JAR: Final = Path(__file__).parent / "jvm" / "indextables-spark.jar"
CATALOG: Final = "io.indextables.spark.IndexTablesCatalog"
BATCH_ROWS: Final = "65536"
"""Rows travel between Spark and Python in batches; Spark's default of 10,000 costs about a fifth of a scan."""


def configure(builder: Builder) -> Builder:
    """Gives a session the format, the catalog and the search operators.

    `spark = configure(SparkSession.builder).getOrCreate()`, and likewise for `SparkSession.builder.remote("local[2]")`.
    A session that talks to a Connect server elsewhere gets them only if that server was started with the jar too.
    On this machine Spark's workers run this Python, unless `PYSPARK_PYTHON` says otherwise.
    """
    jar = jar_path()
    chosen: dict[str, Any] = dict(getattr(builder, "_options", {}))
    if _is_local(chosen) and "spark.pyspark.python" not in chosen:
        # Spark would take whatever `python3` the PATH has, which in a virtual environment may lack this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    jars = [part for part in str(chosen.get("spark.jars", "")).split(",") if part]
    if str(jar) not in jars:
        builder = builder.config("spark.jars", ",".join([*jars, str(jar)]))
    builder = builder.config("spark.sql.catalog.indextables", CATALOG)
    if "spark.sql.execution.arrow.maxRecordsPerBatch" not in chosen:
        builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH_ROWS)
    return builder


def _is_local(options: dict[str, Any]) -> bool:
    target = options.get("spark.remote") or options.get("spark.master") or os.environ.get("MASTER") or "local"
    return str(target).startswith("local")


def jar_path() -> Path:
    """The jar that Spark needs, for those who start it themselves: `spark-submit --jars ...`."""
    if not JAR.exists():
        raise ConfigError(
            f"the Spark jar is not there ({JAR}); in a checkout run `make setup` or `python tools/build_jar.py`, "
            "elsewhere install the package from a wheel"
        )
    return JAR
