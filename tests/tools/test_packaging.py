"""Python is all that an installation needs; a wheel carries the jar where it was built, and the sources everywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JVM = Path("src/indextables/spark/jvm")


@pytest.fixture
def checkout(tmp_path):
    """A copy of what git tracks, as a clone has it. setuptools leaves files next to what it builds."""
    copy = tmp_path / "checkout"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(
        ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.jar", "*.egg-info", "__pycache__", ".*")
    )
    return copy


def build(checkout: Path) -> list[str]:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", "."]
    built = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (checkout / "dist").glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_a_wheel_carries_the_jar_and_the_typing_marker(checkout):
    jars = list((ROOT / JVM).glob("*.jar"))
    assert jars, "run `make setup`"
    shutil.copy(jars[0], checkout / JVM)
    names = build(checkout)
    assert f"indextables/spark/jvm/{jars[0].name}" in names
    assert "indextables/py.typed" in names
    pages = {"index.html", "main.js", "style.css", "uplot.js", "uplot-LICENSE.txt"}
    assert pages <= {name.removeprefix("indextables/ui/static/") for name in names}
    assert "pyspark_indextables/__init__.py" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "bench", "examples"))]


USE_WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None  # as if it were not installed
import pyarrow as pa
import indextables as it
it.write("memory:clean", pa.table({"message": ["db timeout", "ok"]}), text=["message"])
print(it.open("memory:clean").count(query="message:timeout"), it.__file__)
"""
COMPILE = """
from indextables.spark import jar, jar_path
first = jar_path()
assert jar.hash_in(first) == jar.source_hash()
assert jar_path() == first
print(first)
"""


def test_a_clone_is_installed_by_python_alone_and_compiles_the_jar_where_spark_asks_for_it(
    checkout, tmp_path
):
    place, cache = tmp_path / "installed", tmp_path / "cache"
    no_java = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "PYTHONPATH")} | {
        "PATH": "/nowhere"
    }
    command = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index"]
    command += ["--disable-pip-version-check", "--target", str(place), str(checkout)]
    installed = subprocess.run(command, env=no_java, capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stdout + installed.stderr

    def run(code: str, environment: dict[str, str]) -> str:
        more = {"PYTHONPATH": str(place), "XDG_CACHE_HOME": str(cache)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment | more,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    count, where = run(USE_WITHOUT_SPARK, no_java).split()
    assert (count, Path(where).parent) == ("1", place / "indextables")
    assert Path(run(COMPILE, dict(os.environ)).strip()).parent == cache / "indextables"


def test_constraints_hold_names_and_versions_only():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    for line in lines:
        name, _, version = line.partition("==")
        assert name
        assert version
        assert not set(line) & set(" @/;[]")
