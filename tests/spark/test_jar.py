"""Where the jar comes from: the package, or a private cache into which it is compiled once."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from indextables.errors import ConfigError
from indextables.spark import jar

COMPILER = """#!{python}
import pathlib, sys
with open({calls!r}, "a") as calls:
    calls.write("x")
classes = pathlib.Path(sys.argv[sys.argv.index("-d") + 1])
classes.mkdir()
(classes / "A.class").write_bytes(b"code")
"""


@pytest.fixture
def calls(tmp_path, monkeypatch) -> Path:
    """A machine with a quick compiler, which notes each call, a cache of its own, and no jar in the package."""
    calls = tmp_path / "calls"
    calls.touch()
    compiler = tmp_path / "jdk" / "bin" / "javac"
    compiler.parent.mkdir(parents=True)
    compiler.write_text(COMPILER.format(python=sys.executable, calls=str(calls)))
    compiler.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr(jar, "BUNDLED", tmp_path / "none.jar")
    return calls


def test_the_jar_of_the_package_is_taken_if_its_sources_are_those_that_are_there(
    calls, tmp_path, monkeypatch
):
    built = jar.find_jar()
    monkeypatch.setattr(jar, "BUNDLED", built)
    assert jar.find_jar() == built
    monkeypatch.setattr(jar, "source_hash", lambda: "of other sources")
    assert jar.find_jar() != built
    assert calls.read_text() == "xx"


def test_it_is_compiled_once(calls, tmp_path):
    first = jar.find_jar()
    assert first.parent == tmp_path / "cache" / "indextables"
    assert first.parent.stat().st_mode & 0o777 == 0o700
    assert jar.find_jar() == first
    assert calls.read_text() == "x"
    assert [path.name for path in first.parent.iterdir()] == [first.name]


def test_a_damaged_one_is_compiled_again(calls):
    first = jar.find_jar()
    good = first.read_bytes()
    first.write_bytes(good[:50])
    assert jar.find_jar().read_bytes() == good


def test_many_at_once_leave_one_whole_jar(calls):
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: jar.find_jar(), range(4)))
    (path,) = found
    assert jar.hash_in(path) == jar.source_hash()
    assert list(path.parent.iterdir()) == [path]


def test_another_spark_gets_another_jar(calls, tmp_path, monkeypatch):
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "jars" / "spark-sql_2.13-4.0.9.jar").touch()
    first = jar.find_jar()
    monkeypatch.setenv("SPARK_HOME", str(home))
    assert jar.find_jar().name.endswith("-2.13-4.0.9.jar")
    assert jar.find_jar() != first


def test_what_others_can_write_is_not_run(calls, tmp_path):
    first = jar.find_jar()
    first.chmod(0o666)
    with pytest.raises(ConfigError, match="can be written by others"):
        jar.find_jar()
    first.chmod(0o644)
    first.parent.chmod(0o777)
    with pytest.raises(ConfigError, match="can be written by others"):
        jar.find_jar()
    first.parent.rename(tmp_path / "moved")
    (tmp_path / "moved").chmod(0o700)
    first.parent.symlink_to(tmp_path / "moved")
    with pytest.raises(ConfigError, match="can be written by others"):
        jar.find_jar()


def test_a_home_that_cannot_be_written_says_what_to_set(calls, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="set XDG_CACHE_HOME"):
        jar.find_jar()


def test_a_runtime_without_a_compiler_is_not_enough(calls, tmp_path, monkeypatch):
    (tmp_path / "jdk" / "bin" / "javac").rename(tmp_path / "jdk" / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "jdk" / "bin"))
    with pytest.raises(
        ConfigError, match="only a Java runtime without a compiler .* install a Java development kit"
    ):
        jar.find_jar()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match="no Java was found"):
        jar.find_jar()


def test_what_the_compiler_says_is_in_the_error(calls, tmp_path):
    compiler = tmp_path / "jdk" / "bin" / "javac"
    compiler.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('error: invalid flag: --release')\n")
    with pytest.raises(ConfigError, match="version 17 or newer(.|\n)*invalid flag: --release"):
        jar.find_jar()
    assert list((tmp_path / "cache" / "indextables").iterdir()) == []


def test_without_spark_there_is_nothing_to_compile_against(calls, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r'pip install "CLONE\[spark\]"'):
        jar.find_jar()
