"""Runs the notebooks of examples/ without a kernel, and stores what their cells show, so that viewers have it.

A notebook whose outputs differ only in times, paths and figures of speed is left as it is.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent.parent / "examples" / "notebooks"
NOTEBOOKS = sorted(HOME.glob("*.ipynb"))

_PATHS = re.compile(rf"{re.escape(tempfile.gettempdir())}/tmp\w+")
_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?=</td>)"), "TIME"),
    (re.compile(r"(ms': )[\d.]+"), r"\1FIGURE"),
    (re.compile(r"[\d.]+ MiB"), "SIZE"),
    (re.compile(r"(\.\d{6})\d+"), r"\1"),
)


def run(notebook: dict[str, Any], name: str) -> list[object]:
    """Run the code cells. Return the value of the last expression of each, None for a cell without one."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(code_cells(notebook)):
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        place = f"{name}, cell {number}"
        exec(compile(tree, place, "exec"), namespace)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), namespace)
        shown.append(value)
    return shown


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs(value: object, number: int) -> list[dict[str, Any]]:
    """Return what a notebook stores for the value of a cell, without the directory of this run."""
    if value is None:
        return []
    page = getattr(value, "_repr_html_", None)
    data = {} if page is None else {"text/html": _lines(page())}
    data["text/plain"] = _lines(repr(value))
    return [{"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}]


def stable(found: object) -> str:
    """Return outputs as text, without what differs from run to run."""
    text = json.dumps(found, ensure_ascii=False)
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text


def _lines(text: str) -> list[str]:
    return _PATHS.sub("/tmp/example", text).splitlines(keepends=True)


def main() -> int:
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text())
        shown = run(notebook, path.name)
        for number, (cell, value) in enumerate(zip(code_cells(notebook), shown, strict=True), start=1):
            new = outputs(value, number)
            if stable(new) != stable(cell["outputs"]):
                cell["outputs"] = new
            cell["execution_count"] = number
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(f"ran {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
