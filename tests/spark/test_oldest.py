"""The Spark releases that the package declares: one range everywhere, whose oldest release runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pyspark
import pytest

import indextables
from indextables.errors import ConfigError
from indextables.spark import _configure

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OLDEST = ".".join(map(str, _configure.OLDEST))
SUBJECTS = (
    "operators",
    "pages",
    "cache",
    "score",
    "messages",
    "driver_answers",
    "task_figures",
    "statements",
    "merges",
    "upkeep",
    "optimized_writes",
    "drop_in",
    "row_changes",
    "stream_sink",
    "stream_source",
    "commands",
    "command_sql",
    "delete",
    "replacing",
    "catalog",
    "aggregates",
    "alter_table",
    "on_connect",
)
"""The files of tests that run on the oldest release too: all that depends on how Spark plans a search or a write."""


def test_the_declared_range_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (declared,) = (need for need in project["optional-dependencies"]["spark"] if need.startswith("pyspark"))
    found = re.fullmatch(r"pyspark>=([\d.]+),<(\d+)\.(\d+)", declared)
    assert found is not None
    newest = f"{found[2]}.{int(found[3]) - 1}"
    assert found[1] == OLDEST
    assert f"Spark {OLDEST} to {newest}" in (ROOT / "docs" / "spark.md").read_text()
    assert pyspark.__version__.startswith(newest), "the suite runs on the newest release that is declared"


def test_an_older_spark_is_refused(monkeypatch):
    monkeypatch.setattr(pyspark, "__version__", "4.0.5")
    with pytest.raises(ConfigError, match=f"needs Spark {OLDEST} or newer, but pyspark is 4.0.5"):
        _configure._check_spark(pyspark)


@pytest.mark.soak
@pytest.mark.timeout(5 * 3600)
def test_the_oldest_release_runs(tmp_path):
    """With the jar that was compiled against the newest one. Spark and its tests leave nothing behind."""
    packages = tmp_path / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(packages)]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    path = os.pathsep.join([str(packages), str(Path(indextables.__file__).parents[1])])
    env = inherited | {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
    is_oldest = f"import pyspark; assert pyspark.__version__ == '{OLDEST}.0', pyspark.__version__"
    try:
        subprocess.run([*pip, f"pyspark=={OLDEST}.0"], check=True, timeout=900)
        subprocess.run([sys.executable, "-c", is_oldest], env=env, check=True, timeout=60)
        run = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"),
                # older releases of Spark leave sockets to the garbage collector
                *("-W", "ignore::ResourceWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning"),
                f"--basetemp={tmp_path / 'tests'}",
                *(str(HERE / f"test_{subject}.py") for subject in SUBJECTS),
            ],
            env=env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=16000,
            check=False,
        )
    finally:
        shutil.rmtree(packages, ignore_errors=True)  # hundreds of megabytes
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
