"""Set-up of a Spark session. This module does not import Spark: it only adds options to a builder."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any, Final, TypeVar

from indextables.errors import ConfigError
from indextables.spark.jar import find_jar
from indextables.spark.redaction import redactions

Builder = TypeVar("Builder", bound=Any)

OLDEST: Final = (4, 1)
"""The oldest Spark that the jar runs on, as `pyproject.toml` declares it."""

EXTENSIONS: Final = "io.indextables.spark.IndexTablesExtensions"
CATALOG: Final = "io.indextables.spark.IndexTablesCatalog"
BATCH_ROWS: Final = "65536"
"""The size of the batches of rows between Spark and Python. A scan by Spark's 10,000 takes about a fifth longer."""


def configure(builder: Builder) -> Builder:
    """Give a session the format, the catalog and the search operators.

    `spark = configure(SparkSession.builder).getOrCreate()`, and likewise for `SparkSession.builder.remote("local[2]")`:
    choose the master or the remote first. A Connect server elsewhere (`sc://...`) must have been started with the jar
    itself. Spark's workers on this machine run this Python, unless `PYSPARK_PYTHON` names another.

    ConfigError if Spark runs already and was started without the jar, or is older than the jar needs.
    """
    options: dict[str, Any] = dict(getattr(builder, "_options", {}))
    target = str(
        _first(options, "spark.remote", "SPARK_REMOTE")
        or _first(options, "spark.master", "MASTER")
        or "local"
    )
    if target.startswith("local") and "spark.pyspark.python" not in options:
        # Spark would use the `python3` of the PATH, which may not have this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not target.startswith("sc://"):
        _check_spark(sys.modules.get("pyspark"))
        builder = _with_jar(builder, options, str(jar_path()))
        builder = _with_redactions(builder, options)
    builder = builder.config("spark.sql.catalog.indextables", CATALOG)
    if "spark.sql.execution.arrow.maxRecordsPerBatch" not in options:
        builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH_ROWS)
    return builder


def _check_spark(pyspark: Any) -> None:
    """Raise ConfigError if Spark cannot load the jar. A builder comes from pyspark, so it is imported by now."""
    version = getattr(pyspark, "__version__", None)
    if version is not None and tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ConfigError(
            f"indextables needs Spark {oldest} or newer, but pyspark is {version}; upgrade pyspark"
        )
    jvm = getattr(getattr(pyspark, "SparkContext", None), "_jvm", None)
    if jvm is not None and not jvm.org.apache.spark.util.Utils.classIsLoadable(EXTENSIONS):
        raise ConfigError(
            "Spark runs in this process already and was started without the indextables jar. Spark takes jars only "
            "when it starts, so configure() comes too late, also after spark.stop(). Restart Python and begin with "
            f"configure(SparkSession.builder).getOrCreate(), or start Spark with --jars {jar_path()}"
        )


def jar_path() -> Path:
    """Return the path of the jar that Spark needs, for `spark-submit --jars ...`.

    A package without the jar compiles it first (see `jar`). ConfigError if that needs something that is missing.
    """
    return find_jar()


def _with_redactions(builder: Builder, options: dict[str, Any]) -> Builder:
    redacted = redactions(options)
    if _is_connect(options):
        # The server needs them when it starts; what the client sets later is refused or has no effect.
        arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
        more = [f"--conf {shlex.quote(f'{key}={value}')} " for key, value in redacted.items()]
        os.environ["PYSPARK_SUBMIT_ARGS"] = (
            "".join(flag for flag in more if flag not in arguments) + arguments
        )
        return builder
    for key, value in redacted.items():
        builder = builder.config(key, value)
    return builder


def _is_connect(options: dict[str, Any]) -> bool:
    return (
        _first(options, "spark.remote", "SPARK_REMOTE") is not None
        or str(_first(options, "spark.api.mode", "SPARK_API_MODE")).lower() == "connect"
    )


def _with_jar(builder: Builder, options: dict[str, Any], jar: str) -> Builder:
    if _is_connect(options) and "spark.jars" not in options:
        # A Connect client applies its builder's options to the running server, which warns that spark.jars is
        # fixed by then; the arguments of the server's start are the way in that both agree on.
        arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
        if jar not in arguments:
            os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {jar} {arguments}"
        return builder
    jars = [part for part in str(options.get("spark.jars", "")).split(",") if part]
    if jar not in jars:
        builder = builder.config("spark.jars", ",".join([*jars, jar]))
    return builder


def _first(options: dict[str, Any], key: str, variable: str) -> Any:
    return options.get(key, os.environ.get(variable))
