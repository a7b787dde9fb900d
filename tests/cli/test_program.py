"""The program around the commands: help, exit codes, pipes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from indextables import errors
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


def test_help_imports_few_modules():
    """What `--help` costs is what it imports: the bound stands for 100 ms of processor time, and needs no clock."""
    code = (
        "import sys; before = set(sys.modules); from indextables.cli import main; main(['search', '--help']);"
        "new = set(sys.modules) - before;"
        "print(len(new), *sorted(name for name in new if name.startswith('indextables')), file=sys.stderr)"
    )
    done = run("-c", code)
    count, *ours = done.stderr.split()
    assert int(count) < 100
    assert set(ours) == {
        "indextables",
        "indextables.errors",
        *(
            f"indextables.cli{name}"
            for name in ("", ".advice", ".asking", ".cells", ".exit_codes", ".layout")
        ),
        *(f"indextables.cli.{name}" for name in ("output", "parser", "program", "text")),
    }


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


EXIT_CODES = {
    errors.IndexTablesError: 70,
    errors.TableError: 70,
    errors.TableNotFoundError: 3,
    errors.TableExistsError: 2,
    errors.VersionNotFoundError: 3,
    errors.CorruptTableError: 5,
    errors.ProtocolError: 5,
    errors.UnreadableSplitError: 5,
    errors.CommitError: 70,
    errors.CommitConflictError: 4,
    errors.CommitUnknownError: 7,
    errors.InputError: 2,
    errors.SchemaError: 2,
    errors.PredicateError: 2,
    errors.QueryError: 2,
    errors.CommandError: 2,
    errors.ConfigError: 2,
    errors.ForkedProcessError: 70,
    errors.StorageError: 6,
    errors.ObjectNotFoundError: 6,
    errors.ObjectExistsError: 6,
    errors.StorageDeniedError: 6,
    errors.StorageFullError: 6,
    errors.IrregularFileError: 5,
    errors.UnsafeStoreError: 6,
}


def test_every_error_has_an_exit_code():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert set(kinds) == set(EXIT_CODES)


@pytest.mark.parametrize("kind", EXIT_CODES, ids=lambda kind: kind.__name__)
def test_the_exit_code_is_by_the_kind_of_error(cli, logs, monkeypatch, kind):
    def fail(*arguments: object, **options: object) -> None:
        raise kind("it failed", **({"path": "a.split"} if kind is errors.UnreadableSplitError else {}))

    monkeypatch.setattr("indextables.cli.reading.open_at", fail)
    code, out, err = cli("count", logs)
    assert (code, out) == (EXIT_CODES[kind], "")
    assert "it failed" in err


def test_usage(cli):
    assert cli()[0] == 0
    assert cli("frobnicate")[0] == 2
    assert cli("--version")[1].startswith("indextables ")
    assert cli("count", "x", "--format", "xml")[0] == 2


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=120)


def test_an_output_that_cannot_be_written_is_said(logs):
    program = f"{sys.executable} -m indextables"
    full = shell(f"{program} head {logs} > /dev/full")
    assert (full.returncode, full.stderr) == (
        6,
        "indextables: the output cannot be written: No space left on device\n",
    )
    closed = shell(f"{program} head {logs} >&-")
    assert (closed.returncode, "stdout is closed" in closed.stderr) == (2, True)
    empty = shell(f"{program} import {logs} - --from csv <&-")
    assert (empty.returncode, "stdin is closed" in empty.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["head", "t", "-n", "abc"], "'abc' is not a whole number"),
        (["head", "t", "-v", "abc"], "'abc' is not a whole number"),
        (["tail", "t", "--interval", "soon"], "'soon' is not a number of seconds"),
        (["ui", "t", "--port", "http"], "'http' is not a whole number"),
        (["ui", "t", "--port", "70000"], "from 0 to 65535"),
        (["demo", "t", "--rows", "0"], "not above zero"),
        (["import", "t", "f", "--commit-every", "x"], "'x' is not a whole number"),
    ],
)
def test_a_wrong_number_is_said_without_names_of_functions(cli, arguments, message):
    code, out, err = cli(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "_" not in err.splitlines()[-1].replace("commit_every", "")
