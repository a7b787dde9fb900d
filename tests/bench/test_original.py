"""The part of the bench next to the original, with a program in the place of its driver."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from bench.original import Environment, MissingError

from bench import original

ANSWERS = {
    "write": {"seconds": [2.0, 3.0]},
    "bytes on disk": {"bytes": 1000},
    "count, warm": {"seconds": [0.5], "rows": 1, "hash": "7"},
    "search of many rows": {"seconds": [1.0], "rows": 900, "hash": "12"},
    "search of many rows, default settings": {"seconds": [1.0], "rows": 900, "hash": "12"},
    "merge": {"seconds": [1.0], "rows": 5},
}


def stub(tmp_path: Path, name: str, answers: dict[str, object]) -> Environment:
    """Return an environment whose Python prints these answers, and keeps what it was asked."""
    python = tmp_path / name
    asked = tmp_path / f"{name}.asked"
    python.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        f"open({str(asked)!r}, 'w').write(sys.argv[2] + '\\n' + os.environ['JAVA_HOME'])\n"
        f"print('a line of a log')\nprint({json.dumps(answers)!r})\n"
    )
    python.chmod(0o755)
    return Environment(python, {"JAVA_HOME": "/the/java"}, "/the/original.jar")


def test_both_sides_get_the_same_rows_and_their_answers_are_compared(tmp_path: Path):
    said: list[str] = []
    its = ANSWERS | {
        "search of many rows": {"seconds": [3.0], "rows": 899, "hash": "11"},
        "search of many rows, default settings": {"seconds": [1.0], "rows": 250, "hash": "3"},
        "merge": {"error": "ParseException: no such statement"},
    }
    sides = {"ours": stub(tmp_path, "a", ANSWERS), "original": stub(tmp_path, "b", its)}
    found = {c.name: c for c in original.compare(tmp_path, said.append, sides, rows=50, repeat=2)}
    assert list(found) == ["write", "bytes on disk", "count, warm", "search of many rows"]
    assert found["count, warm"].note == "both answer the same 1 rows"
    assert found["search of many rows"].note == "ANSWERS DIFFER: 900 rows, in the original 899 (12, 11)"
    assert found["search of many rows"].ratio == 3
    assert (found["bytes on disk"].unit, found["bytes on disk"].met) == ("bytes", True)
    assert all(comparison.reason for comparison in found.values())
    assert any("returns 900 rows, in the original 250" in line for line in said)
    assert any("merge is not compared" in line and "ParseException" in line for line in said)
    asked = [(tmp_path / name).read_text().splitlines() for name in ("a.asked", "b.asked")]
    requests = [json.loads(lines[0]) for lines in asked]
    assert [(one["side"], one["repeat"]) for one in requests] == [("ours", 2), ("original", 2)]
    assert requests[0]["rows"] == requests[1]["rows"]
    assert requests[1]["jar"] == "/the/original.jar"


def test_what_cannot_be_had_is_said_and_the_part_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ORIGINAL_JAR", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    assert original.measure(tmp_path / "home", said.append) == []
    assert said == ["the original is left out: mvn is not installed, and ORIGINAL_JAR names no jar"]


def test_maven_without_the_artifact_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    maven = tmp_path / "mvn"
    maven.write_text("#!/bin/sh\necho '[ERROR] Could not find artifact in central'\nexit 1\n")
    maven.chmod(0o755)
    monkeypatch.delenv("ORIGINAL_JAR", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        MissingError, match="Maven has no io.indextables:.*Could not find artifact in central"
    ):
        original.original_jar(tmp_path, print)


def test_a_jar_that_is_named_is_used_and_one_that_is_not_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    jar = tmp_path / "original.jar"
    monkeypatch.setenv("ORIGINAL_JAR", str(jar))
    with pytest.raises(MissingError, match="there is no such file"):
        original.original_jar(tmp_path, print)
    jar.touch()
    assert original.original_jar(tmp_path, print) == jar
