"""What a terminal shows: lines and tables that fit its width, whole times, marked hits. On a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from indextables.cli import main
from indextables.cli.cells import MARKS, PLAIN_MARKS, Cell, to_cell
from indextables.cli.layout import LogLayout
from indextables.cli.output import PeopleOutput
from indextables.cli.text import width

STYLE = re.compile(r"\x1b\[[0-9;]*m")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def on_terminal(columns: int, *arguments: str) -> str:
    """Return what the command prints to a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    command = [sys.executable, "-m", "indextables", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        printed = bytearray()
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # Linux says so when the other end is closed
                break
            if not part:
                break
            printed += part
    os.close(ours)
    assert process.returncode == 0, printed
    return printed.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> str:
    """A table of 14 columns."""
    path = str(tmp_path_factory.mktemp("terminal") / "logs")
    assert main(["demo", path, "--rows", "200"]) == 0
    return path


def test_a_search_is_one_marked_line_a_hit(demo):
    printed = on_terminal(100, "search", demo, "parcel", "-n", "5")
    plain = STYLE.sub("", printed).splitlines()
    hits = [line for line in plain if "parcel" in line]
    assert len(hits) == 5
    assert all(len(line) <= 100 for line in hits)
    assert all(TIME.match(line) and re.search(r"  (INFO|WARN|ERROR)", line) for line in hits)
    assert printed.count("\x1b[1mparcel\x1b[0m") >= 5
    assert "not shown" in plain[-2]


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize(
    "command", [["head"], ["head", "--format", "table"], ["tail", "-n", "3"], ["history"], ["files"], ["du"]]
)
def test_lines_and_tables_fit_and_times_are_whole(demo, command, columns, capfd):
    shape = os.terminal_size((columns, 40))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shutil.get_terminal_size", lambda: shape)
        patch.setattr("sys.stdout.isatty", lambda: True)
        assert main([command[0], demo, *command[1:]]) == 0
    printed = STYLE.sub("", capfd.readouterr().out)
    assert printed
    assert all(width(line) <= columns for line in printed.splitlines())
    for time in re.findall(r"\d{4}-\d\d-\d\dT\S*", printed):
        assert TIME.fullmatch(time)


def table(columns: int | None, rows: list[dict], **options) -> tuple[list[str], str]:
    out, err = io.StringIO(), io.StringIO()
    PeopleOutput(out, err, columns=columns, **options).rows(list(rows[0]), rows)
    return out.getvalue().splitlines(), err.getvalue()


def test_a_table_says_how_many_columns_do_not_fit():
    row = {"id": 1, "at": "2026-01-01T00:00:00.000000Z", "name": "x" * 50, "note": "y" * 50, "_score": 1.5}
    lines, note = table(70, [row])
    assert [word for word in lines[0].split() if word] == ["id", "at", "name", "_score"]
    assert "2026-01-01T00:00:00Z" in lines[2]
    assert "1.50" in lines[2]
    assert "…" in lines[2]
    assert note == "1 column is not shown; --json prints all\n"
    lines, note = table(None, [row])
    assert lines[0].split() == ["id", "at", "name", "note", "_score"]
    assert note == ""


def test_numbers_are_aligned_to_the_right_and_bytes_have_a_unit():
    out = io.StringIO()
    PeopleOutput(out, io.StringIO()).rows(
        ["n", "size"], [{"n": 5, "size": 2048}, {"n": 123, "size": None}], sizes=["size"]
    )
    assert out.getvalue().splitlines()[2:] == ["  5  2.0 KiB", "123        -"]


def test_the_head_of_a_long_table_is_repeated_and_the_note_is_not():
    rows = [{"a": "x" * 30, "b": "y" * 30} for _ in range(250)]
    lines, note = table(30, rows)
    assert sum(line.startswith("a") for line in lines) == 2
    assert note.count("not shown") == 1


def test_a_long_text_is_cut_around_its_first_hit():
    cell = Cell(("so " * 40, "disk", " is full" * 20))
    for most in (20, 31, 60):
        shown = cell.shown(MARKS, most)
        assert "\x1b[1mdisk\x1b[0m" in shown
        assert width(STYLE.sub("", shown)) <= most
        assert len(cell.shown(PLAIN_MARKS, most)) <= most
    assert width(Cell(("日本" * 30,)).shown(MARKS, 21)) <= 21


def test_times_lose_zeros_and_nothing_else():
    assert to_cell("2026-01-01T00:00:00.120000Z").text == "2026-01-01T00:00:00.12Z"
    assert to_cell("2026-01-01T00:00:00.000000").text == "2026-01-01T00:00:00"
    assert to_cell("at 2026-01-01T00:00:00.000000Z").text == "at 2026-01-01T00:00:00.000000Z"


def test_levels_have_a_color_on_a_terminal_only():
    layout, row = LogLayout(None, "level", (), "message"), {"level": "ERROR", "message": "full"}
    for color, expected in ((True, "\x1b[31mERROR\x1b[0m  full\n"), (False, "ERROR  full\n")):
        out = io.StringIO()
        PeopleOutput(out, io.StringIO(), lines=True, color=color).rows(list(row), [row], layout=layout)
        assert out.getvalue() == expected


def test_a_table_without_text_is_a_table_with_heads(demo):
    out = io.StringIO()
    PeopleOutput(out, io.StringIO(), lines=True).rows(["n"], [{"n": 1}])
    assert out.getvalue().splitlines() == ["n", "-", "1"]


def test_the_history_fits_a_terminal_and_names_its_columns_in_short(demo):
    lines = STYLE.sub("", on_terminal(110, "history", demo)).splitlines()
    assert lines[0].split() == [
        "version",
        "timestamp",
        "operation",
        "+files",
        "-files",
        "+rows",
        "-rows",
        "+bytes",
        "engine",
    ]
    assert "not shown" not in lines[-1]


def test_a_command_that_helps_is_never_cut(demo, capfd):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((40, 40)))
        patch.setattr("sys.stdout.isatty", lambda: True)
        patch.setenv("JAVA_HOME", "/nonexistent")
        assert main(["doctor", demo]) == 0
    assert "-> apt-get install openjdk-17-jdk\n" in capfd.readouterr().out
