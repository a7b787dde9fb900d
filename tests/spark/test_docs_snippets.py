"""Every python and sql block of README.md and docs/*.md runs, file by file, in order, in one namespace a file.

Paths below /tmp/ lead into the test's own directory. In Python, a line `expression  # -> text` states what the
expression prints as; in SQL, a line `-- -> [(...)]` after the semicolon states the rows.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.snippets import ROOT, Block, blocks, run_python

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
STATEMENT = re.compile(r"(.+?);[ ]*$(?:\n-- -> ([^\n]+))?", re.MULTILINE | re.DOTALL)


def run_sql(block: Block, page: Path, spark) -> None:
    assert not STATEMENT.sub("", block.code).strip(), (
        f"{page.name}:{block.line} has SQL that no semicolon ends"
    )
    for statement, stated in STATEMENT.findall(block.code):
        rows = [tuple(row) for row in spark.sql(statement).collect()]
        assert stated in ("", str(rows)), f"{page.name}:{block.line} gives {rows}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_snippets_of_a_page_run(page, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": page.stem, "spark": spark}
    for block in blocks(page, tmp_path):
        if block.language == "python":
            run_python(block, page, namespace)
        else:
            run_sql(block, page, spark)


def test_the_pages_have_snippets(tmp_path):
    assert len(blocks(ROOT / "README.md", tmp_path)) >= 2
