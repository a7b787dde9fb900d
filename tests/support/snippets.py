"""The python and sql blocks of a page of the documentation, and running those in Python.

A line `expression  # -> text` states what the expression prints as.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(python|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STATED = re.compile(r"#\s*->\s*(.+)$")


@dataclass(frozen=True)
class Block:
    """The code of a block, and the line of the page on which it begins."""

    language: str
    code: str
    line: int


def blocks(page: Path, tmp: Path) -> list[Block]:
    """Return the blocks of a page. Paths below /tmp/ lead into `tmp`."""
    text = page.read_text()
    return [
        Block(found[1], found[2].replace("/tmp/", f"{tmp}/"), text.count("\n", 0, found.start()) + 1)
        for found in _BLOCK.finditer(text)
    ]


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    """Run a block in Python, and check what it states."""
    code = "\n" * block.line + block.code  # so that a traceback names the line of the page
    lines = code.splitlines()
    for node in ast.parse(code, page.name).body:
        assert node.end_lineno is not None
        stated = _STATED.search(lines[node.end_lineno - 1])
        if isinstance(node, ast.Expr) and stated:
            value = eval(compile(ast.Expression(node.value), page.name, "eval"), namespace)
            assert stated[1] in (str(value), repr(value)), f"{page.name}:{node.lineno} gives {value!r}"
        else:
            exec(compile(ast.Module([node], []), page.name, "exec"), namespace)
