"""The reference page of the API: complete, up to date, and with an example for what users call."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

import pytest

import indextables
from indextables import columns

TOOL = Path(__file__).parents[2] / "tools" / "api_page.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("api_page", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_api_page_is_up_to_date(tool):
    assert tool.PAGE.read_text() == tool.page(), "run `make docs`"


def test_every_public_name_is_on_the_page(tool):
    page = tool.page()
    errors = {name for name in indextables.__all__ if name.endswith("Error")}
    for name in set(indextables.__all__) - errors - {"__version__"}:
        assert f"### indextables.{name}\n" in page
    for name in errors:
        assert f"`{name}`" in page
    for name in set(columns.__all__) - {"open_dataset"}:
        assert f"### indextables.columns.{name}\n" in page


def _members(kind: type) -> dict[str, object]:
    public = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
    return {f"{kind.__name__}.{name}": value for name, value in public.items() if inspect.isfunction(value)}


EXAMPLES = {
    **{name: getattr(indextables, name) for name in ("open", "write", "Table", "ChangeSet")},
    **_members(indextables.Table),
    **_members(indextables.ChangeSet),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_function_and_method_of_a_table_has_an_example(name):
    assert ">>>" in inspect.getdoc(EXAMPLES[name])


@pytest.mark.parametrize("name", [name for name in indextables.__all__ if name != "__version__"])
def test_every_public_name_has_a_docstring(name):
    assert inspect.getdoc(getattr(indextables, name))


def test_parameters_after_the_first_are_given_by_name():
    allowed = {"write": 2, "Dataset.take": 2, "Reader.take": 2, "Reader.get_chunk_reader": 2}
    readers = _members(columns.Dataset) | _members(columns.Reader)
    for name, value in (EXAMPLES | readers).items():
        if inspect.isfunction(value):
            kinds = [p.kind for p in inspect.signature(value).parameters.values() if p.name != "self"]
            positional = [kind for kind in kinds if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
            assert len(positional) <= allowed.get(name, 1), name
