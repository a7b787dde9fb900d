"""The notebooks of examples/ run from top to bottom, show HTML without scripts, and keep what they show."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("notebook_outputs", ROOT / "tools" / "notebook_outputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_outputs_are_stored(tool, path):
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    shown = tool.run(notebook, path.name)
    pages = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(pages) >= 2  # the table, and the hits of a search
    assert any("<mark" in page or "<b>" in page for page in pages)
    assert not any("<script" in page for page in pages)
    for number, (cell, value) in enumerate(zip(tool.code_cells(notebook), shown, strict=True), start=1):
        assert cell["execution_count"] == number
        stored = tool.stable(cell["outputs"])
        assert stored == tool.stable(tool.outputs(value, number)), "run `make docs`"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_name_no_place_on_a_machine(path):
    text = path.read_text()
    assert "/tmp/example" in text
    assert not any(place in text for place in (str(ROOT), "/tmp/tmp", "/home/"))


def test_every_example_is_a_script_and_a_notebook():
    names = {path.stem for path in NOTEBOOKS}
    assert names == {"documents", "parquet_lake", "security_logs"}
    assert all((EXAMPLES / f"{name}.py").exists() for name in names)
