"""A secret setting is in no event log, plan, error, log line or table; a session's unknown key is a warning, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All that a session has written, by file."""
    directory = tmp_path_factory.mktemp("secrets")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    run = subprocess.run(
        [sys.executable, str(HERE / "run_with_event_log.py"), str(directory)],
        env=inherited,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-5000:]
    files = {str(p.relative_to(directory)): p for p in directory.rglob("*") if p.is_file()}
    texts = {name: path.read_bytes().decode("latin-1") for name, path in files.items()}
    return texts | {"stdout": run.stdout, "stderr": run.stderr}


def test_a_secret_is_shown_nowhere(said):
    (events,) = (text for name, text in said.items() if name.startswith("events/"))
    assert "SparkListenerSQLExecutionStart" in events
    assert "SparkListenerEnvironmentUpdate" in events
    assert "*********(redacted)" in events
    shown = {name: _around(text, "canary") for name, text in said.items() if "canary" in text}
    assert shown == {}


def test_every_failure_was_one(said):
    assert "no error but" not in said["said.txt"]
    assert "too few secrets" not in said["said.txt"]
    assert "Spark redacts by default" not in said["said.txt"]


def test_an_unknown_key_of_the_session_is_a_warning_once(said):
    assert said["stderr"].count("unknown setting 'spark.indextables.unheard.of' in the session") == 1
    assert "unknown setting 'spark.indextables.no.such.option'" in said["said.txt"]


def _around(text: str, word: str) -> list[str]:
    places = [i for i in range(len(text)) if text.startswith(word, i)][:5]
    return [text[max(0, i - 300) : i + 60] for i in places]
