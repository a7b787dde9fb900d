"""Where the files of a dataset lie, and how its manifests name them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.columns import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    Index,
    LobFile,
    Manifest,
    Statistics,
)
from indextables.columns.layout import (
    DATA_DIR,
    DELTA_DIR,
    INDEX_DIR,
    LOB_DIR,
    STATS_DIR,
    manifest_path,
    manifest_version,
    relative,
    resolved,
    resolved_path,
    stored_path,
)
from indextables.errors import CorruptTableError
from support.columns_values import FULL

SECTIONS = (DATA_DIR, DELTA_DIR, STATS_DIR, INDEX_DIR, LOB_DIR)
BASES = (
    "ds",
    "a/b/ds",
    "/data/ds",
    "/data/ds/",
    "s3://bucket/x/ds",
    "file:///data/ds",
    "s3://bucket",
    "",
    "/",
)


def everywhere(path: str) -> Manifest:
    """A manifest with the path in each of its sections."""
    return Manifest(
        (ColumnGroup(("id",), "parquet", (ColumnGroupFile(path, 0, 3),)),),
        (DeltaLog(path, 3),),
        {"bm25": Statistics((path,), {"k": "v"})},
        (Index("id", "hnsw", path),),
        (LobFile(path, 1, 2, 3, 4),),
    )


def paths(manifest: Manifest) -> list[str]:
    return [
        manifest.column_groups[0].files[0].path,
        manifest.delta_logs[0].path,
        manifest.stats["bm25"].paths[0],
        manifest.indexes[0].path,
        manifest.lob_files[0].path,
    ]


@pytest.mark.spec("Path resolution for delta log files and stat files")
@given(st.integers(0, 10**17))
def test_a_version_is_read_from_the_name_that_it_gives(version: int) -> None:
    assert manifest_version(manifest_path(version).removeprefix("_metadata/")) == version


@pytest.mark.spec("Path resolution for delta log files and stat files")
@pytest.mark.parametrize(
    "name",
    ["manifest-7.temp", "manifest-7.avro.tmp", "manifest--7.avro", "manifest-.avro", "manifest-٣.avro",
     "manifest-7x.avro", "xmanifest-7.avro", "_metadata/manifest-7.avro", "manifest-7.avro\n", "manifest-+7.avro"],
)  # fmt: skip
def test_other_names_are_no_version(name: str) -> None:
    assert manifest_version(name) is None


@pytest.mark.spec("Path resolution for delta log files and stat files")
def test_each_section_has_its_directory_and_large_values_lie_beside_the_dataset() -> None:
    here = resolved(everywhere("x"), "/data/ds")
    assert paths(here) == [
        "/data/ds/_data/x",
        "/data/ds/_delta/x",
        "/data/ds/_stats/x",
        "/data/ds/_index/x",
        "/data/lobs/x",
    ]
    assert relative(here, "/data/ds") == everywhere("x")


@pytest.mark.spec("Path resolution for delta log files and stat files")
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("section", SECTIONS)
def test_a_stored_name_leads_back_to_the_file(base: str, section: str) -> None:
    for name in ("x.parquet", "101/_data/x", "not\udcffutf8", ".hidden", "a/.b", "..c", "a:b"):
        place = resolved_path(name, section, base)
        assert place.endswith(name)
        assert place.startswith(base) or section == LOB_DIR or not base
        assert stored_path(place, section, base) == name


@pytest.mark.spec("Path resolution for delta log files and stat files")
@pytest.mark.parametrize("base", BASES)
def test_nothing_but_paths_changes(base: str) -> None:
    assert relative(resolved(FULL, base), base) == FULL


@pytest.mark.spec("Path resolution for delta log files and stat files")
def test_a_dataset_that_was_moved_is_read_where_it_is() -> None:
    stored = relative(resolved(everywhere("x"), "/old/ds"), "/old/ds")
    assert paths(resolved(stored, "s3://bucket/new"))[:2] == [
        "s3://bucket/new/_data/x",
        "s3://bucket/new/_delta/x",
    ]


@pytest.mark.spec("Path resolution for delta log files and stat files")
@pytest.mark.parametrize("path", ["/elsewhere/x", "s3://b/x", "local:///local/x", "/data/dsx/_data/x"])
def test_files_elsewhere_keep_their_address(path: str) -> None:
    for section in SECTIONS:
        assert stored_path(path, section, "/data/ds") == path
        assert resolved_path(path, section, "/data/ds") == path


@pytest.mark.spec("Path resolution for delta log files and stat files")
def test_a_relative_path_is_taken_to_be_below_its_section() -> None:
    # What milvus-storage does with it too: the name that was given is not the place that comes back.
    assert stored_path("delta/x", DELTA_DIR, "ds") == "delta/x"
    assert resolved_path("delta/x", DELTA_DIR, "ds") == "ds/_delta/delta/x"


@pytest.mark.spec("Path resolution for delta log files and stat files")
@pytest.mark.parametrize("rest", ["/etc/passwd", "s3://b/x", "../x", "a//b", "a/./b", ""])
def test_a_path_is_not_shortened_to_the_name_of_another_file(rest: str) -> None:
    path = f"/data/ds/_data/{rest}"
    assert stored_path(path, DATA_DIR, "/data/ds") == path
    assert resolved_path(path, DATA_DIR, "/data/ds") == path


@pytest.mark.spec("Path resolution for delta log files and stat files")
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("stored", ["../../x", "../..", "a/../../../x", "./../../../../../etc/passwd"])
def test_names_that_climb_out_of_the_dataset_are_refused(stored: str, base: str) -> None:
    for section in SECTIONS:
        with pytest.raises(CorruptTableError, match="outside its dataset"):
            resolved_path(stored, section, base)


@pytest.mark.spec("Path resolution for delta log files and stat files")
def test_names_that_climb_inside_the_dataset_are_made_normal() -> None:
    assert resolved_path("../_data/./x", DELTA_DIR, "/data/ds") == "/data/ds/_data/x"
    assert resolved_path("a//b", DATA_DIR, "/data/ds") == "/data/ds/_data/a/b"
    with pytest.raises(CorruptTableError, match="outside"):
        resolved_path("../x", LOB_DIR, "/data/ds")


@pytest.mark.spec("Path resolution for delta log files and stat files")
def test_no_name_stays_no_name() -> None:
    assert paths(resolved(everywhere(""), "/data/ds")) == [""] * 5


path_text = st.text(st.sampled_from("a./:s3"), max_size=12)


@pytest.mark.spec("Path resolution for delta log files and stat files")
@given(path_text, st.sampled_from(SECTIONS), st.sampled_from(BASES))
def test_no_relative_name_leads_out_of_the_dataset(stored: str, section: str, base: str) -> None:
    try:
        place = resolved_path(stored, section, base)
    except CorruptTableError:
        return
    if place != stored:
        home = base.rstrip("/")
        above = home.rpartition("/")[0] if section == LOB_DIR else home
        assert place.startswith(above)
        assert ".." not in place.removeprefix("../lobs").split("/")


@pytest.mark.spec("Path resolution for delta log files and stat files")
@given(path_text, st.sampled_from(SECTIONS), st.sampled_from(BASES))
def test_whatever_is_shortened_comes_back(path: str, section: str, base: str) -> None:
    short = stored_path(path, section, base)
    if short != path:
        assert resolved_path(short, section, base) == path
