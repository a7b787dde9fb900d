"""import from a pipe that stays open: what has come is committed, by rows and by time."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

import indextables as it
from indextables.cli import arrivals, importing
from indextables.cli.arrivals import Arrivals, RecordEnds, last_line_end
from indextables.cli.commits import Commits

pytestmark = pytest.mark.timeout(60)  # an import that waits for the end would wait for ever


@pytest.fixture
def table(tmp_path) -> str:
    return str(tmp_path / "table")


class Pipe:
    """Stdin as a pipe that stays open. After each commit, its next text is written; after the last, it is closed."""

    def __init__(self, monkeypatch) -> None:
        self.read_end, self._write_end = os.pipe()
        self._texts: list[bytes] = []
        self.open_at_commit: list[int] = []
        """The versions that were there before the pipe was closed."""
        self._commit = importing.write_table
        monkeypatch.setattr(importing, "write_table", self._write_table)
        self._stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(self.read_end)))
        monkeypatch.setattr("sys.stdin", self._stdin)

    def send(self, *texts: str | bytes) -> None:
        self._texts = [text.encode() if isinstance(text, str) else text for text in texts]
        self._next()

    def close(self) -> None:
        self._texts = []
        self._next()
        self._stdin.close()

    def _next(self) -> None:
        if self._texts:
            os.write(self._write_end, self._texts.pop(0))
        elif self._write_end >= 0:
            os.close(self._write_end)
            self._write_end = -1

    def _write_table(self, *arguments, **options) -> int:
        version = self._commit(*arguments, **options)
        if self._write_end >= 0:
            self.open_at_commit.append(version)
        self._next()
        return version


@pytest.fixture
def pipe(monkeypatch) -> Iterator[Pipe]:
    pipe = Pipe(monkeypatch)
    yield pipe
    pipe.close()


AT = "2026-01-31T12:00:00Z"
ROWS = {
    "ndjson": (
        f'{{"id": 1, "at": "{AT}", "message": "disk is full"}}\n',
        f'{{"message": "all is well", "at": "{AT}", "id": 2}}\n\n',
    ),
    "json": ('\n{"id": 1, "message": "disk is full"}\n', '{"id": 2, "message": "all is well"}\n'),
    "csv": (f'id,message,at\n1,"disk is\nfull",{AT}\n', f'2,"all is ""well""",{AT}\n'),
    "tsv": ("id\tmessage\n1\tdisk is full\n", "2\tall is well\n"),
    "log": ("1 disk is full\n", "2 all is well\n"),
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize(
    "commits", [["--commit-every", 1], ["--commit-seconds", 0.1]], ids=["rows", "seconds"]
)
def test_rows_are_committed_before_the_pipe_ends(cli, table, pipe, kind, commits):
    pipe.send(*ROWS[kind])
    pattern = ["--pattern", r"(?P<id>\d+) (?P<message>.*)", "--types", "id=long"] if kind == "log" else []
    (done,) = cli.rows("import", table, "-", "--from", kind, *commits, *pattern)
    assert (done["rows"], done["version"], done["unmatched_lines"]) == (2, 1, 0)
    assert pipe.open_at_commit == [0, 1]
    assert sorted(row["id"] for row in cli.rows("head", table)) == [1, 2]
    assert cli.rows("count", table, "message:full", "--version", 0) == [{"count": 1}]


def test_without_one_of_the_options_stdin_is_one_version(cli, table, pipe):
    pipe.send("".join(ROWS["ndjson"]))
    pipe.send()
    (done,) = cli.rows("import", table, "-", "--from", "ndjson")
    assert (done["rows"], done["version"]) == (2, 0)
    assert pipe.open_at_commit == []


def test_a_record_that_has_come_in_part_waits_for_its_end(cli, table, pipe):
    first, second = (text.encode("utf-16-le") for text in ROWS["csv"])
    pipe.send(first + second[:9], second[9:])  # within a character
    (done,) = cli.rows("import", table, "-", "--from", "csv", "--commit-every", 1, "--encoding", "utf-16-le")
    assert (done["rows"], done["version"]) == (2, 1)


