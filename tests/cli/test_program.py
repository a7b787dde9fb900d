"""The program around the commands: help, exit codes, pipes."""

from __future__ import annotations

import subprocess
import sys

from indextables.cli import program


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=120, **options
    )


def test_help_loads_neither_arrow_nor_tantivy():
    code = (
        "import sys; from indextables.cli import main; code = main(['--help']);"
        "print(code, sorted({'pyarrow', 'tantivy', 'numpy', 'rich', 'sqlglot'} & set(sys.modules)), file=sys.stderr)"
    )
    done = run("-c", code)
    assert done.stderr == "0 []\n"
    assert "search" in done.stdout


def test_python_m_runs_the_command(logs):
    done = run("-m", "indextables", "count", logs)
    assert (done.returncode, done.stdout, done.stderr) == (0, '{"count": 4}\n', "")


def test_a_reader_that_stops_early_is_no_error(logs):
    command = f"{sys.executable} -m indextables head {logs} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout in ("141\n", "0\n")  # 0 if everything fitted into the pipe before its reader ended
    assert done.stderr == ""


def test_a_closed_pipe_exits_141(cli, logs, monkeypatch):
    def broken(*arguments, **options):
        raise BrokenPipeError

    monkeypatch.setattr(program, "make_output", broken)
    monkeypatch.setattr(program, "_silence", lambda: None)
    assert cli("count", logs) == (141, "", "")


def test_an_unexpected_error_is_not_nothing_found(cli, logs, monkeypatch):
    monkeypatch.setattr(program, "make_output", lambda *a, **o: 1 / 0)
    code, _, err = cli("count", logs)
    assert code == 70
    assert "ZeroDivisionError" in err


def test_usage(cli):
    assert cli()[0] == 0
    assert cli("frobnicate")[0] == 2
    assert cli("--version")[1].startswith("indextables ")
    assert cli("count", "x", "--format", "xml")[0] == 2
