"""The web UI in Chromium: what a person does, and that no request leaves the machine."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from indextables.cli import main

CHROMIUM = shutil.which("chromium")
DOCS = Path(__file__).parents[2] / "docs"
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
    made = browser.new_context(viewport={"width": 1200, "height": 800}, color_scheme="light")
    made.set_default_timeout(60_000)
    page = made.new_page()
    page.goto(f"{cli_server.base}/?token={cli_server.token}")
    assert page.url == f"{cli_server.base}/"  # the token is no longer in the URL
    page.close()
    return made


@pytest.fixture
def ui(context, cli_server) -> Iterator[Watched]:
    page = context.new_page()
    watched = Watched(page, cli_server.base)
    yield watched
    page.close()
    assert watched.problems == []


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


def test_script_in_a_row_is_text(ui):
    ui.open("/?q=failure")
    assert "<script>window.hacked" in ui.page.inner_text(".rows")
    assert ui.page.evaluate("window.hacked") is None


def test_the_slider_searches_the_past(ui):
    ui.open("/?page=versions")
    ui.page.eval_on_selector(
        "#slider", "slider => { slider.value = '0'; slider.dispatchEvent(new Event('change')); }"
    )
    ui.page.wait_for_selector("text=version 0 of 12")
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


def test_figures_of_a_part_of_the_rows_are_marked(ui):
    def part(route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "counted": 7})

    ui.page.route("**/api/0/overview*", part)
    ui.open("/?q=disk")
    assert "7 of 33 rows" in ui.page.inner_text("#partial")
    assert ui.page.inner_text("#total") == "33 rows"


def test_a_typed_time_range_filters(ui):
    ui.open("/")
    ui.page.fill("#from", "2026-01-01 12:00")
    ui.page.fill("#to", "2026-01-01 13:00")
    ui.page.press("#to", "Enter")
    ui.page.wait_for_selector("text=9 rows")
    assert ui.parameter("from") == "2026-01-01T12:00Z"


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
    assert "KiB" in ui.page.inner_text(".map .part > span")


def test_keys_pages_and_copies(ui, cli_server):
    ui.open("/?q=disk&where=level%20%3D%20'ERROR'")
    ui.page.keyboard.press("c")
    text = ui.page.inner_text("dialog")
    assert f"indextables search {cli_server.table} disk -n 50 --where 'level = '\\''ERROR'\\'''" in text
    assert "it.open(" in text
    assert "_indexall INDEXQUERY 'disk'" in text
    ui.page.keyboard.press("Escape")
    for number, title in enumerate(("Discover", "Versions", "Health", "Files", "Schema"), 1):
        ui.page.keyboard.press(str(number))
        ui.page.wait_for_selector(f"nav a[aria-current]:has-text('{title}')")
        ui.settle()
    ui.page.keyboard.press("?")
    assert "older, newer version" in ui.page.inner_text("dialog")


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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_have_no_serious_finding_of_axe(ui, theme):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make test with Node.js")
    ui.page.emulate_media(color_scheme=theme)
    for path in (
        "/?q=disk&by=level",
        "/?q=message:(disk",
        "/?q=absent",
        "/?page=versions",
        "/?page=health",
        "/?page=files",
        "/?page=schema",
    ):
        ui.open(path)
        assert ui.page.evaluate("document.documentElement.dataset.theme") == theme
        ui.page.evaluate(AXE.read_text())
        found = ui.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        serious = [
            (finding["id"], [node["html"][:120] for node in finding["nodes"]][:3])
            for finding in found["violations"]
            if finding["impact"] in ("serious", "critical")
        ]
        assert serious == [], path


def test_screenshots_of_the_documentation(ui, tmp_path, cli_server):
    """Keep the pictures of docs/ current: INDEXTABLES_SCREENSHOTS=docs/images writes them there."""
    target = Path(os.environ.get("INDEXTABLES_SCREENSHOTS", tmp_path))
    for name, path in {
        "discover": "/?q=message:(disk%20AND%20full)",
        "discover-dark": "/?by=level",
        "versions": "/?page=versions&v=6",
    }.items():
        ui.page.emulate_media(color_scheme="dark" if name.endswith("dark") else "light")
        ui.open(path)
        ui.page.eval_on_selector_all(
            "#table option, .command code",
            "(all, path) => all.forEach((one) => { one.textContent = one.textContent.replace(path, '/data/logs'); })",
            cli_server.table,
        )
        ui.page.wait_for_timeout(300)
        ui.page.screenshot(path=target / f"{name}.png")
        assert (target / f"{name}.png").stat().st_size > 10_000
        assert (DOCS / "images" / f"{name}.png").stat().st_size > 10_000, (
            "write it with INDEXTABLES_SCREENSHOTS"
        )
        assert f"images/{name}.png" in (DOCS / "ui.md").read_text()
