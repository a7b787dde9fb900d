"""One classic session for all tests, and the reports of two runs in processes of their own.

Classic and Connect do not live in one process, and a session without the jar is another one again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from indextables.spark import configure

HERE = Path(__file__).parent
WAYS = {"by tasks": "0", "while planning": "2000"}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.sql.session.timeZone", "Asia/Kolkata")  # so that a mistaken time zone shows
    )
    session = configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # the errors that tests provoke are theirs to look at
    yield session
    session.stop()


@pytest.fixture
def way(request: pytest.FixtureRequest) -> dict[str, str]:
    """Options by which small queries go one of the two ways; by the test's name, so that it is the same every time."""
    chosen = sorted(WAYS)[zlib.crc32(request.node.name.encode()) % len(WAYS)]
    print(f"small queries are answered {chosen}")  # pytest shows it where the test fails
    return {"spark.indextables.read.answerOnDriver.maxRows": WAYS[chosen]}


@pytest.fixture(scope="module")
def connect_report(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str | None]:
    """What became of each case of the module on Spark Connect: None, or the traceback.

    Each module has a process of its own, since modules may run side by side.
    """
    # In "testing" Spark takes a free port for its server and not always the same.
    directory = tmp_path_factory.mktemp("connect")
    return _report("run_on_connect.py", directory, {"SPARK_TESTING": "true"}, request.path.name)


@pytest.fixture(scope="session")
def plain_report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """The same for a session without the jar, where Spark uses the Python data source by itself."""
    return _report("run_without_jar.py", tmp_path_factory.mktemp("plain"), {"PYSPARK_PYTHON": sys.executable})


def _report(
    script: str, directory: Path, variables: dict[str, str], *arguments: str
) -> dict[str, str | None]:
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK_", "SPARK_"))
    }
    run = subprocess.run(
        [sys.executable, str(HERE / script), str(directory), *arguments],
        env=inherited | variables,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    report = directory / "report.json"
    assert report.exists(), (
        f"{script} ended with {run.returncode}:\n{run.stdout[-3000:]}\n{run.stderr[-3000:]}"
    )
    found: dict[str, str | None] = json.loads(report.read_text())
    return found
