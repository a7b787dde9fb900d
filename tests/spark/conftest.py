"""Spark for the tests: one classic session for each pytest process, and cases that need a process of their own.

Classic Spark and Spark Connect cannot share a process, and a session without the jar needs one too. Such cases run
in a script, which writes what became of each of them to a report; the tests read the report.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from indextables.spark import configure

HERE = Path(__file__).parent
WAYS = {"by tasks": "0", "while planning": "2000"}
REPORT_SECONDS = 1500

Report = dict[str, str | None]
"""By the name of a case: None, or the traceback of its failure."""

# A JVM of the tests lives for a minute or two. The optimizing compiler and the collector threads of a server take
# more processor time than they save there. `java` reads this variable; `javac` does not.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.sql.session.timeZone", "Asia/Kolkata")  # so that a mistaken time zone shows
    )
    session = configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # the errors that tests provoke are theirs to look at
    yield session
    session.stop()


@pytest.fixture
def way(request: pytest.FixtureRequest) -> dict[str, str]:
    """Options that answer small queries in one of the two ways, chosen by the test's name."""
    name = sorted(WAYS)[zlib.crc32(request.node.name.encode()) % len(WAYS)]
    print(f"small queries are answered {name}")  # pytest shows it where the test fails
    return {"spark.indextables.read.answerOnDriver.maxRows": WAYS[name]}


@pytest.fixture(scope="session", autouse=True)
def connect_directory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Return the directory of the reports of Spark Connect.

    One process runs the cases of all modules that ask for such a report, one module after the other, while other tests
    run. The first pytest worker that comes here starts it. A worker may end before the others have their reports, so
    it waits for the process that it has started, unless the run is being stopped.
    """
    own = tmp_path_factory.getbasetemp()
    directory = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "connect"
    directory.mkdir(exist_ok=True)
    modules = _modules_on_connect(request.session)
    process = None
    with (directory / "start.lock").open("w") as start:
        fcntl.flock(start, fcntl.LOCK_EX)
        if modules and not (directory / "output.txt").exists():
            process = _start_on_connect(directory, modules)
    yield directory
    if process is not None:
        if request.session.shouldstop or request.session.shouldfail:
            process.terminate()
        process.wait(REPORT_SECONDS)


@pytest.fixture(scope="module")
def connect_report(request: pytest.FixtureRequest, connect_directory: Path) -> Report:
    """Return the outcome of the module's cases on Spark Connect."""
    report = connect_directory / f"{request.path.stem}.json"
    for _ in range(REPORT_SECONDS * 10):
        has_ended = _has_ended(connect_directory)  # asked first: the process may write the report and end
        if report.exists():
            found: Report = json.loads(report.read_text())
            return found
        if has_ended:
            break
        time.sleep(0.1)
    pytest.fail(f"no report from Spark Connect:\n{(connect_directory / 'output.txt').read_text()[-6000:]}")


@pytest.fixture(scope="session")
def plain_report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the outcome of cases in a session without the jar, where Spark uses the Python data source alone."""
    return _report_of("run_without_jar.py", tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="session")
def original_report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the outcome of cases in a session that is set up as IndexTables for Scala has it."""
    return _report_of("run_as_original.py", tmp_path_factory.mktemp("original"))


@pytest.fixture(scope="session")
def cluster_report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the outcome of cases on two executors that are processes of their own."""
    return _report_of("run_on_local_cluster.py", tmp_path_factory.mktemp("cluster"), "CASES")


@pytest.fixture(scope="session")
def long_cluster_report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the outcome of the cases on two executors that take minutes."""
    directory = tmp_path_factory.mktemp("long-cluster")
    return _report_of("run_on_local_cluster.py", directory, "SOAK_CASES", seconds=7000)


def _report_of(script: str, directory: Path, *arguments: str, seconds: int = REPORT_SECONDS) -> Report:
    run = subprocess.run(
        [sys.executable, str(HERE / script), str(directory), *arguments],
        env=_environment() | {"PYSPARK_PYTHON": sys.executable},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    report = directory / "report.json"
    assert report.exists(), (
        f"no report, exit code {run.returncode}:\n{run.stdout[-3000:]}\n{run.stderr[-3000:]}"
    )
    found: Report = json.loads(report.read_text())
    return found


def _modules_on_connect(session: pytest.Session) -> list[str]:
    asking = (item for item in session.items if "connect_report" in getattr(item, "fixturenames", ()))
    return list(dict.fromkeys(item.path.name for item in asking))


def _start_on_connect(directory: Path, modules: list[str]) -> subprocess.Popen[bytes]:
    """Start the process. It inherits a lock that no other process can take before it has ended."""
    with (directory / "running.lock").open("w") as running, (directory / "output.txt").open("wb") as output:
        fcntl.flock(running, fcntl.LOCK_EX)
        return subprocess.Popen(
            [sys.executable, str(HERE / "run_on_connect.py"), str(directory), *modules],
            env=_environment() | {"SPARK_TESTING": "true"},  # then its server takes a free port
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(running.fileno(),),
        )


def _has_ended(directory: Path) -> bool:
    with (directory / "running.lock").open("r") as running:
        try:
            fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK_", "SPARK_"))}
