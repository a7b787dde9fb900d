"""A local Spark session for the demo and the benchmarks, whose log goes to a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def local_session(
    name: str, home: Path, memory_gb: int, options: dict[str, str] | None = None
) -> SparkSession:
    """Start a session on all cores of this machine, reachable from this machine only.

    Spark's log and its warehouse go to the directory `home`.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - Spark is optional

    from indextables.spark import configure  # noqa: PLC0415

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master("local[*]")
        .appName(name)
        .config("spark.driver.memory", f"{memory_gb}g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", str(home / "spark-warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
    )
    for key, value in (options or {}).items():
        builder = builder.config(key, value)
    with _errors_to(home / "spark.log"):
        return configure(builder).getOrCreate()


@contextmanager
def _errors_to(path: Path) -> Iterator[None]:
    """Redirect stderr to a file. Programs that are started inside keep writing there after the block ends."""
    saved = os.dup(2)
    with path.open("wb") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
