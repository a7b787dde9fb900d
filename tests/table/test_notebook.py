"""What a notebook shows, frames of other libraries, and progress."""

from __future__ import annotations

import builtins
import io
import logging
import sys
import types
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import indextables as it
from indextables import progress
from indextables.maintenance import repair
from indextables.progress import Lines, shown_progress
from support.cli_rows import rows

HOSTILE = "<script>alert(1)</script> disk & <b>full</b>"


@pytest.fixture
def path(tmp_path) -> str:
    place = str(tmp_path / "logs")
    it.write(place, rows(0, "disk full on db1", "login ok", HOSTILE), text=["message"])
    it.write(place, rows(3, "disk slow"))
    return place


def parsed(html: str) -> ElementTree.Element:
    """Return the tree of HTML that is well-formed, as ours is."""
    return ElementTree.fromstring(html)


def texts(element: ElementTree.Element, tag: str) -> list[str]:
    return ["".join(found.itertext()) for found in element.iter(tag)]


def test_a_table_shows_its_columns_and_last_commits(path):
    tree = parsed(f"<div>{it.open(path)._repr_html_()}</div>")
    assert "message" in texts(tree, "td")
    assert "text" in texts(tree, "td")
    assert any("4 rows in 2 splits" in text for text in texts(tree, "div"))
    assert texts(tree, "caption")[1] == "Last commits"


def test_results_and_changes_are_shown(path):
    changed = it.open(path).changes(since=0)
    assert "added" in texts(parsed(changed._repr_html_()), "td")
    merged = it.open(path).merge_splits()
    assert "merged 2 splits into 1" in texts(parsed(merged._repr_html_()), "td")
    purged = it.open(path).purge(dry_run=True)
    assert "DRY_RUN" in texts(parsed(purged._repr_html_()), "td")


def test_a_plan_a_change_of_rows_and_what_clean_up_did_are_shown(path, tmp_path):
    table = it.open(path)
    plan = texts(parsed(table.explain("disk", where="id = 0")._repr_html_()), "td")
    assert plan[:2] == ["read", "1"]
    assert "skipped by min/max" in plan
    deleted = texts(parsed(table.delete("id = 0")._repr_html_()), "td")
    assert deleted[deleted.index("rows deleted") + 1] == "1"
    truncated = parsed(table.refresh().truncate_time_travel(dry_run=True)._repr_html_())
    assert "versions deleted" in texts(truncated, "td")
    repaired = repair(f"{path}/_transaction_log", tmp_path / "<new>" / "_transaction_log", dry_run=True)
    assert "SUCCESS" in texts(parsed(repaired._repr_html_()), "td")
    assert not (tmp_path / "<new>").exists()


def test_hits_mark_words_and_escape_the_rest(path):
    hits = it.open(path).hits("disk")
    assert (hits.total, len(hits)) == (3, 3)
    html = hits._repr_html_()
    tree = parsed(html)
    assert texts(tree, "mark") == ["disk", "disk", "disk"]
    assert "<script" not in html
    assert any("<script>" in text for text in texts(tree, "td"))  # shown as text
    assert len(list(tree.iter("rect"))) > 1
    assert repr(it.open(path).hits("disk", limit=1)) == "<indextables.Hits 'disk': the best 1 of 3 rows>"


def test_hits_without_times_or_texts_have_no_histogram_and_no_snippets(tmp_path):
    it.write(tmp_path / "plain", pa.table({"name": ["a", "b"]}))
    hits = it.open(tmp_path / "plain").hits("name:a")
    assert hits.histogram is None
    assert hits.arrow.column_names == ["name", "_score"]
    assert it.open(tmp_path / "plain").hits("name:absent").total == 0


def test_hits_over_times_without_a_zone(tmp_path):
    at = pa.array([0, 3600 * 10**6, 7200 * 10**6], pa.timestamp("us"))
    it.write(tmp_path / "local", pa.table({"at": at, "message": ["disk"] * 3}), text=["message"])
    hits = it.open(tmp_path / "local").hits("disk")
    assert sum(hits.histogram.column("count").to_pylist()) == 3
    assert hits.histogram.schema.field("bucket").type == pa.timestamp("us")
    assert "1970-01-01 02:00:00" in hits._repr_html_()
    parsed(hits._repr_html_())


def test_frames_of_other_libraries_have_the_same_rows(path):
    table = it.open(path)
    expected = table.to_arrow(columns=["id", "message"], where="id > 0").to_pylist()
    assert table.to_pandas(["id", "message"], where="id > 0").to_dict("records") == expected
    polars = pytest.importorskip("polars")
    assert table.to_polars(["id", "message"], where="id > 0").to_dicts() == expected
    assert polars.DataFrame(table)["id"].to_list() == [0, 1, 2, 3]
    assert pa.table(table).equals(table.to_arrow())
    assert len(table) == 4
    assert pa.table(table.hits("disk")).num_rows == 3
    assert table.hits("disk").to_polars().height == len(table.hits("disk").to_pandas()) == 3


def test_an_empty_table_is_not_false(tmp_path):
    it.write(tmp_path / "empty", pa.table({"n": pa.array([], pa.int64())}))
    table = it.open(tmp_path / "empty")
    assert table
    assert len(table) == 0


