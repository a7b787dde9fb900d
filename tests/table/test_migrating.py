"""What docs/migrating.md says about tables of the original, on such tables: its steps, its settings, its exceptions."""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

import indextables as it
from indextables.config import UNREAD, Family, Setting, keys
from indextables.errors import SchemaError
from indextables.table import Table
from support.foreign import FIXTURES, TABLES, pack
from support.original import original_keys
from support.snippets import ROOT, blocks, run_python

PAGE = ROOT / "docs" / "migrating.md"
Row = dict[str, Any]

needs_fixtures = pytest.mark.skipif(not TABLES, reason="the fixtures are not next to this checkout")
each_table = pytest.mark.parametrize("name", TABLES)


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((FIXTURES / f"{name}.expected.json").read_bytes())
    return found


def copy(name: str, tmp_path: Path, to: str = "table") -> str:
    return str(shutil.copytree(FIXTURES / name, tmp_path / to))


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: orjson.dumps(row, option=orjson.OPT_SORT_KEYS))


def rows_of(table: Table) -> list[Row]:
    return in_order(table.to_arrow().to_pylist())


def is_ours(path: str) -> bool:
    return re.search(r"(^|/)splits/split-[^/]+\.split$", path) is not None


def digests(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@needs_fixtures
@each_table
def test_the_steps_of_the_page_work_on_a_table_of_the_original(tmp_path: Path, name: str) -> None:
    copy(name, tmp_path, "old-logs")
    steps = [block for block in blocks(PAGE, tmp_path) if block.language == "python"]
    assert "stands for yours" in PAGE.read_text().split("```python")[0]
    column = next(column for column, _ in expected(name)["schema"] if column in ("text", "title"))
    namespace: dict[str, object] = {"__name__": "migrating", "it": it}
    for block in steps[1:]:
        run_python(replace(block, code=re.sub(r"\btext\b", column, block.code)), PAGE, namespace)
    old, tried = tmp_path / "old-logs", tmp_path / "try-logs"
    assert digests(old) == digests(FIXTURES / name)
    assert digests(old).items() <= digests(tried).items()


@needs_fixtures
@each_table
def test_a_merge_replaces_splits_of_the_original_and_keeps_every_row(tmp_path: Path, name: str) -> None:
    path, wanted = copy(name, tmp_path), expected(name)
    table = it.open(path)
    before = rows_of(table)
    assert before == in_order(wanted["allRows"])
    assert sorted(table.snapshot.files) == sorted(wanted["paths"])
    it.write(path, table.to_arrow())
    both = it.open(path)
    assert sum(map(is_ours, both.snapshot.files)) == len(both.snapshot.files) - len(wanted["paths"]) > 0
    merged = both.merge_splits()
    after = it.open(path)
    assert (merged.status, merged.skipped_files, merged.linked) == ("success", 0, 0)
    assert merged.indexed_again == merged.merge_groups
    assert all(map(is_ours, after.snapshot.files))
    assert rows_of(after) == in_order(wanted["allRows"] * 2)
    assert after.count() == 2 * len(before)
    for version in range(1, table.version + 1):
        assert (
            it.open(path, version=version).count() == it.open(str(FIXTURES / name), version=version).count()
        )
    assert rows_of(it.open(path, version=table.version)) == before
    protocol = after.snapshot.protocol
    assert (protocol.min_reader_version, protocol.min_writer_version) == (4, 4)


@needs_fixtures
@each_table
def test_writes_and_merges_leave_the_files_of_the_original_as_they_are(tmp_path: Path, name: str) -> None:
    path = copy(name, tmp_path)
    kept = {key: digest for key, digest in digests(Path(path)).items() if "_last_checkpoint" not in key}
    it.write(path, it.open(path).to_arrow())
    it.open(path).merge_splits()
    it.open(path).checkpoint()
    splits = {key: digest for key, digest in kept.items() if key.endswith(".split")}
    assert splits.items() <= digests(Path(path)).items()
    assert it.open(path).restore(expected(name)["version"]) > 0
    assert sorted(it.open(path).snapshot.files) == sorted(expected(name)["paths"])


@needs_fixtures
def test_a_lone_split_of_the_original_stays_until_the_rows_are_written_again(tmp_path: Path) -> None:
    path = copy("04_partitioned", tmp_path)
    table = it.open(path)
    assert table.merge_splits().status == "no_action"
    rows, columns = table.to_arrow(), table.partition_columns
    it.write(path, rows, mode="overwrite", partition_by=columns)
    after = it.open(path)
    assert all(map(is_ours, after.snapshot.files))
    assert (rows_of(after), after.partition_columns) == (in_order(rows.to_pylist()), columns)


@needs_fixtures
def test_versions_of_the_original_can_be_read(tmp_path: Path) -> None:
    path = copy("03_with_removes", tmp_path)
    assert [it.open(path, version=version).count() for version in range(5)] == [0, 5, 10, 15, 1]


@needs_fixtures
@each_table
def test_no_setting_of_the_original_cuts_an_answer(tmp_path: Path, name: str) -> None:
    path, wanted = copy(name, tmp_path), expected(name)
    settings = {"spark.indextables.read.mode": "fast", "spark.tantivy4spark.read.defaultLimit": "1"}
    assert rows_of(it.open(path, settings=settings)) == in_order(wanted["allRows"])


@needs_fixtures
def test_a_table_of_companion_splits_opens_and_its_rows_are_an_error(tmp_path: Path) -> None:
    path = Path(copy("01_single_write", tmp_path))
    for split in path.glob("*.split"):
        size, members = split.stat().st_size, [("meta.json", b"{}"), ("_parquet_manifest.json", b"{}")]
        bare = pack(members, split, b"").stat().st_size
        pack(members, split, b"h" * (size - bare))
    table = it.open(str(path))
    assert table.count() == 3
    with pytest.raises(SchemaError, match="it indexes Parquet files outside the table"):
        table.to_arrow()


def test_the_page_names_settings_that_exist_with_their_effect() -> None:
    defined = [value for value in vars(keys).values() if isinstance(value, Setting | Family)]
    read = {name for value in defined if isinstance(value, Setting) for name in (value.key, *value.aliases)}
    families = tuple(value.prefix for value in defined if isinstance(value, Family))
    unread = {key for group in UNREAD for key in group.keys}
    documented = set(original_keys())
    section = PAGE.read_text().split("\n## Settings\n")[1]
    lines = [line for line in section.splitlines() if line.startswith("| `spark.")]
    assert len(lines) > 10
    for line in lines:
        theirs, here = line.strip("| ").split(" | ", 1)
        for key in re.findall(r"`(spark\.indextables\.[^`]+)`", theirs):
            bare = re.sub(r"<.*", "", key)
            if here.startswith("no effect"):
                assert bare in unread, key
            else:
                assert key in read or bare.startswith(families), key
            assert key in documented or "<" in key, key
        for key in re.findall(r"`(spark\.indextables\.[^`]+)`", here):
            assert key in read, key
