"""The notebooks of examples/ run from top to bottom, and what they show is HTML without scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.notebooks import run_notebook

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook):
    shown = run_notebook(notebook)
    pages = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(pages) >= 2  # the table, and the hits of a search
    assert any("<mark" in page or "<b>" in page for page in pages)
    assert not any("<script" in page for page in pages)


def test_every_example_is_a_script_and_a_notebook():
    names = {path.stem for path in NOTEBOOKS}
    assert names == {"documents", "parquet_lake", "security_logs"}
    assert all((EXAMPLES / f"{name}.py").exists() for name in names)
