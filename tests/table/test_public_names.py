"""What can be imported from `indextables`, and what importing it loads."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types
import typing

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import indextables
from indextables import errors


def _run(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_package_alone_loads_no_large_library():
    code = (
        "import sys, indextables\n"
        "print([name for name in ('pandas', 'pyarrow', 'numpy', 'tantivy', 'sqlglot') if name in sys.modules])"
    )
    assert _run(code) == "[]"


def test_opening_a_table_loads_neither_pandas_nor_maintenance(tmp_path):
    """Pyarrow itself imports an installed pandas at its first `pa.array`: a search does that, opening does not."""
    indextables.write(tmp_path, pa.table({"message": ["disk full"]}), text=["message"])
    indextables.open(tmp_path).checkpoint()
    indextables.write(tmp_path, pa.table({"message": ["login ok"]}))
    code = (
        "import sys, indextables\n"
        "table = indextables.open(sys.argv[1])\n"
        "names = ('pandas', 'sqlglot', 'indextables.maintenance', 'indextables.columns')\n"
        "print(table.version, [name for name in names if name in sys.modules])"
    )
    assert _run(code, str(tmp_path)) == "1 []"


def test_every_public_name_can_be_imported_and_listed():
    for name in indextables.__all__:
        assert getattr(indextables, name) is not None
        assert name in dir(indextables)
    exec("from indextables import *", {})


def test_a_package_is_an_attribute_without_an_import_of_its_own():
    assert _run("import indextables; print(indextables.columns.Manifest.__name__)") == "Manifest"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'indextables' has no attribute 'opne'"):
        _ = indextables.opne


def _subclasses(kind: type) -> set[type]:
    return {kind}.union(*(_subclasses(sub) for sub in kind.__subclasses__()))


def test_every_error_can_be_imported_from_the_top():
    for error in _subclasses(errors.IndexTablesError):
        if error.__module__ == errors.__name__:
            assert getattr(indextables, error.__name__) is error


def test_every_error_is_defined_in_one_module():
    ours = {
        error for error in _subclasses(errors.IndexTablesError) if error.__module__.startswith("indextables")
    }
    assert {error.__module__ for error in ours} == {errors.__name__}


def _types(annotation: object) -> set[type]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return {annotation}
    return set().union(*(_types(argument) for argument in typing.get_args(annotation)))


def _returned_by(method: object) -> set[type]:
    from indextables import maintenance  # noqa: PLC0415

    function = method.fget if isinstance(method, property) else method
    names = vars(maintenance) | vars(indextables.table) | {"pd": pd, "pl": pl} | function.__globals__
    return _types(typing.get_type_hints(function, names)["return"])


def test_every_type_that_a_method_of_a_table_returns_can_be_imported_from_the_top():
    public = [
        member
        for kind in (indextables.Table, indextables.ChangeSet)
        for name, member in inspect.getmembers(kind)
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
    ]
    returned = set().union(*map(_returned_by, public))
    ours = {kind for kind in returned if kind.__module__.startswith("indextables")}
    assert {indextables.ChangeSet, indextables.Purged, indextables.Snapshot} <= ours
    for kind in ours:
        assert getattr(indextables, kind.__name__) is kind
