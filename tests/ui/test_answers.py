"""The answers of the server agree with the library."""

from __future__ import annotations

import time
from datetime import datetime

import pyarrow as pa
import pytest

pytest.importorskip("starlette")

import indextables as it
from indextables.errors import InputError
from indextables.ui.app import make_app
from indextables.ui.conditions import time_column, to_asked
from indextables.ui.discovery import overview_answer
from indextables.ui.guard import Access
from indextables.ui.inspection import diff_answer, files_answer, history_answer, settings_answer, split_answer
from indextables.ui.limits import Turn
from support.ui_client import Client


def client_of(path) -> Client:
    access = Access(4712)
    client = Client(make_app({"0": it.open(path)}, access), "http://127.0.0.1:4712")
    client.get("/", params={"token": access.token})
    return client


@pytest.fixture(scope="module")
def ask(ui_table):
    client = client_of(ui_table)

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
    (row,) = ask("rows", where="at = timestamp'2026-01-01T07:00:00Z'")["rows"]
    for found_by in row, ask("rows", q="size:60 AND disk", sort="score")["rows"][0]:
        found = ask("around", split=found_by["__split_path"], row=found_by["__row_number"])
        times = [row["at"] for row in found["rows"]]
        assert times == sorted(times)
        assert times[found["here"]] == "2026-01-01T07:00:00.000000Z"
        assert (found["here"], len(times)) == (5, 11)


