"""Every python and sql block of README.md and docs/*.md runs, file by file, in order, in one namespace a file.

Paths below /tmp/ lead into the test's own directory. In Python, a line `expression  # -> text` states what the
expression prints as; in SQL, a line `-- -> [(...)]` after the semicolon states the rows.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATEMENT = re.compile(r"(.+?);[ ]*$(?:\n-- -> ([^\n]+))?", re.MULTILINE | re.DOTALL)
STATED = re.compile(r"#\s*->\s*(.+)$")


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int


def blocks(page: Path, tmp: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(found[1], found[2].replace("/tmp/", f"{tmp}/"), text.count("\n", 0, found.start()) + 1)
        for found in BLOCK.finditer(text)
    ]


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    code = "\n" * block.line + block.code  # so that a traceback names the line of the page
    lines = code.splitlines()
    for node in ast.parse(code, page.name).body:
        stated = STATED.search(lines[node.end_lineno - 1])
        if isinstance(node, ast.Expr) and stated:
            value = eval(compile(ast.Expression(node.value), page.name, "eval"), namespace)
            assert stated[1] in (str(value), repr(value)), f"{page.name}:{node.lineno} gives {value!r}"
        else:
            exec(compile(ast.Module([node], []), page.name, "exec"), namespace)


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
