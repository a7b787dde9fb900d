"""The site builds from docs/ without a warning, its links lead somewhere, and it loads nothing from other hosts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """The links, the anchors and the loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in ("script", "img", "source", "iframe") and values.get("src"):
            self.loaded.append(values["src"])
        if tag == "link" and values.get("href") and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    program = Path(sys.executable).parent / "zensical"
    if not program.exists():
        pytest.skip("zensical is not installed: make setup")
    home = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", home / "docs")
    shutil.copy(ROOT / "mkdocs.yml", home)
    done = subprocess.run(
        [program, "build", "--strict", "--clean"],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    return home / "site"


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Page]:
    return {
        path.relative_to(site).as_posix().removesuffix("index.html"): Page(path.read_text())
        for path in site.rglob("*.html")
        if path.name != "404.html"
    }


def test_every_page_of_docs_is_in_the_site(pages):
    for source in (ROOT / "docs").glob("*.md"):
        assert ("" if source.stem == "index" else f"{source.stem}/") in pages, source.name


def test_every_link_leads_to_a_page_and_an_anchor(site, pages):
    broken = []
    for name, page in pages.items():
        for link in page.links:
            target = urlsplit(urljoin(f"http://site/{name}", link))
            if target.netloc != "site":
                continue
            path = unquote(target.path).lstrip("/")
            if path in pages:
                if target.fragment and unquote(target.fragment) not in pages[path].anchors | {"__skip"}:
                    broken.append(f"{name}: {link}")
            elif not (site / path).is_file():
                broken.append(f"{name}: {link}")
    assert broken == []


PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that a page of Markdown has for its headings."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("name", PAGES)
def test_the_links_of_a_page_outside_of_the_site_lead_to_a_file_and_a_heading(name):
    links = [urlsplit(link) for link in LINK.findall((ROOT / name).read_text())]
    local = [link for link in links if not link.scheme]
    assert local or name == "ARCHITECTURE.md"
    broken = []
    for link in local:
        target = ROOT / unquote(link.path) if link.path else ROOT / name
        if not target.exists() or (link.fragment and link.fragment not in anchors_of(target)):
            broken.append(link.geturl())
    assert broken == []


def test_nothing_is_loaded_from_another_host(pages):
    foreign = {file for page in pages.values() for file in page.loaded if urlsplit(file).netloc}
    assert foreign == set()


def test_the_navigation_names_every_page(pages):
    text = (ROOT / "mkdocs.yml").read_text()
    for source in (ROOT / "docs").glob("*.md"):
        assert f": {source.name}\n" in text, source.name
