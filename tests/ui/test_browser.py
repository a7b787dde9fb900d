"""The web UI in Chromium: what a person does, and that no request leaves the machine."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import indextables as it
from indextables.cli import main
from support.pictures import HASH, IMAGES, PICTURES, hash_of_sources

CHROMIUM = shutil.which("chromium")
AXE = Path(sys.prefix) / "chromium/node_modules/axe-core/axe.min.js"

if CHROMIUM is None:
    pytest.skip(
        "there is no Chromium: apt-get install chromium, or make test as root", allow_module_level=True
    )
playwright = pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


class Watched:
    """A page, and what it must not do."""

    def __init__(self, page, base: str) -> None:
        self.page, self.base = page, base
        self.problems: list[str] = []
        page.on("console", self._told)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", lambda request: self._asked(request.url))

    def _told(self, message) -> None:
        if message.type in ("error", "warning") and "status of 400" not in message.text:
            self.problems.append(message.text)

    def _asked(self, url: str) -> None:
        if not url.startswith((f"{self.base}/", "data:", "blob:")):
            self.problems.append(f"a request to {url}")

    def open(self, path: str) -> None:
        self.page.goto(f"{self.base}{path}")
        self.settle()

    def settle(self) -> None:
        self.page.wait_for_load_state("networkidle")

    def parameter(self, name: str) -> str:
        return parse_qs(urlsplit(self.page.url).query).get(name, [""])[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def context(browser, cli_server):
    return admitted(browser, cli_server)


def admitted(browser, server):
    made = browser.new_context(viewport={"width": 1200, "height": 800}, color_scheme="light")
    made.set_default_timeout(60_000)
    page = made.new_page()
    page.goto(f"{server.base}/?token={server.token}")
    assert page.url == f"{server.base}/"  # the token is no longer in the URL
    page.close()
    return made


@contextmanager
def watching(context, server) -> Iterator[Watched]:
    page = context.new_page()
    watched = Watched(page, server.base)
    yield watched
    page.close()
    assert watched.problems == []


@pytest.fixture
def ui(context, cli_server) -> Iterator[Watched]:
    with watching(context, cli_server) as watched:
        yield watched


@pytest.fixture
def writable(browser, writing_server) -> Iterator[Watched]:
    """A page of the server with `--write`."""
    with watching(admitted(browser, writing_server), writing_server) as watched:
        yield watched


def test_a_search_marks_hits_and_its_url_is_the_state(ui):
    ui.open("/")
    assert ui.page.inner_text("#total") == "320 rows"
    ui.page.keyboard.press("/")
    ui.page.keyboard.type("message:(disk AND full)")
    ui.page.keyboard.press("Enter")
    ui.page.wait_for_selector("text=32 rows")
    assert ui.parameter("q") == "message:(disk AND full)"
    assert ui.page.locator("mark").first.inner_text() == "disk"
    ui.page.go_back()
    ui.page.wait_for_selector("text=320 rows")


def test_an_error_is_shown_in_place(ui):
    ui.open("/?q=message:(disk")
    assert "unclosed parenthesis" in ui.page.inner_text("[role=alert]")
    assert ui.page.get_attribute("#query", "aria-invalid") == "true"
    ui.page.click("[data-field=level] summary")  # names and values are still there
    ui.page.wait_for_selector("[data-field=level] button.name:has-text('ERROR')")
    ui.page.fill("#query", "disk")
    ui.page.press("#query", "Enter")
    ui.page.wait_for_selector("text=33 rows")
    assert ui.page.locator(".error").count() == 0


def test_a_click_and_a_drag_zoom_into_the_histogram(ui):
    ui.open("/?by=level")
    assert ui.page.locator(".chart canvas").count() == 1
    box = ui.page.locator(".chart .u-over").bounding_box()
    ui.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 5)
    ui.page.wait_for_selector("#all-times")
    clicked = ui.parameter("from"), ui.parameter("to")
    assert all(clicked)
    ui.page.click("#all-times")
    ui.page.wait_for_selector("text=320 rows")
    box = ui.page.locator(".chart .u-over").bounding_box()
    ui.page.mouse.move(box["x"] + 100, box["y"] + 20)
    ui.page.mouse.down()
    ui.page.mouse.move(box["x"] + 400, box["y"] + 20, steps=4)
    ui.page.mouse.up()
    ui.page.wait_for_selector("#all-times")
    assert ui.parameter("from") < ui.parameter("to")
    assert (ui.parameter("from"), ui.parameter("to")) != clicked


def test_a_click_on_a_month_ends_with_the_month(ui):
    months = [1767225600, 1769904000, 1772323200]  # of January, February and March 2026

    def by_month(route) -> None:
        answer = route.fetch()
        bars = {"times": months[:2], "ends": months[1:], "series": {"rows": [160, 160]}}
        route.fulfill(response=answer, json={**answer.json(), "histogram": bars, "every": "1 month"})

    ui.page.route("**/api/0/overview*", by_month)
    ui.open("/")
    box = ui.page.locator(".chart .u-over").bounding_box()
    ui.page.mouse.click(box["x"] + 10, box["y"] + box["height"] - 5)
    ui.page.wait_for_selector("#all-times")
    zoomed = ui.parameter("from"), ui.parameter("to")
    assert zoomed == ("2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z")


def test_times_without_a_zone_are_marked_and_asked_as_they_are(ui):
    def without_zone(route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "zoned": False})

    ui.page.route("**/api/0/describe*", without_zone)
    ui.open("/")
    assert "no time zone" in ui.page.inner_text(".chart")
    assert ui.page.get_attribute("#from", "placeholder") == "from, no time zone"
    ui.page.fill("#from", "2026-01-01 12:00")
    ui.page.press("#from", "Enter")
    ui.page.wait_for_selector("#all-times")
    assert ui.parameter("from") == "2026-01-01T12:00"
    ui.settle()
    ui.page.click("#copy")
    assert "timestamp_ntz'2026-01-01T12:00'" in ui.page.inner_text("dialog")


def test_a_top_value_filters_in_and_out(ui):
    ui.open("/")
    ui.page.click("button[aria-label='only level ERROR']")
    ui.page.wait_for_selector("text=32 rows")
    assert ui.parameter("where") == "level = 'ERROR'"
    ui.page.click("button[aria-label='without host db0']")
    ui.page.wait_for_selector("text=16 rows")
    assert ui.parameter("where") == "level = 'ERROR' AND host <> 'db0'"


def test_a_row_opens_with_all_fields_and_the_rows_around(ui):
    ui.open("/?q=failure")
    ui.page.keyboard.press("j")
    ui.page.keyboard.press("o")
    assert "host" in ui.page.inner_text(".expanded dl")
    ui.page.click("text=Rows around it")
    ui.page.wait_for_selector(".around li.here")
    assert ui.page.locator(".around li").count() == 11
    assert "disk failure" in ui.page.inner_text(".around li.here")
    assert ui.page.locator(".expanded > td").evaluate("cell => getComputedStyle(cell).paddingLeft") == "40px"


def test_a_filter_keeps_the_focus(ui):
    focused = "document.activeElement.getAttribute('aria-label')"
    ui.open("/")
    ui.page.focus("button[aria-label='only level ERROR']")
    ui.page.keyboard.press("Enter")
    ui.page.wait_for_selector("text=32 rows")
    ui.settle()
    assert ui.page.evaluate(focused) == "only level ERROR"
    ui.page.focus("button[aria-label='without host db0']")
    ui.page.keyboard.press("Enter")
    ui.page.wait_for_selector("text=16 rows")
    ui.settle()
    assert ui.page.evaluate("document.activeElement.innerText").startswith("host")  # the value is gone
    ui.open("/?page=versions")
    ui.page.focus("#slider")
    ui.page.keyboard.press("ArrowLeft")
    ui.page.wait_for_selector("text=Changes up to version 11")
    ui.settle()
    assert ui.page.evaluate(focused) == "Version"


def test_a_field_is_shown_as_a_column(ui):
    ui.open("/?q=disk")
    ui.page.check("input[aria-label='show host as a column']")
    ui.page.wait_for_selector(".rows th:has-text('host')")
    assert ui.parameter("cols") == "host"
    assert ui.page.is_checked("input[aria-label='show host as a column']")
    ui.page.uncheck("input[aria-label='show host as a column']")
    ui.page.wait_for_selector(".rows th:has-text('host')", state="detached")


def test_the_histogram_is_stacked_by_a_chosen_field(ui):
    ui.open("/")
    assert ui.page.locator(".chart .legend").count() == 0
    ui.page.select_option("#by", "level")
    ui.page.wait_for_selector(".chart .legend")
    assert ui.parameter("by") == "level"
    assert ui.page.locator(".chart .legend li").all_inner_texts() == ["INFO", "WARN", "ERROR"]


def test_the_plan_says_what_was_read_and_skipped(ui):
    ui.open("/?from=2026-01-02T09:00:00Z")
    plan = ui.page.inner_text(".summary")
    read, splits, skipped = re.search(r"(\d+) of (\d+) splits read \((\d+) skipped by", plan).groups()
    assert int(splits) == 13 == int(read) + int(skipped)
    assert re.search(r"\d+ ms", plan)


def test_a_typed_condition_filters_and_its_error_is_shown_in_place(ui):
    ui.open("/")
    ui.page.fill("#where", "level = 'ERROR' OR size > 1000")
    ui.page.press("#where", "Enter")
    ui.page.wait_for_selector("text=34 rows")
    assert ui.parameter("where") == "level = 'ERROR' OR size > 1000"
    ui.page.fill("#where", "absent = 1")
    ui.page.press("#where", "Enter")
    ui.page.wait_for_selector("[role=alert] .error:has-text('absent')")
    assert ui.page.get_attribute("#where", "aria-invalid") == "true"
    assert ui.page.get_attribute("#query", "aria-invalid") is None


def test_the_count_axis_has_whole_numbers(ui):
    """A canvas has no text to look for, so its calls are recorded."""
    ui.page.add_init_script(
        "const draw = CanvasRenderingContext2D.prototype.fillText; window.texts = [];"
        "CanvasRenderingContext2D.prototype.fillText = function (text, ...rest)"
        " { texts.push(text); return draw.call(this, text, ...rest); };"
    )
    ui.open("/?q=message:(disk AND full)")  # at most one row in a bar
    assert {"0", "1"} <= set(ui.page.evaluate("texts"))
    assert [text for text in ui.page.evaluate("texts") if "." in text] == []


def test_bars_stand_above_the_positions_of_the_slider(ui):
    for path in ("/?page=versions&v=6", "/?page=versions&t=1&v=0"):
        ui.open(path)
        for value in ui.page.evaluate("[slider.min, slider.value, slider.max].map(Number)"):
            thumb, bar = ui.page.evaluate(
                """value => {
                  const box = slider.getBoundingClientRect(), thumb = 18;
                  const share = (value - slider.min) / (slider.max - slider.min);
                  const bar = document.querySelectorAll(".bars div")[value - slider.min].getBoundingClientRect();
                  return [box.left + thumb / 2 + share * (box.width - thumb), bar.left + bar.width / 2];
                }""",
                value,
            )
            assert abs(thumb - bar) < 1


def test_every_version_can_be_reached(ui):
    def short(route) -> None:
        answer = route.fetch()
        found = answer.json()
        before = int((parse_qs(urlsplit(route.request.url).query).get("before") or ["99"])[0])
        rows = [row for row in found["versions"] if row["version"] < before]
        route.fulfill(response=answer, json={**found, "versions": rows[:5]})

    ui.page.route("**/api/0/history*", short)
    ui.open("/?page=versions")
    assert "versions 8 to 12 of 0 to 12" in ui.page.inner_text("#commits .pager")
    ui.page.click("text=Older commits")
    ui.page.wait_for_selector("text=versions 3 to 7 of 0 to 12")
    ui.page.click("text=Older commits")
    ui.page.wait_for_selector("text=versions 0 to 2 of 0 to 12")
    assert ui.page.is_disabled("text=Older commits")
    ui.page.click("text=Newest commits")
    ui.page.wait_for_selector("text=versions 8 to 12 of 0 to 12")
    ui.page.fill("#version", "1")
    ui.page.press("#version", "Enter")
    ui.page.wait_for_selector("text=Changes up to version 1")
    assert ui.parameter("v") == "1"


def test_two_versions_are_compared(ui, cli_server):
    ui.open("/?page=versions&v=9")
    assert "1 split added" in ui.page.inner_text("#difference")
    ui.page.fill("#old", "4")
    ui.page.press("#old", "Enter")
    ui.page.wait_for_selector("text=5 splits added")
    assert ui.parameter("old") == "4"
    assert "50 rows added" in ui.page.inner_text("#difference")
    ui.page.keyboard.press("Escape")  # out of the field, so that keys are commands
    ui.page.keyboard.press("c")
    command, python, sql = [element.inner_text() for element in ui.page.query_selector_all("dialog pre")]
    assert command.splitlines()[1] == f"indextables diff {cli_server.table} 4 9"
    names: dict[str, Any] = {}
    imported, listed, compared = python.splitlines()
    exec(imported, names)
    assert eval(listed, names).num_rows == 13
    assert len(eval(compared, names).adds) == 5
    assert "VERSION AS OF 9 EXCEPT ALL" in sql


def test_what_a_list_leaves_out_is_counted_and_can_be_seen(ui):
    ui.open("/?page=versions&v=12&old=0")
    assert ui.page.locator("text=and 2 more splits").count() == 1
    ui.page.click("text=and 2 more splits")
    assert ui.page.locator("tr:has-text('added')").count() == 12

    def many(route) -> None:
        answer = route.fetch()
        found = answer.json()
        (part,) = found["partitions"]
        parts = [{**part, "name": f"day={n:02}"} for n in range(40)]
        found |= {"partitions": parts, "num_partitions": 45, "splits": 2500, "bytes": 50 * part["bytes"]}
        route.fulfill(response=answer, json=found)

    ui.page.route("**/api/0/files*", many)
    ui.open("/?page=files")
    assert "2,500 splits in 45 partitions" in ui.page.inner_text("#files-total")
    assert ui.page.locator(".map .part").count() == 30
    assert "and 5 more partitions" in ui.page.inner_text(".page")
    ui.page.click("text=and 10 more partitions")
    assert ui.page.locator(".map .part").count() == 40
    ui.page.click("text=Next")
    ui.settle()
    assert ui.parameter("offset") == "13"


def test_pieces_of_partitions_have_the_lengths_of_their_bytes(ui, cli_server):
    ui.open("/?page=files&t=1")
    table = it.open(cli_server.others[0])
    sizes: dict[str, int] = {}
    for row in table.files().to_pylist():
        ((name, value),) = row["partition_values"]
        sizes[f"{name}={value}"] = sizes.get(f"{name}={value}", 0) + row["size"]
    names = ui.page.locator(".map .name").all_inner_texts()
    assert names == sorted(sizes)
    lengths = ui.page.evaluate(
        "[...document.querySelectorAll('.map .length')].map((bar) => bar.getBoundingClientRect().width)"
    )
    for name, length in zip(names, lengths, strict=True):
        assert abs(length / max(lengths) - sizes[name] / max(sizes.values())) < 0.005
    cut = ui.page.evaluate(
        "[...document.querySelectorAll('.map span')].filter((text) => text.scrollWidth > text.clientWidth + 1).length"
    )
    assert cut == 0


def test_a_setting_is_found(ui):
    ui.open("/?page=schema")
    everything = ui.page.locator("tbody tr").count()
    ui.page.fill("input[aria-label='Find a setting']", "targetSplitSize")
    assert 0 < ui.page.locator("tbody tr").count() < everything
    assert "targetSplitSize" in ui.page.inner_text(".page")
    kinds = ui.page.locator("tbody >> nth=0 >> td:nth-child(3)").all_inner_texts()
    assert kinds == ["time", "exact", "exact", "number", "text"]


def test_writes_of_the_page(writable, writing_server):
    writable.open("/?page=health")
    versions = it.open(writing_server.table).version
    writable.page.on("dialog", lambda dialog: dialog.accept())
    writable.page.locator("button:has-text('Do it')").first.click()
    writable.page.wait_for_selector("button:has-text('Do it')", state="detached")
    table = it.open(writing_server.table)
    assert (table.version, table.files().num_rows, table.count()) == (versions + 1, 1, 130)
    writable.open("/?page=versions&v=1")
    writable.page.click("#restore")
    writable.page.wait_for_selector(f"text=Changes up to version {versions + 2}")
    assert it.open(writing_server.table).count() == 20


def test_script_in_a_row_is_text(ui):
    ui.open("/?q=failure")
    assert "<script>window.hacked" in ui.page.inner_text(".rows")
    assert ui.page.evaluate("window.hacked") is None


def test_the_slider_searches_the_past(ui):
    ui.open("/?page=versions")
    ui.page.eval_on_selector(
        "#slider", "slider => { slider.value = '0'; slider.dispatchEvent(new Event('change')); }"
    )
    ui.page.wait_for_selector(".bars div.at:first-child")
    assert ui.page.locator(".bars div.after").count() == 12
    ui.page.click("text=Search at this version")
    ui.page.wait_for_selector("text=200 rows")
    assert ui.parameter("v") == "0"
    ui.page.keyboard.press("]")
    ui.page.wait_for_selector("text=210 rows")


def test_the_history_has_the_queries_of_this_browser(ui):
    ui.open("/?q=disk&where=level%20%3D%20'INFO'")
    ui.open("/?q=volume")
    ui.open("/")
    ui.page.keyboard.press("h")
    queries = ui.page.locator("dialog .list button").all_inner_texts()
    assert queries[:2] == ["volume", "disk where level = 'INFO'"]
    ui.page.fill("dialog input", "level")
    ui.page.click("dialog .list button")
    ui.page.wait_for_selector("text=1 row")
    assert (ui.parameter("q"), ui.parameter("where")) == ("disk", "level = 'INFO'")
    ui.page.click("#history")
    ui.page.click("text=Forget them")
    assert ui.page.locator("dialog .list button").count() == 0


def test_nothing_found_says_what_may_be_in_the_way(ui):
    ui.open("/?q=disk&where=size%20%3D%20-1")
    ui.page.click("text=Without the condition")
    ui.page.wait_for_selector("text=33 rows")
    assert ui.parameter("where") == ""


def test_nothing_found_by_an_exact_value_says_so(ui):
    for query, hint in (
        ("level:error", "Values of level are exact and case-sensitive"),
        ("host:db0 AND level:error", "Values of level and host are exact"),
        ("message:dis", "Words are matched whole"),
        ("dis", "Words are matched whole"),
    ):
        ui.open(f"/?q={query}")
        assert hint in ui.page.inner_text(".blank")


def test_figures_of_a_part_of_the_rows_are_marked(ui):
    def part(route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "counted": 7})

    ui.page.route("**/api/0/overview*", part)
    ui.open("/?q=disk")
    assert "7 of 33 rows" in ui.page.inner_text("#partial")
    assert ui.page.inner_text("#total") == "33 rows"


def test_rows_of_values_that_are_not_listed_are_counted(ui):
    ui.open("/")
    ui.page.locator("[data-field=size] button.link").click()
    assert "and 310 rows of other values" in ui.page.inner_text("[data-field=size]")
    assert "of other values" not in ui.page.inner_text("[data-field=level]")


def test_a_typed_time_range_filters(ui):
    ui.open("/")
    ui.page.fill("#from", "2026-01-01 12:00")
    ui.page.fill("#to", "2026-01-01 13:00")
    ui.page.press("#to", "Enter")
    ui.page.wait_for_selector("text=9 rows")
    assert ui.parameter("from") == "2026-01-01T12:00Z"


def test_a_typed_day_is_whole_and_a_wrong_range_is_refused_in_place(ui):
    ui.open("/")
    ui.page.fill("#from", "2026-01-01")
    ui.page.fill("#to", "2026-01-01")
    ui.page.press("#to", "Enter")
    ui.page.wait_for_selector("text=206 rows")
    assert (ui.parameter("to"), ui.page.input_value("#to")) == ("2026-01-01", "2026-01-01")
    ui.settle()
    ui.page.click("#copy")
    command = ui.page.inner_text("dialog pre")
    assert "at < timestamp'2026-01-02T00:00:00+00:00'" in command
    ui.page.keyboard.press("Escape")
    for name, typed, message in (
        ("to", "2025-12-31", "'to' is before 'from'"),
        ("from", "5.3.2026", "from is '5.3.2026'; it takes a day"),
    ):
        ui.page.fill(f"#{name}", typed)
        ui.page.press(f"#{name}", "Enter")
        ui.page.wait_for_selector(f'[role=alert] .error:has-text("{message}")')
        assert ui.page.get_attribute(f"#{name}", "aria-invalid") == "true"


def test_the_message_of_a_row_fits_into_a_narrow_window(ui):
    ui.page.set_viewport_size({"width": 420, "height": 800})
    ui.open("/?q=disk")
    box = ui.page.locator(".rows tr.row .clamp").first.bounding_box()
    assert box["width"] > 250
    assert box["x"] + box["width"] <= 420


def test_t_switches_between_light_and_dark(ui):
    ui.open("/")
    for theme in ("dark", "light"):
        ui.page.keyboard.press("t")
        ui.settle()
        assert ui.page.evaluate("document.documentElement.dataset.theme") == theme
    ui.page.evaluate("localStorage.clear()")


def test_health_says_what_helps(ui):
    ui.open("/?page=health")
    ui.page.wait_for_selector(".card.warning")
    assert re.search(r"indextables merge \S+ --target 256M", ui.page.inner_text(".card.warning code"))


def test_files_open_one_split(ui):
    ui.open("/?page=files")
    ui.page.locator(".map button").first.click()
    ui.page.wait_for_selector("#split")
    assert "rows-0.parquet" in ui.page.inner_text("#split")
    row = ui.page.inner_text("#split tr:has-text('rows-0.parquet')")
    assert all(column in row for column in ("at", "level", "host", "size", "message"))
    assert "KiB" in ui.page.inner_text(".map .figures")


def test_keys_pages_and_copies(ui, cli_server):
    ui.open("/?q=disk&where=level%20%3D%20'ERROR'")
    ui.page.keyboard.press("c")
    text = ui.page.inner_text("dialog")
    assert f"indextables search {cli_server.table} disk -n 50 --where \"level = 'ERROR'\"" in text
    assert "it.open(" in text
    assert "_indexall INDEXQUERY 'disk'" in text
    ui.page.keyboard.press("Escape")
    for number, title in enumerate(("Discover", "Versions", "Health", "Files", "Schema"), 1):
        ui.page.keyboard.press(str(number))
        ui.page.wait_for_selector(f"nav a[aria-current]:has-text('{title}')")
        ui.settle()
    ui.page.keyboard.press("?")
    assert "older, newer version" in ui.page.inner_text("dialog")
    assert "status:[500 TO 599]" in ui.page.inner_text("#syntax")


@pytest.mark.parametrize(
    "view",
    [
        "q=disk&sort=time&cols=host&by=level",
        "q=disk&cols=host",
        "cols=host&where=size%20%3E%20100",
        "sort=score",
    ],
)
def test_what_is_copied_has_the_rows_of_the_page(ui, view, capsys):
    ui.open(f"/?{view}")
    page = ui.page.evaluate(
        "view => fetch(`/api/0/rows?limit=50&${view}`).then((answer) => answer.json())", view
    )
    ui.page.keyboard.press("c")
    command, python, sql = [element.inner_text() for element in ui.page.query_selector_all("dialog pre")]
    ui.page.keyboard.press("Escape")
    capsys.readouterr()
    first, *rest = command.splitlines()
    assert main([*shlex.split(first)[1:], "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = sorted(row["at"] for row in page["rows"])
    assert sorted(row["at"] for row in rows) == expected
    is_chosen = "cols=" in view
    assert (set(rows[0]) - {"_score"} == {"at", "level", "host", "message"}) == is_chosen
    names: dict[str, Any] = {}
    imported, expression, *stacked = python.splitlines()
    exec(imported, names)
    table = eval(expression, names)
    assert sorted(f"{row['at']:%Y-%m-%dT%H:%M:%S}.000000Z" for row in table.to_pylist()) == expected
    assert ("size" in table.column_names) != is_chosen
    assert ("SELECT *" in sql) != is_chosen
    assert ("ORDER BY at DESC" in sql) == ("sort=time" in view or "q=" not in view)
    assert bool(stacked) == bool(rest) == ("by=level" in view)
    for line in rest:
        assert main([*shlex.split(line)[1:], "--json"]) == 0
        counts = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
        assert sum(row["count"] for row in counts) == sum(eval(stacked[0], names).column("count").to_pylist())


def test_the_link_to_export_has_the_view(ui):
    ui.open("/?q=disk&sort=time&cols=host")
    link = ui.page.get_attribute("#export", "href")
    assert "sort=time" in link
    assert "columns=at%1Flevel%1Fhost%1Fmessage" in link


def opened_row(ui) -> None:
    ui.page.keyboard.press("j")
    ui.page.keyboard.press("o")
    ui.page.click("text=Rows around it")
    ui.page.wait_for_selector(".around li.here")


def pressed(key: str):
    def press(ui) -> None:
        ui.page.keyboard.press(key)
        ui.page.wait_for_selector("dialog[open]")

    return press


def opened_split(ui) -> None:
    ui.page.locator(".map button").first.click()
    ui.page.wait_for_selector("#split")
    ui.settle()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_have_no_serious_finding_of_axe(ui, theme):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make test with Node.js")
    ui.page.emulate_media(color_scheme=theme)
    for path, act in (
        ("/?q=disk&by=level", None),
        ("/?q=disk&by=level", opened_row),
        ("/?q=disk", pressed("h")),
        ("/?q=disk", pressed("c")),
        ("/?q=disk", pressed("?")),
        ("/?q=message:(disk", None),
        ("/?q=absent", None),
        ("/?page=versions", None),
        ("/?page=health", None),
        ("/?page=files", None),
        ("/?page=files&t=1", opened_split),
        ("/?page=schema", None),
    ):
        ui.open(path)
        if act:
            act(ui)
        assert ui.page.evaluate("document.documentElement.dataset.theme") == theme
        ui.page.evaluate(AXE.read_text())
        # What does not depend on colours is the same in the dark.
        rules = "" if theme == "light" else "runOnly: ['color-contrast'], "
        found = ui.page.evaluate(f"axe.run(document, {{ {rules}resultTypes: ['violations'] }})")
        serious = [
            (finding["id"], [node["html"][:120] for node in finding["nodes"]][:3])
            for finding in found["violations"]
            if finding["impact"] in ("serious", "critical")
        ]
        assert serious == [], (path, act)


def test_no_two_kinds_of_a_split_have_the_same_colour(ui):
    for theme in ("light", "dark"):
        ui.page.emulate_media(color_scheme=theme)
        ui.open("/?page=files&t=1")
        opened_split(ui)
        colours = ui.page.evaluate(
            "[...document.querySelectorAll('#split .legend i')].map((box) => getComputedStyle(box).backgroundColor)"
        )
        assert len(colours) == len(set(colours)) > 6


def test_screenshots_of_the_documentation(ui, tmp_path, cli_server):
    """Show each page of the documentation; `make pictures` writes them there."""
    is_kept = "INDEXTABLES_PICTURES" in os.environ
    target = IMAGES if is_kept else tmp_path
    pages = {
        "discover": "/?t=1&q=message:(timeout%20AND%20connection)&by=service",
        "discover-dark": "/?t=1&by=level",
        "versions": "/?t=1&page=versions&v=18&old=15",
        "health": "/?page=health",  # of many small splits
        "files": "/?t=1&page=files",
        "schema": "/?t=1&page=schema",
    }
    assert tuple(pages) == PICTURES
    for name, path in pages.items():
        ui.page.emulate_media(color_scheme="dark" if name.endswith("dark") else "light")
        ui.page.set_viewport_size({"width": 1280, "height": 560 if name == "health" else 840})
        ui.open(path)
        ui.open(path)  # with what is cached: the figures of a page that is in use
        if name == "files":
            opened_split(ui)
        ui.page.evaluate(
            """paths => {
              const shown = (text, path) => text.replaceAll(path, "/data/logs");
              const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
              while (texts.nextNode()) texts.currentNode.data = paths.reduce(shown, texts.currentNode.data);
              document.activeElement.blur();
            }""",
            [cli_server.table, *cli_server.others],
        )
        ui.page.mouse.move(0, 0)
        ui.page.screenshot(path=target / f"{name}.png")
        assert (target / f"{name}.png").stat().st_size > 10_000
    if is_kept:
        HASH.write_text(f"{hash_of_sources()}\n")
