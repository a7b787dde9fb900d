"""The commands of the tutorial run as they are written, in an empty directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
COMMAND = re.compile(r"^\$ (.+)$", re.MULTILINE)


@pytest.mark.slow
def test_the_commands_of_the_tutorial_run(tmp_path):
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    commands = [command for block in blocks for command in COMMAND.findall(block)]
    assert len(commands) >= 20
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    outputs = {}
    for command in commands:
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        outputs.setdefault(command, []).append(done.stdout)
    assert outputs["indextables count logs"] == ['{"count": 20500}\n', '{"count": 20000}\n']
    assert outputs["indextables count logs --version 0"] == ['{"count": 20000}\n']
