"""Set-up finds a Java development kit that Spark can use, or says in one sentence what to install."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "setup_java.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("setup_java", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kit(home: Path, version: str, programs: tuple[str, ...] = ("java", "javac")) -> Path:
    (home / "bin").mkdir(parents=True)
    for program in programs:
        path = home / "bin" / program
        path.write_text(f"#!/bin/sh\necho '{program} {version}'\n")
        path.chmod(0o755)
    return home


def test_java_home_comes_first(tool, tmp_path):
    chosen, other = kit(tmp_path / "a", "21.0.1"), kit(tmp_path / "b", "17.0.1")
    assert tool.find_kit({"JAVA_HOME": str(chosen), "PATH": str(other / "bin")}, ()) == chosen


def test_a_java_home_that_is_too_old_is_passed_over(tool, tmp_path):
    old, good = kit(tmp_path / "a", "1.8.0_292"), kit(tmp_path / "b", "17.0.1")
    assert tool.find_kit({"JAVA_HOME": str(old), "PATH": str(good / "bin")}, ()) == good


def test_a_link_on_the_path_leads_to_the_kit(tool, tmp_path):
    home = kit(tmp_path / "kit", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "javac").symlink_to(home / "bin" / "javac")
    assert tool.find_kit({"PATH": str(tmp_path / "bin")}, ()) == home


def test_a_kit_that_the_system_keeps_off_the_path_is_found(tool, tmp_path):
    old = kit(tmp_path / "path", "11.0.2")
    kit(tmp_path / "jvm" / "java-11", "11.0.2")
    good = kit(tmp_path / "jvm" / "java-17", "17.0.1")
    assert tool.find_kit({"PATH": str(old / "bin")}, (tmp_path / "jvm",)) == good


def test_a_runtime_without_a_compiler_is_not_a_kit(tool, tmp_path):
    home = kit(tmp_path / "jre", "17.0.1", programs=("java",))
    assert tool.find_kit({"JAVA_HOME": str(home), "PATH": ""}, ()) is None


def test_apt_is_used_by_root_or_through_sudo(tool):
    def only_apt(name):
        return name if name == "apt-get" else None

    assert tool.install_commands(only_apt, root=True, sudo=False)[0] == ["apt-get", "update"]
    assert tool.install_commands(only_apt, root=False, sudo=True)[0] == ["sudo", "-n", "apt-get", "update"]
    assert tool.install_commands(only_apt, root=False, sudo=False) == []


def test_without_a_kit_and_without_the_right_to_install_it_ends_with_one_sentence(tmp_path):
    home = "import sys, runpy; sys.argv = ['setup_java', sys.argv[2]]; import os; os.geteuid = lambda: 1000\n"
    blind = "import pathlib; pathlib.Path.glob = lambda self, pattern: iter(())\n"
    run = f"{home}{blind}runpy.run_path({str(TOOL)!r}, run_name='__main__')"
    note = tmp_path / "java-home"
    environment = {"PATH": str(tmp_path), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    ended = subprocess.run(
        [sys.executable, "-c", run, "-", str(note)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "install one" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert not note.exists()
