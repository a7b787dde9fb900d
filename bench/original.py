"""Beside IndexTables for Spark, the original: the same rows and operations, in an environment of its own.

Its jar comes from Maven Central, or from where `ORIGINAL_JAR` says; its PySpark from PyPI. What cannot be had is said,
and the part is left out. Both sides run `original_driver.py`; seconds are those of a Spark job on two cores.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure import Comparison, Timing
from indextables.demo import BROAD_WORD, RARE_WORD, log_table

ARTIFACT: Final = "io.indextables:indextables_spark:0.5.5_spark_3.5.3:jar:linux-x86_64-shaded"
PYSPARK: Final = "pyspark==3.5.3"
JAVA: Final = 17
"""The newest Java that Spark 3.5 runs on."""
ROWS: Final = 200_000

Say = Callable[[str], None]
Found = dict[str, dict[str, Any]]

REASONS: Final = {
    "write": "it indexes in Rust inside the JVM; ours passes rows to Python workers, and keeps them as Parquet as well",
    "bytes on disk": "ours keeps the rows as Parquet beside the index",
    "count, cold": "the first query of a session starts Python workers",
    "count, warm": "a query is planned in Python, by a request from the JVM",
    "search of few rows": "a query is planned in Python, and its rows come from a Python worker",
    "search of many rows": "rows come from Python workers to the JVM as Arrow",
    "GROUP BY after a search": "groups are made by Python workers; the original asks the index's own columns",
    "merge": "a merge is planned and committed by Python, and done by a Spark job of Python workers",
}


class MissingError(Exception):
    """Something that the part needs cannot be had here; the message says what."""


@dataclass(frozen=True)
class Environment:
    """How to run the driver for one side."""

    python: Path
    variables: Mapping[str, str]
    jar: str = ""


def measure(home: Path, say: Say, *, rows: int = ROWS, repeat: int = 3) -> list[Comparison]:
    """Return a comparison for each operation that both sides did; none if the original cannot be had."""
    home.mkdir(parents=True, exist_ok=True)
    try:
        original = original_environment(home, say)
    except MissingError as reason:
        say(f"the original is left out: {reason}")
        return []
    ours = Environment(Path(sys.executable), {})
    return compare(home, say, {"ours": ours, "original": original}, rows=rows, repeat=repeat)


def compare(
    home: Path, say: Say, sides: Mapping[str, Environment], *, rows: int, repeat: int
) -> list[Comparison]:
    """Run the driver in both environments, on the same rows, and compare what it found."""
    say(f"{rows:,} rows as Parquet for both")
    pq.write_table(rows_of_both(rows), home / "rows.parquet")
    found = {}
    for side, environment in sides.items():
        say(f"the operations of {side}")
        found[side] = run_driver(side, environment, home, repeat)
    return comparisons(found["ours"], found["original"], say)


def rows_of_both(count: int) -> pa.Table:
    """Return log rows in types that both index: the original refuses integers of 8 and 16 bits."""
    rows = log_table(count)
    small = (pa.int8(), pa.int16())
    fields = [field.with_type(pa.int32()) if field.type in small else field for field in rows.schema]
    return rows.cast(pa.schema(fields))


def run_driver(side: str, environment: Environment, home: Path, repeat: int) -> Found:
    """Run every operation of one side in a process of its own; return what it measured and answered."""
    work = home / side
    work.mkdir()
    asked = {
        "side": side,
        "jar": environment.jar,
        "rows": str(home / "rows.parquet"),
        "home": str(work),
        "repeat": repeat,
        "words": {"few": RARE_WORD, "many": BROAD_WORD},
    }
    driver = str(Path(__file__).with_name("original_driver.py"))
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))
    }
    variables |= {"PYSPARK_PYTHON": str(environment.python), "XDG_CACHE_HOME": str(work / "cache")}
    done = subprocess.run(
        [str(environment.python), driver, json.dumps(asked)],
        env=variables | dict(environment.variables),
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    (work / "log").write_text(done.stderr)
    if done.returncode:
        raise RuntimeError(f"the driver of {side} failed: {done.stderr[-2000:]}")
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def comparisons(ours: Found, original: Found, say: Say) -> list[Comparison]:
    """Compare operation by operation. What only one side could do is said, and whether the answers are the same."""
    found = []
    for name, mine in ours.items():
        its = original.get(name, {"error": "it was not asked"})
        errors = [
            f"{side}: {one['error']}"
            for side, one in (("ours", mine), ("the original", its))
            if "error" in one
        ]
        if errors:
            say(f"{name} is not compared. {'; '.join(errors)}")
            continue
        if name == "search of many rows, default settings":
            counts = f"{mine['rows']:,} rows, in the original {its['rows']:,}"
            say(f"with default settings, a search without LIMIT returns {counts}")
            continue
        unit = "bytes" if "bytes" in mine else "seconds"
        timings = [
            Timing((float(one["bytes"]),) if unit == "bytes" else tuple(one["seconds"]))
            for one in (mine, its)
        ]
        found.append(
            Comparison(
                name,
                timings[0],
                "IndexTables for Spark",
                timings[1],
                _agreement(mine, its),
                at_least=1.0,
                by_best=True,  # the sides run one after the other, under what else the machine does
                reason=REASONS.get(name, ""),
                unit=unit,
            )
        )
    return found


def _agreement(mine: dict[str, Any], its: dict[str, Any]) -> str:
    if "rows" not in mine:
        return ""
    if (mine["rows"], mine.get("hash")) == (its["rows"], its.get("hash")):
        return f"both answer the same {mine['rows']:,} rows"
    values = [str(one.get("hash", ""))[:60] for one in (mine, its)]
    return (
        f"ANSWERS DIFFER: {mine['rows']:,} rows, in the original {its['rows']:,} ({values[0]}, {values[1]})"
    )


def original_environment(home: Path, say: Say) -> Environment:
    """Return where the original can run: its jar, an environment with its PySpark, and a Java that this runs on."""
    jar = original_jar(home, say)
    java = java_home()
    place = home.parent.parent / ".venv" / "original"
    python = place / "bin" / "python"
    if not list(place.glob(f"lib/*/site-packages/{PYSPARK.replace('==', '-')}.dist-info")):
        say(f"installing {PYSPARK} into an environment of its own")
        _install(python)
    return Environment(python, {"JAVA_HOME": str(java)}, str(jar))


def original_jar(home: Path, say: Say) -> Path:
    """Return the jar that `ORIGINAL_JAR` names, or fetch it from Maven Central."""
    given = os.environ.get("ORIGINAL_JAR")
    if given:
        if not Path(given).is_file():
            raise MissingError(f"ORIGINAL_JAR is {given}, and there is no such file")
        return Path(given).resolve()
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingError("mvn is not installed, and ORIGINAL_JAR names no jar")
    say(f"fetching {ARTIFACT}")
    command = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={home}"]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    jars = list(home.glob("*.jar"))
    if done.returncode or not jars:
        lines = [line for line in done.stdout.splitlines() if "ERROR" in line]
        said = lines[0] if lines else done.stderr[-300:]
        raise MissingError(f"Maven has no {ARTIFACT}: {said.strip()[:300]}. ORIGINAL_JAR can name a jar")
    return jars[0]


def java_home() -> Path:
    """Return a Java that Spark 3.5 runs on: the one in use, or another that the system has."""
    homes = [Path(os.environ["JAVA_HOME"])] if "JAVA_HOME" in os.environ else []
    homes += sorted(Path("/usr/lib/jvm").glob(f"*{JAVA}*"))
    for home in homes:
        release = home / "release"
        if release.is_file() and f'JAVA_VERSION="{JAVA}' in release.read_text():
            return home
    raise MissingError(f"there is no Java {JAVA}, and PySpark 3.5 does not run on a newer one")


def _install(python: Path) -> None:
    for command in (
        [sys.executable, "-m", "venv", str(python.parents[1])],
        [str(python), "-m", "pip", "install", "-q", PYSPARK, "setuptools<80"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(python.parents[1], ignore_errors=True)
            raise MissingError(f"{PYSPARK} cannot be installed: {(done.stderr or done.stdout)[-300:]}")