def test_the_first_lines_give_the_columns_and_what_they_do_not_tell_is_said(cli, table, pipe):
    pipe.send('{"id": 1, "who": null, "tags": []}\n', '{"id": 2, "who": "ada", "tags": ["a"]}\n')
    code, _, err = cli("import", table, "-", "--from", "ndjson", "--commit-every", 1)
    assert code == 0
    assert "of the first 1 row; who has no value there: string; --types" in err
    schema = it.open(table).schema
    assert (schema.field("who").type, schema.field("tags").type) == (pa.string(), pa.list_(pa.string()))
    assert it.open(table).count(where="who = 'ada'") == 1


@pytest.mark.parametrize(
    ("kind", "first", "second", "message"),
    [
        ("ndjson", '{"id": 1}\n', '{"id": 2, "late": 7}\n', "the column 'late' is int64 in later lines"),
        ("ndjson", '{"id": 1}\n', '{"id": "x"}\n', "changed from number to string"),
        ("csv", "id\n1\n", "x\n", "invalid value 'x'"),
    ],
)
def test_later_lines_of_other_types_name_the_option_that_helps(
    cli, table, pipe, kind, first, second, message
):
    pipe.send(first, second)
    code, _, err = cli("import", table, "-", "--from", kind, "--commit-every", 1)
    assert code == 2
    assert message in err
    assert "--types column=type" in err
    assert "1 row committed, up to version 0" in err
    assert it.open(table).count() == 1


def test_an_interrupt_says_what_is_committed(cli, table, pipe, monkeypatch):
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipe, "_next", lambda: monkeypatch.setattr(arrivals.select, "select", interrupted))
    os.write(pipe._write_end, b'{"id": 1}\n')
    code, _, err = cli("import", table, "-", "--from", "ndjson", "--commit-every", 1)
    assert code == 130
    assert "interrupted: 1 row committed, up to version 0" in err
    monkeypatch.undo()


def test_rows_that_wait_for_their_commit_are_committed_at_an_interrupt(cli, table, pipe, monkeypatch):
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    def select_then_interrupt(*arguments: object) -> object:
        monkeypatch.setattr(arrivals.select, "select", interrupted)
        return select(*arguments)

    select = arrivals.select.select
    monkeypatch.setattr(arrivals.select, "select", select_then_interrupt)
    pipe.send('{"id": 1}\n{"id": 2}\n')
    code, _, err = cli("import", table, "-", "--from", "ndjson", "--commit-every", 100)
    monkeypatch.undo()
    assert code == 130
    assert "interrupted: 2 rows committed, up to version 0" in err
    assert it.open(table).count() == 2


def test_rows_before_a_record_that_cannot_be_read_are_committed(cli, table, pipe, monkeypatch):
    monkeypatch.setattr(arrivals, "_PIECE", len("id\n1\n"))
    pipe.send("id\n1\nx\n")
    code, _, err = cli("import", table, "-", "--from", "csv", "--commit-every", 100)
    assert code == 2
    assert "invalid value 'x'" in err
    assert "1 row committed, up to version 0" in err
    assert it.open(table).count() == 1


def test_a_row_of_spaces_is_a_row(cli, table, pipe, monkeypatch):
    monkeypatch.setattr(arrivals, "_PIECE", 2)
    pipe.send("a\tb\n1\tx\n\t\n\n\r\n2\ty\n")
    pipe.send()
    (done,) = cli.rows("import", table, "-", "--from", "tsv", "--commit-every", 100)
    assert done["rows"] == 3


def test_types_of_csv_are_those_of_a_row_also_below_names_of_several_lines(cli, table, pipe, monkeypatch):
    monkeypatch.setattr(arrivals, "_PIECE", 1)
    pipe.send('id,"so\nmany"\n1,2\n')
    cli.rows("import", table, "-", "--from", "csv", "--commit-every", 1)
    assert [field.type for field in it.open(table).schema] == [pa.int64(), pa.int64()]


