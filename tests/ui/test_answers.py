"""The answers of the server agree with the library."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette")

import indextables as it
from indextables.ui.app import make_app
from indextables.ui.conditions import to_asked
from indextables.ui.discovery import overview_answer
from indextables.ui.guard import Access
from indextables.ui.inspection import diff_answer, history_answer, split_answer
from indextables.ui.limits import Turn
from support.ui_client import Client


@pytest.fixture(scope="module")
def ask(ui_table):
    access = Access(4712)
    client = Client(make_app({"0": it.open(ui_table)}, access), "http://127.0.0.1:4712")
    client.get("/", params={"token": access.token})

    def get(view: str, **params: object) -> dict:
        answer = client.get(f"/api/0/{view}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json() if "json" in answer.headers["content-type"] else answer.text

    return get


@pytest.mark.parametrize(
    ("params", "query", "where"),
    [
        ({}, None, None),
        ({"q": "disk"}, "disk", None),
        (
            {"q": "disk", "where": "level = 'INFO' OR level = 'ERROR'"},
            "disk",
            "level = 'INFO' OR level = 'ERROR'",
        ),
        (
            {
                "where": "level = 'WARN' OR size >= 0",
                "from": "2026-01-01T12:00:00Z",
                "to": "2026-01-01T18:00:00Z",
            },
            None,
            "at >= timestamp'2026-01-01T12:00:00Z' AND at < timestamp'2026-01-01T18:00:00Z'",
        ),
        ({"q": "disk", "v": "0"}, "disk", "size < 200 OR size > 1000"),
    ],
)
def test_an_overview_counts_what_the_table_counts(ask, ui_table, params, query, where):
    table = it.open(ui_table, version=int(params["v"])) if "v" in params else it.open(ui_table)
    found = ask("overview", **params, by="level", fields="level\x1fhost")
    assert found["total"] == table.count(query, where=where)
    assert sum(sum(counts) for counts in found["histogram"]["series"].values()) == found["total"]
    assert found["nulls"] == {"level": 0, "host": 0}
    for column in ("level", "host"):
        assert found["top"][column] == table.top_values(column, query=query, where=where).to_pylist()
    expected = table.histogram("at", every=found["every"], query=query, where=where, by="level").to_pylist()
    assert found["histogram"]["times"] == sorted({row["bucket"].timestamp() for row in expected})


def test_an_overview_whose_time_is_up_says_how_many_rows_it_has(ui_table):
    table = it.open(ui_table)
    found = overview_answer(to_asked(table, {"q": "disk"}), ["level"], Turn(counting_seconds=-1))
    counted = sum(sum(counts) for counts in found["histogram"]["series"].values())
    assert counted == found["counted"] == sum(row["count"] for row in found["top"]["level"])
    assert 0 < found["counted"] < found["total"] == table.count("disk")
    whole = overview_answer(to_asked(table, {"q": "disk"}), ["level"], Turn())
    assert whole["counted"] == whole["total"] == found["total"]


def test_rows_are_the_best_or_the_newest(ask, ui_table):
    best = ask("rows", q="disk", limit=5)["rows"]
    assert [row["_score"] for row in best] == sorted((row["_score"] for row in best), reverse=True)
    newest = ask("rows", limit=20)["rows"]
    times = it.open(ui_table).to_arrow(["at"]).column("at").to_pylist()
    assert [row["at"] for row in newest] == [f"{t:%Y-%m-%dT%H:%M:%S.%fZ}" for t in sorted(times)[:-21:-1]]
    pages = [
        row["at"]
        for offset in range(0, 40, 10)
        for row in ask("rows", q="disk", sort="time", limit=10, offset=offset)["rows"]
    ]
    assert pages == sorted(pages, reverse=True)
    assert len(set(pages)) == it.open(ui_table).count("disk")


def test_integers_that_javascript_cannot_hold_are_text(ask):
    found = ask("rows", where="size > 1000", limit=5)["rows"]
    assert sorted(row["size"] for row in found) == [str(1 << 55), str(2 << 55)]


def test_rows_around_a_row(ask):
    found = ask("around", at="2026-01-01T07:00:00Z")["rows"]
    times = [row["at"] for row in found]
    assert times == sorted(times)
    assert "2026-01-01T07:00:00.000000Z" in times
    assert len(times) == 11


def test_the_plan_says_what_was_skipped(ask):
    plan = ask("overview", q="disk", **{"from": "2026-01-02T09:00:00Z"})["plan"]
    assert plan["read"] < plan["splits"] == 13
    assert sum(plan["skipped"].values()) == plan["splits"] - plan["read"]


def test_versions_and_their_difference(ask):
    found = ask("history")
    assert (found["newest"], len(found["versions"])) == (12, 13)
    assert ask("diff", v=12, old=10)["rows_added"] == 20


def test_the_difference_of_versions_has_the_rows_that_were_deleted_and_restored(tmp_path):
    it.write(tmp_path / "t", {"id": list(range(10))})
    table = it.open(tmp_path / "t")
    table.delete("id < 4")
    table.refresh().restore(0)
    it.write(tmp_path / "t", {"id": [1, 2]}, mode="overwrite")

    def rows(old: int, new: int) -> tuple[int, int]:
        found = diff_answer(it.open(tmp_path / "t", version=new), old)
        return found["rows_added"], found["rows_removed"]

    assert [rows(0, 1), rows(1, 2), rows(0, 2), rows(2, 3)] == [(0, 4), (4, 0), (0, 0), (2, 10)]
    assert [row["rows_removed"] for row in history_answer(table)["versions"]] == [10, 0, 4, 0]


def test_health_names_the_command_that_helps(ask, ui_table):
    (small,) = [f for f in ask("health")["findings"] if f["check"] == "small splits"]
    assert small["severity"] == "warning"
    assert small["command"].startswith("indextables merge ")
    assert small["command"].endswith(" --target 256M")


def test_files_schema_settings_and_export(ask, ui_table):
    assert ask("files")["total"] == 13
    described = ask("describe")
    assert (described["time"], described["text"], described["rows"]) == ("at", "message", 320)
    assert any(row["key"].endswith("targetSplitSize") for row in ask("settings")["settings"])
    lines = ask("export", q="disk").splitlines()
    assert len(lines) == 1 + it.open(ui_table).count("disk")
    assert lines[0] == "at,level,host,size,message"


def test_a_split_names_the_columns_of_its_files(tmp_path):
    it.write(tmp_path / "t", {"id": [1], "name": ["a"], "gone": [True]})
    table = it.open(tmp_path / "t")
    table.alter(rename={"name": "title"}, drop=["gone"])
    table = table.refresh()
    (path,) = table.files().column("path").to_pylist()
    parts = {part["part"]: part["columns"] for part in split_answer(table, path)["parts"]}
    assert parts["rows-0.parquet"] == ["id", "title", "gone (dropped)"]
    assert parts["checksums.json"] == []


def test_an_export_has_the_order_and_the_columns_of_the_page(ask):
    for params, order in ({"q": "disk"}, "score"), ({"q": "disk", "sort": "time"}, "time"), ({}, "time"):
        lines = ask("export", columns="at\x1fmessage", **params).splitlines()
        assert lines[0] == "at,message"
        page = ask("rows", limit=500, **params)["rows"]
        assert [line.partition(",")[0] for line in lines[1:]] == [row["at"] for row in page], order


def test_an_export_that_is_cut_says_so_in_its_name(ui_table, monkeypatch):
    access = Access(4714)
    client = Client(make_app({"0": it.open(ui_table)}, access), "http://127.0.0.1:4714")
    client.get("/", params={"token": access.token})

    def name(**params: str) -> str:
        return client.get("/api/0/export", params=params).headers["content-disposition"].partition("=")[2]

    assert name().startswith('"rows-')
    for module in ("app", "discovery"):
        monkeypatch.setattr(f"indextables.ui.{module}.MAX_EXPORTED", 100)
    assert name().startswith('"first-100-rows-')
    assert name(where="size < 100").startswith('"rows-')
    assert client.get("/api/0/export").text.count("\n") >= 100
    assert client.get("/api/session").json()["most_exported"] == 100


def test_a_table_without_times_or_texts(tmp_path):
    import pyarrow as pa  # noqa: PLC0415

    it.write(tmp_path / "plain", pa.table({"n": [1, 2, 3]}))
    access = Access(4713)
    client = Client(make_app({"0": it.open(tmp_path / "plain")}, access), "http://127.0.0.1:4713")
    client.get("/", params={"token": access.token})
    found = client.get("/api/0/overview", params={"fields": "n"}).json()
    assert (found["total"], found["histogram"], len(found["top"]["n"])) == (3, None, 3)
    assert client.get("/api/0/overview").json()["total"] == 3
    assert [row["n"] for row in client.get("/api/0/rows", params={"limit": "2"}).json()["rows"]] == [1, 2]
    assert client.get("/api/0/rows", params={"q": "n:1", "sort": "time"}).status_code == 400
    assert client.get("/api/0/around", params={"at": "2026-01-01"}).status_code == 400
