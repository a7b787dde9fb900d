"""Tables and datasets that an earlier release wrote give the same answers, and take new rows."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import indextables as it
from indextables import columns
from support.earlier import DATASETS, TABLES, answers

ARCHIVE = Path(__file__).parents[1] / "data" / "earlier.zip"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def test_every_answer_is_the_one_that_the_earlier_release_gave(home: Path):
    expected = {}
    for file in (home / "answers").rglob("*.arrow"):
        with pa.ipc.open_file(str(file)) as reader:
            expected[str(file.relative_to(home / "answers").with_suffix(""))] = reader.read_all()
    actual = answers(home)
    assert actual.keys() == expected.keys()
    different = [name for name, table in actual.items() if not is_same(table, expected[name])]
    assert not different


def is_same(actual: pa.Table, expected: pa.Table) -> bool:
    """Whether the answers are the same. Patterns and fuzzy words have snippets now, and had none."""
    if "_snippet" in expected.column_names:
        at = expected.column_names.index("_snippet")
        filled = pc.coalesce(expected.column(at), actual.column(at))
        expected = expected.set_column(at, expected.field(at), filled)
    return bool(actual.equals(expected))


@pytest.mark.parametrize("name", TABLES)
def test_an_earlier_table_is_appended_to(home: Path, name: str):
    path = str(home / name)
    before = it.open(path)
    rows = before.to_arrow(limit=3)
    it.write(path, rows)
    after = it.open(path)
    assert (after.version, after.count()) == (before.version + 1, before.count() + 3)
    assert it.open(path, version=before.version).count() == before.count()


@pytest.mark.parametrize("name", DATASETS)
def test_an_earlier_dataset_is_appended_to(home: Path, name: str):
    path = str(home / name)
    before = columns.open(path)
    kind = name.removeprefix("dataset_")
    columns.write(path, before.take([0, 1, 2]), format=kind)
    assert columns.open(path).num_rows == before.num_rows + 3