def test_rows_around_one_of_many_in_a_second(tmp_path):
    """Thirty thousand rows of one second, and fifty of each time."""
    micros = [50 * (n // 50) for n in range(30_000)]
    it.write(
        tmp_path / "t", pa.table({"at": pa.array(micros, pa.timestamp("us", "UTC")), "n": range(30_000)})
    )
    client = client_of(tmp_path / "t")
    for n in (1010, 29_998):
        (row,) = client.get("/api/0/rows", params={"where": f"n = {n}"}).json()["rows"]
        found = client.get(
            "/api/0/around", params={"split": row["__split_path"], "row": row["__row_number"]}
        ).json()
        assert [row["n"] for row in found["rows"]] == list(range(n - 5, min(n + 6, 30_000)))
        assert found["rows"][found["here"]]["n"] == n
    for wrong in ({"split": row["__split_path"], "row": "30000"}, {"split": "../x", "row": "0"}, {}):
        assert client.get("/api/0/around", params=wrong).status_code == 400


def test_times_without_a_zone_have_a_histogram_and_a_range(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        at = pa.array([3600 * 10**6 * n for n in range(48)], pa.timestamp("us"))
        it.write(tmp_path / "t", pa.table({"at": at, "n": range(48)}))
        client = client_of(tmp_path / "t")
        described = client.get("/api/0/describe").json()
        assert (described["time"], described["zoned"]) == ("at", False)
        for end in ("1970-01-01T06:00", "1970-01-01T06:00:00Z"):
            found = client.get("/api/0/overview", params={"from": "1970-01-01T02:00", "to": end}).json()
            assert found["total"] == 4
            assert found["histogram"]["times"] == [3600.0 * n for n in range(2, 6)]
        rows = client.get("/api/0/rows", params={"limit": "2"}).json()["rows"]
        assert [row["at"] for row in rows] == ["1970-01-02T23:00:00.000000", "1970-01-02T22:00:00.000000"]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_range_of_times_is_read_as_it_is_typed(ui_table, monkeypatch):
    table = it.open(ui_table)
    monkeypatch.setattr("indextables.ui.conditions.now_ms", lambda: 1767268800000)  # 2026-01-01T12:00:00Z

    def limits(**typed: str) -> list[str | None]:
        asked = to_asked(table, typed)
        return [None if time is None else f"{time:%d %H:%M}" for time in (asked.start, asked.end)]

    assert limits(**{"from": "2026-01-05", "to": "2026-01-05"}) == ["05 00:00", "06 00:00"]
    assert limits(**{"from": "2026-01-05T10:00Z", "to": "2026-01-05 11:00"}) == ["05 10:00", "05 11:00"]
    assert limits(**{"from": "-1h", "to": "now"}) == ["01 11:00", "01 12:00"]
    assert limits(**{"from": "now/d", "to": "now/d"}) == ["01 00:00", "02 00:00"]
    for typed, message in (
        ({"from": "5.3.2026"}, r"^from is '5\.3\.2026'; it takes a day such as"),
        ({"to": "-1x"}, "^to is '-1x'"),
        ({"to": "9999-12-31"}, "^to is '9999-12-31'"),
        ({"from": "2026-01-05", "to": "2026-01-04"}, "^'to' is before 'from'$"),
    ):
        with pytest.raises(InputError, match=message):
            to_asked(table, typed)
    assert to_asked(table, {"from": "2026-01-05", "to": "2026-01-05"}).where is not None


def test_a_column_with_a_zone_is_the_time_before_one_without(tmp_path):
    rows = {
        name: pa.array([0], pa.timestamp("us", zone)) for name, zone in (("wall", None), ("moment", "UTC"))
    }
    it.write(tmp_path / "t", pa.table(rows))
    assert time_column(it.open(tmp_path / "t")) == "moment"


def test_a_bucket_ends_where_the_next_one_starts(tmp_path):
    months = [f"{year}-{month:02}-01" for year in (2023, 2024) for month in range(1, 13)]
    at = pa.array([datetime.fromisoformat(f"{month}T12:00:00Z") for month in months])
    it.write(tmp_path / "t", pa.table({"at": at}))
    found = client_of(tmp_path / "t").get("/api/0/overview").json()
    assert found["every"] == "1 month"
    starts = [datetime.fromisoformat(f"{month}T00:00:00Z").timestamp() for month in [*months, "2025-01-01"]]
    assert (found["histogram"]["times"], found["histogram"]["ends"]) == (starts[:-1], starts[1:])


def test_rows_without_a_value_are_stacked_as_null(tmp_path):
    at = pa.array([0, 1, 2], pa.timestamp("us", "UTC"))
    it.write(tmp_path / "t", pa.table({"at": at, "level": ["a", None, None]}))
    found = client_of(tmp_path / "t").get("/api/0/overview", params={"by": "level"}).json()
    assert found["histogram"]["series"] == {"null": [2], "a": [1]}


def test_the_plan_says_what_was_skipped(ask):
    plan = ask("overview", q="disk", **{"from": "2026-01-02T09:00:00Z"})["plan"]
    assert plan["read"] < plan["splits"] == 13
    assert sum(plan["skipped"].values()) == plan["splits"] - plan["read"]


def test_versions_and_their_difference(ask):
    found = ask("history")
    assert (found["oldest"], found["newest"], len(found["versions"])) == (0, 12, 13)
    assert (found["bars"][0], len(found["bars"])) == ({"added": 200, "removed": 0}, 13)
    assert (ask("diff", v=12, old=10)["rows_added"], ask("diff", v=12, old=10)["more"]) == (20, 0)


def test_every_version_is_on_a_page_and_in_a_bar(ask, monkeypatch):
    monkeypatch.setattr("indextables.ui.inspection._VERSIONS_OF_PAGE", 5)
    monkeypatch.setattr("indextables.ui.inspection._BARS", 4)
    pages = [ask("history")]
    while pages[-1]["versions"][-1]["version"] > pages[-1]["oldest"]:
        pages.append(ask("history", before=pages[-1]["versions"][-1]["version"]))
    assert [row["version"] for page in pages for row in page["versions"]] == [*range(12, -1, -1)]
    for page in pages:
        assert (page["per_bar"], [bar["added"] for bar in page["bars"]]) == (4, [230, 40, 40, 10])
        assert page["total"] == 13


def test_a_difference_says_how_many_splits_it_leaves_out(ask, monkeypatch):
    monkeypatch.setattr("indextables.ui.inspection._MOST_CHANGES", 5)
    found = ask("diff", v=12, old=0)
    assert (len(found["files"]), found["more"], found["added"], found["rows_added"]) == (5, 7, 12, 120)


def test_partitions_have_exact_totals_whatever_is_listed(tmp_path, monkeypatch):
    days = ["b", "a", None, "c"]
    for first in (0, 4, 8):
        rows = {"day": days, "level": ["x/y"] * 4, "n": [first + n for n in range(4)]}
        it.write(tmp_path / "t", pa.table(rows), partition_by=["day", "level"] if not first else None)
    table = it.open(tmp_path / "t")
    table.delete("n = 1")
    table = table.refresh()
    sizes: dict[str, list[int]] = {}
    for row in table.files().to_pylist():
        day = dict(row["partition_values"]).get("day")
        sizes.setdefault("day is null" if day is None else f"day={day}", []).append(row["size"])
    limits = {"_FILES_OF_PAGE": 5, "_MOST_PARTITIONS": 3, "_PIECES_OF_PARTITION": 2}
    for name, limit in limits.items():
        monkeypatch.setattr(f"indextables.ui.inspection.{name}", limit)
    found = files_answer(table, offset=5)
    assert (found["splits"], found["num_partitions"]) == (11, 4)
    assert found["bytes"] == sum(map(sum, sizes.values()))
    names = [part["name"] for part in found["partitions"]]
    assert names == ["day is null/level=x/y", "day=a/level=x/y", "day=b/level=x/y"]
    for part in found["partitions"]:
        own = sorted(sizes[part["name"].partition("/")[0]], reverse=True)
        assert (part["splits"], part["bytes"], part["rest"]) == (len(own), sum(own), len(own) - 2)
        assert [split["bytes"] for split in part["largest"]] == own[:2]
        assert part["rows"] == len(own)
    pages = [files_answer(table, offset=start)["files"] for start in (0, 5, 10)]
    assert [len(page) for page in pages] == [5, 5, 1]
    everything = [row["size"] for page in pages for row in page]
    assert everything == sorted(everything, reverse=True)


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
    files = ask("files")
    assert (files["splits"], files["num_partitions"], files["partitions"][0]["rows"]) == (13, 1, 320)
    described = ask("describe")
    assert (described["time"], described["text"], described["rows"]) == ("at", "message", 320)
    defaults = {row["key"].rpartition(".")[2]: row["default"] for row in ask("settings")["settings"]}
    assert defaults["columnCache"] == "256M"
    assert "targetSplitSize" in defaults
    lines = ask("export", q="disk").splitlines()
    assert len(lines) == 1 + it.open(ui_table).count("disk")
    assert lines[0] == "at,level,host,size,message"


def test_a_long_property_is_cut_and_says_so(ui_table, monkeypatch):
    monkeypatch.setattr("indextables.ui.inspection._LONG", 3)
    found = settings_answer(it.open(ui_table))["properties"]
    assert found["indextables.indexing.typemap.message"] == "tex… (4 characters)"


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
    client = client_of(ui_table)

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
    it.write(tmp_path / "plain", pa.table({"n": [1, 2, 3]}))
    client = client_of(tmp_path / "plain")
    found = client.get("/api/0/overview", params={"fields": "n"}).json()
    assert (found["total"], found["histogram"], len(found["top"]["n"])) == (3, None, 3)
    assert client.get("/api/0/overview").json()["total"] == 3
    assert [row["n"] for row in client.get("/api/0/rows", params={"limit": "2"}).json()["rows"]] == [1, 2]
    assert client.get("/api/0/rows", params={"q": "n:1", "sort": "time"}).status_code == 400
    assert client.get("/api/0/around", params={"split": "a", "row": "0"}).status_code == 400
