"""The Spark releases that the package declares: one range everywhere, whose oldest release runs."""

from __future__ import annotations

import os
import re
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
    monkeypatch.setattr(pyspark, "__version__", "3.5.7")
    with pytest.raises(ConfigError, match=f"needs Spark {OLDEST} or newer, and pyspark is 3.5.7"):
        _configure._check_spark(pyspark)


@pytest.mark.soak
def test_the_oldest_release_runs(tmp_path):
    """With the jar that was compiled against the newest one."""
    packages = tmp_path / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages)]
    subprocess.run([*pip, f"pyspark=={OLDEST}.*"], check=True, timeout=900)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    source = str(Path(indextables.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, str(HERE / "run_on_oldest.py"), str(tmp_path), OLDEST],
        env=inherited | {"PYTHONPATH": f"{packages}{os.pathsep}{source}", "PYSPARK_PYTHON": sys.executable},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.stdout.endswith("passed\n"), run.stdout[-2000:] + run.stderr[-4000:]
