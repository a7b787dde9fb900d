"""The wheel carries what pip users need: the jar, the typing marker; and is not built without the jar."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
JVM = Path("src/indextables/spark/jvm")


@pytest.fixture
def checkout(tmp_path):
    """A copy to build in: setuptools leaves files beside what it builds."""
    copy = tmp_path / "checkout"
    copy.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(
        ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.jar", "*.egg-info", "__pycache__")
    )
    (copy / JVM).mkdir(exist_ok=True)
    return copy


def build(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", "."]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


def test_a_wheel_carries_the_jar_and_the_typing_marker(checkout):
    jars = list((ROOT / JVM).glob("*.jar"))
    assert jars, "run `make setup`"
    shutil.copy(jars[0], checkout / JVM)
    built = build(checkout)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (checkout / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert f"indextables/spark/jvm/{jars[0].name}" in names
    assert "indextables/py.typed" in names
    assert "pyspark_indextables/__init__.py" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "bench", "examples"))]


def test_without_the_jar_no_wheel_is_built_and_the_reason_is_said(checkout):
    built = build(checkout)
    assert built.returncode != 0
    assert "run `make jar` first" in built.stdout + built.stderr
    assert not list(checkout.glob("dist/*.whl"))


def test_constraints_hold_names_and_versions_only():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    for line in lines:
        name, _, version = line.partition("==")
        assert name
        assert version
        assert not set(line) & set(" @/;[]")
