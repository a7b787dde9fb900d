"""Runs the code cells of a notebook in one namespace, without a kernel, and keeps what each cell shows."""

from __future__ import annotations

import ast
import json
from pathlib import Path


def code_cells(path: Path) -> list[str]:
    """Return the source of the code cells. AssertionError if the notebook has outputs: they are not kept in git."""
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells), path
    return ["".join(cell["source"]) for cell in cells]


def run_notebook(path: Path) -> list[object]:
    """Run the cells. Return the value of the last expression of each, None for a cell without one."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    shown = []
    for number, source in enumerate(code_cells(path)):
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        name = f"{path.name}, cell {number}"
        exec(compile(tree, name, "exec"), namespace)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
        shown.append(value)
    return shown