def test_a_column_that_comes_late_is_named_before(cli, table, pipe):
    pipe.send('{"id": 1}\n', '{"id": 2, "late": 7}\n')
    cli.rows("import", table, "-", "--from", "ndjson", "--commit-every", 1, "--types", "late=long")
    assert it.open(table).count(where="late = 7") == 1


def test_columns_of_the_table_may_come_late(cli, table, pipe):
    it.write(table, [{"id": 0, "late": 5}])
    pipe.send('{"id": 1}\n', '{"id": 2, "late": 7}\n')
    cli.rows("import", table, "-", "--from", "ndjson", "--commit-every", 1)
    assert it.open(table).count(where="late = 7") == 1


def test_an_array_is_read_to_its_end(cli, table, pipe):
    pipe.send('[{"id": 1}, {"id": 2}]')
    pipe.send()
    (done,) = cli.rows("import", table, "-", "--from", "json", "--commit-every", 1)
    assert (done["rows"], done["version"]) == (2, 1)


def test_lines_before_the_first_that_matches_wait_for_it(cli, table, pipe, monkeypatch):
    monkeypatch.setattr(arrivals, "_PIECE", len("starting up\n"))
    pipe.send("starting up\n2026-01-02T03:04:05Z INFO ready now\n")
    (done,) = cli.rows("import", table, "-", "--from", "log", "--pattern", "iso", "--commit-every", 2)
    assert (done["rows"], done["unmatched_lines"]) == (2, 1)


def test_a_pattern_is_given_time_to_match(cli, table, pipe, monkeypatch):
    monkeypatch.setattr(arrivals, "_PIECE", len("starting up\n") * 50)
    pipe.send("starting up\n" * 150 + "2026-01-02T03:04:05Z INFO ready now\n")
    (done,) = cli.rows("import", table, "-", "--from", "log", "--pattern", "iso", "--commit-every", 151)
    assert (done["rows"], done["unmatched_lines"]) == (151, 150)


def test_the_first_lines_tell_the_pattern_however_they_come(cli, table, pipe, monkeypatch):
    monkeypatch.setattr(arrivals, "_PIECE", len("starting up\n"))
    pipe.send("starting up\n2026-01-02T03:04:05Z INFO ready now\n")
    (done,) = cli.rows("import", table, "-", "--from", "log", "--commit-every", 2)
    assert (done["rows"], done["unmatched_lines"]) == (2, 1)
    assert it.open(table).schema.names == ["timestamp", "level", "message"]


def test_a_log_without_a_known_pattern_waits_for_its_first_lines_alone(cli, table, pipe, monkeypatch):
    monkeypatch.setattr(arrivals, "_PIECE", len("line 10\n"))
    pipe.send("".join(f"line {n}\n" for n in range(10, 120)), "the last\n" * 110)
    (done,) = cli.rows("import", table, "-", "--from", "log", "--commit-every", 110)
    assert (done["rows"], done["version"]) == (220, 1)
    assert pipe.open_at_commit == [0, 1]
    assert it.open(table).schema.names == ["message"]


def test_lines_of_which_none_matches_are_refused(cli, table, pipe):
    pipe.send("starting up\n")
    pipe.send()
    code, _, err = cli("import", table, "-", "--from", "log", "--pattern", "iso", "--commit-every", 1)
    assert code == 2
    assert "matches none of the first 1 lines" in err


def test_a_named_pipe_is_read_as_it_comes_and_people_see_each_version(cli, table, pipe):
    pipe.send(*ROWS["ndjson"])
    name = f"/dev/fd/{pipe.read_end}"
    code, _, err = cli("import", table, name, "--from", "ndjson", "--commit-every", 1, "--format", "table")
    assert code == 0
    assert pipe.open_at_commit == [0, 1]
    assert "version 0: 1 row\nversion 1: 2 rows\n" in err


def clock(*moments: float) -> Callable[[], float]:
    return iter(moments).__next__


