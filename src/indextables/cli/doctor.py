"""`doctor`: this machine and, with a path, a table; each finding with the command that helps."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Final

from indextables.cli.advice import advice
from indextables.cli.exit_codes import DAMAGED, DONE, exit_code
from indextables.cli.opening import to_settings
from indextables.cli.output import Output, PeopleOutput
from indextables.config import Settings
from indextables.errors import CorruptTableError, IndexTablesError, StorageError, TableNotFoundError
from indextables.log import LOG_DIRECTORY
from indextables.maintenance import Finding, check_health
from indextables.storage import is_on_this_machine, open_store, table_uri
from indextables.table import open_table

_OLDEST_JAVA: Final = 17
_SECONDS: Final = 30
_EXTRAS: Final = {"rich": "cli", "starlette": "ui", "pyspark": "spark"}


def doctor(args: Namespace, output: Output) -> int:
    """Print the findings; exit code 5 if one is an error, and that of the error if the table cannot be opened."""
    code = DONE
    findings = list(_machine())
    if args.path is not None:
        settings = to_settings(args)
        try:
            findings += _table(args.path, settings, deep=args.deep)
        except TableNotFoundError:
            raise
        except IndexTablesError as reason:
            code = exit_code(reason)
            findings.append(_unopened(args.path, reason))
    elif args.deep:
        findings.append(Finding("table", "warning", "--deep reads the splits of a table, and none is named"))
    rows = [
        {
            "check": finding.check,
            "severity": finding.severity,
            "message": finding.message,
            "number": finding.number,
            "command": _command(finding, args.path),
        }
        for finding in findings
    ]
    if isinstance(output, PeopleOutput):
        for row in rows:  # in lines, so that no command is cut
            command = f"\n{'':9}-> {row['command']}" if row["command"] else ""
            output.record(row, f"{row['severity']:8} {row['check']}: {row['message']}{command}")
    else:
        output.rows(["severity", "check", "message", "number", "command"], rows)
    return code if code or all(row["severity"] != "error" for row in rows) else DAMAGED


def _table(path: str, settings: Settings, *, deep: bool) -> Iterator[Finding]:
    uri = table_uri(path)
    store = open_store(uri, settings)
    where = "this disk" if is_on_this_machine(uri) else "the store"
    next(iter(store.list_from("")), None)
    yield Finding("access", "ok", f"{where} can be listed")
    table = open_table(path, settings=settings)
    yield from check_health(store, table.snapshot, settings, deep=deep)


def _unopened(path: str, reason: IndexTablesError) -> Finding:
    if isinstance(reason, StorageError) and not isinstance(reason, CorruptTableError):
        hint = advice(reason) or [
            "Credentials come from the environment, or from --set aws.accessKey=... and its siblings"
        ]
        return Finding("access", "error", ". ".join([str(reason), *hint]), command="settings aws")
    return Finding("table", "error", str(reason), command=f"repair {{log}} --to {quote(path)}-repaired")


def _machine() -> Iterator[Finding]:
    number = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "ok", f"Python {number}, indextables {_installed('indextables')}")
    yield _java()
    yield _spark()
    yield _jar()
    missing = sorted(extra for package, extra in _EXTRAS.items() if find_spec(package) is None)
    names = ", ".join(missing)
    message = f"not installed: {names} (CLONE: your clone)" if missing else "all optional parts are installed"
    yield Finding("extras", "ok", message, len(missing), f'!pip install "CLONE[{names}]"' if missing else "")


def _java() -> Finding:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home} and has no bin/java" if home else "there is no java on the PATH"
        return Finding(
            "java", "warning", f"{where}; only Spark needs it", command="!apt-get install openjdk-17-jdk"
        )
    try:
        command = [java, "-version"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603 - the user's Java
    except (OSError, subprocess.TimeoutExpired) as reason:
        return Finding("java", "error", f"{java} does not run: {reason}")
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    number = int(found[1]) if found else 0
    if number < _OLDEST_JAVA:
        message = f"{java} is version {number or 'unknown'}; Spark 4 needs {_OLDEST_JAVA} or newer"
        return Finding("java", "warning", message, number, "!apt-get install openjdk-17-jdk")
    return Finding("java", "ok", f"Java {number} at {java}", number)


def _spark() -> Finding:
    found = _installed("pyspark")
    if found is None:
        message = "pyspark is not installed; tables can be read and written without it (CLONE: your clone)"
        return Finding("spark", "ok", message, command='!pip install "CLONE[spark]"')
    return Finding("spark", "ok", f"pyspark {found}")


def _jar() -> Finding:
    if find_spec("pyspark") is None:
        return Finding("jar", "ok", "not needed without pyspark")
    from indextables.spark import jar_path  # noqa: PLC0415 - only where Spark is installed

    try:
        return Finding("jar", "ok", str(jar_path()))
    except IndexTablesError as reason:
        return Finding("jar", "error", str(reason))


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _command(finding: Finding, path: str | None) -> str:
    """Return what to type: a command of another program begins with `!` in a finding."""
    if finding.command.startswith("!"):
        return finding.command[1:]
    if not finding.command:
        return ""
    table = quote(path or "TABLE")
    log = quote(f"{(path or 'TABLE').rstrip('/')}/{LOG_DIRECTORY}")
    return f"indextables {finding.command.replace('{table}', table).replace('{log}', log)}"