def test_duckdb_reads_a_table_as_often_as_it_likes(path):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("logs", it.open(path))
    query = "SELECT count(*) FROM logs a JOIN logs b USING (id)"
    assert [connection.sql(query).fetchall() for _ in range(2)] == [[(4,)], [(4,)]]


def test_progress_of_a_write_a_merge_and_a_purge(tmp_path):
    path, calls = tmp_path / "table", []
    tell = lambda done, total: calls.append((done, total))  # noqa: E731
    data = pa.table({"n": range(100_000)})
    it.write(path, data, progress=tell)
    assert calls[-1] == (100_000, 100_000)
    it.write(path, data.to_reader(1000), progress=tell)
    assert calls[-1] == (100_000, None)
    it.open(path).merge_splits(progress=tell)
    assert calls[-1] == (1, 1)
    it.open(path).truncate_time_travel()
    eager = {"indextables.purge.retentionCheckEnabled": "false"}
    it.open(path, settings=eager).purge("0 hours", progress=tell)
    assert calls[-1] == (2, 2)
    with pytest.raises(it.InputError, match="two numbers"):
        it.write(path, data, progress="yes")
    assert it.open(path).count() == 200_000


def test_progress_on_stderr_is_a_line_now_and_then(capsys):
    now = iter(range(0, 100, 4))
    out = io.StringIO()
    lines = Lines("writing rows", out, lambda: next(now))
    for done in range(5):
        lines(done, 10)
    lines.end()
    assert out.getvalue().splitlines()[0].startswith("writing rows: ")
    assert len(out.getvalue().splitlines()) < 5
    with shown_progress(True, "writing") as tell:
        tell(1, 2)
    assert capsys.readouterr().err == ""  # it was done within ten seconds


def test_a_commit_a_merge_and_a_purge_are_one_line_in_the_log(tmp_path, caplog):
    caplog.set_level(logging.INFO, "indextables")
    path = tmp_path / "table"
    it.write(path, pa.table({"n": [1]}))
    it.write(path, pa.table({"n": [2]}))
    assert len(caplog.messages) == 2
    assert "committed version 1" in caplog.messages[1]
    assert "1 rows added" in caplog.messages[1]
    caplog.clear()
    it.open(path).merge_splits()
    assert [text.partition(": ")[2][:6] for text in caplog.messages] == ["commit", "merge:"]
    caplog.clear()
    it.open(path).purge()
    assert len([text for text in caplog.messages if ": purge: " in text]) == 1
    caplog.set_level(logging.DEBUG, "indextables")
    it.open(path).count(where="n = 1")
    assert any("a scan of version 2 reads 1 of 1 splits" in text for text in caplog.messages)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ZMQInteractiveShell:
    """What a cell of Jupyter runs in, by its name."""


def test_progress_on_a_terminal_is_a_bar(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stderr", err := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with shown_progress(True, "writing rows") as tell:
        tell(50, 200)
    printed = err.getvalue()
    assert "writing rows" in printed
    assert "50/200" in printed
    assert "\x1b[2K" in printed  # it is removed at the end


def test_progress_on_a_terminal_without_rich_is_one_line_that_is_written_over(monkeypatch):
    monkeypatch.setattr("sys.stderr", err := Terminal())
    monkeypatch.setattr("indextables.progress._rich_bar", lambda: None)
    monkeypatch.setattr("indextables.progress._REDRAW", 0.0)
    with shown_progress(True, "writing rows") as tell:
        tell(50, 200)
        tell(100, None)
    assert err.getvalue() == "\rwriting rows: 50 of 200 (25 %)\x1b[K\rwriting rows: 100\x1b[K\r\x1b[K"


@pytest.fixture
def jupyter(monkeypatch) -> list[object]:
    """What a cell of a notebook displays, with IPython as it is there."""
    shown: list[object] = []
    display = types.ModuleType("IPython.display")
    display.display = shown.append
    package = types.ModuleType("IPython")
    package.get_ipython = ZMQInteractiveShell
    package.display = display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)  # where rich looks
    return shown


class Output:
    """A widget that shows what is displayed inside of it."""

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...

    def clear_output(self, wait: bool) -> None: ...

    def close(self) -> None: ...


def test_progress_in_a_notebook_is_a_widget_of_the_cell(jupyter, monkeypatch):
    pytest.importorskip("rich")
    widgets = types.ModuleType("ipywidgets")
    widgets.Output = Output
    monkeypatch.setitem(sys.modules, "ipywidgets", widgets)
    monkeypatch.setattr("sys.stderr", err := io.StringIO())
    assert progress._is_notebook()
    with shown_progress(True, "writing rows") as tell:
        tell(50, 200)
    assert isinstance(jupyter[0], Output)
    assert any("writing rows" in shown.text for shown in jupyter[1:])
    assert err.getvalue() == ""


def test_progress_in_a_notebook_without_widgets_is_one_line(jupyter, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    monkeypatch.setattr("sys.stderr", err := io.StringIO())
    monkeypatch.setattr("indextables.progress._REDRAW", 0.0)
    with shown_progress(True, "writing rows") as tell:  # a warning would be an error
        tell(50, 200)
    assert err.getvalue().startswith("\rwriting rows: 50 of 200 (25 %)")
    assert jupyter == []


def test_a_shell_of_ipython_on_a_terminal_is_no_notebook(jupyter, monkeypatch):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    assert not progress._is_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not progress._is_notebook()