def batch(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": pa.array(range(rows), pa.int64())})


def sizes(commits: Commits, *batches: pa.RecordBatch) -> list[int]:
    return [sum(part.num_rows for part in commit) for commit in commits.parts(iter(batches))]


def test_a_commit_is_due_seconds_after_its_first_row():
    commits = Commits(seconds=5, clock=clock(100, 100, 104, 105, 200, 204))
    assert commits.patience() is None
    # 2 rows at 100, 3 more at 104, none at 105; 1 row at 200, and the end at 204
    assert sizes(commits, batch(2), batch(3), batch(0), batch(1)) == [5, 1]
    assert commits.patience() is None


def test_the_rows_of_a_commit_are_counted_over_batches():
    assert sizes(Commits(rows=3), batch(2), batch(0), batch(8)) == [3, 3, 3, 1]
    assert sizes(Commits(), batch(0), batch(2), batch(0)) == [2]
    assert sizes(Commits(rows=3, seconds=5, clock=itertools.repeat(0.0).__next__), batch(4)) == [3, 1]


@pytest.mark.parametrize("reason", [KeyboardInterrupt, it.errors.InputError])
def test_rows_before_a_failure_are_a_commit(reason):
    def batches() -> Iterator[pa.RecordBatch]:
        yield batch(2)
        raise reason

    found = []
    with pytest.raises(reason):
        found.extend(batch.num_rows for part in Commits(rows=3).parts(batches()) for batch in part)
    assert found == [2]


def test_much_data_does_not_wait_for_its_time(monkeypatch):
    monkeypatch.setattr("indextables.cli.commits._MOST_BYTES", 100)
    commits = Commits(seconds=5, clock=itertools.repeat(0.0).__next__)
    assert sizes(commits, batch(5), batch(20), batch(1)) == [25, 1]


@contextmanager
def arriving(*parts: bytes) -> Iterator[int]:
    """A pipe with these bytes and an end."""
    read_end, write_end = os.pipe()
    for part in parts:
        os.write(write_end, part)
    os.close(write_end)
    yield read_end
    os.close(read_end)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    "text", ['a,b\n1,"x\n""y"",\n"\n2,5" pipe\n"","\n"\n3,z', 'a\n"\n', "a\n\n\nb", '"a""\n",b\n1,2\n']
)
def test_parts_of_csv_end_with_a_record_wherever_reads_end(monkeypatch, size, text):
    monkeypatch.setattr(arrivals, "_PIECE", size)
    with arriving(text.encode()) as descriptor:
        stream = Arrivals(descriptor, lambda: None)
        stream.divide(RecordEnds())
        parts = list(stream)
    assert b"".join(parts) == text.encode()
    for end in itertools.accumulate(map(len, parts[:-1])):
        assert text[end - 1] == "\n"
        quotes = text[:end].replace('5"', "5")
        assert quotes.count('"') % 2 == 0


def test_what_was_looked_at_inside_of_quotes_is_not_looked_at_again():
    end_of = RecordEnds()
    assert end_of(b'1,"a\nb') == 0
    seen = b"\n" * 6  # would be the ends of records
    assert end_of(seen + b'\n"') == 0
    assert end_of(seen + b'\n""\n') == 0
    assert end_of(seen + b'\n""\n",2\n3,"') == 14
    assert end_of(b'3,"x\n"') == 0
    assert end_of(b'3,"x\n"\n4') == 7


def test_records_are_counted_by_their_ends():
    assert RecordEnds().count(b'a,"b\n\n""c"\n\n\r\n \n1,5"\n') == 3
    assert RecordEnds(b"\t").count(b'a\t"b\n"\n"\n"\t,"\n') == 2


def test_a_record_without_an_end_is_refused_and_a_long_line_cut(monkeypatch):
    monkeypatch.setattr(arrivals, "_PIECE", 10)
    with arriving(b"x" * 50, b"\ny") as descriptor:
        stream = Arrivals(descriptor, lambda: None)
        stream.divide(last_line_end, most=20)
        assert list(stream) == [b"x" * 20, b"x" * 20, b"x" * 10 + b"\n", b"y"]
    monkeypatch.setattr(arrivals, "_MAX_RECORD", 20)
    with arriving(b"x" * 50) as descriptor, pytest.raises(it.errors.InputError, match="no end"):
        list(Arrivals(descriptor, lambda: None))
