"""Where the files of a dataset are, and how a manifest names them.

<base>/_metadata/manifest-7.avro     version 7; the first is 1
<base>/_data/                        files of column groups
<base>/_delta/  _stats/  _index/     delta logs, files of statistics, indexes
<base>/../lobs/                      large values, shared by the datasets of one directory

A manifest names a file below its section's directory relative to that directory, so that a dataset can be moved
with its manifests. A file in another place keeps its whole address.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from indextables.columns.manifest import ColumnGroupFile, Manifest
from indextables.errors import CorruptTableError

METADATA_DIR: Final = "_metadata"
DATA_DIR: Final = "_data"
DELTA_DIR: Final = "_delta"
STATS_DIR: Final = "_stats"
INDEX_DIR: Final = "_index"
LOB_DIR: Final = "../lobs"

_MANIFEST_NAME: Final = re.compile(r"manifest-([0-9]{1,18})\.avro", re.ASCII)
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_UNTIDY: Final = re.compile(r"(^|/)(\.\.?)?(/|$)")
"""An empty, `.` or `..` component: what normalising would change."""


def manifest_path(version: int) -> str:
    """Return the path of a version's manifest, relative to the base of the dataset.

    >>> manifest_path(7)
    '_metadata/manifest-7.avro'
    """
    return f"{METADATA_DIR}/manifest-{version}.avro"


def manifest_version(name: str) -> int | None:
    """Return the version whose manifest has this file name, or None for every other file of the directory.

    milvus-storage cuts the last five characters off without looking at them, and so takes `manifest-7.json` or
    a half-written `manifest-7.temp` for version 7. Here the whole name has to fit.

    >>> manifest_version("manifest-7.avro"), manifest_version("manifest-7.temp"), manifest_version("manifest-.avro")
    (7, None, None)
    """
    match = _MANIFEST_NAME.fullmatch(name)
    return int(match[1]) if match else None


def stored_path(path: str, section_dir: str, base: str) -> str:
    """Return the name of the file at `path` in a manifest of the dataset at `base`.

    The rule of milvus-storage: below `base/section_dir/` the name begins there; any other path is kept as it is,
    to be read back by the rule of `resolved_path`. One case differs: a path whose shortened name would be read
    as another file's keeps its whole length.

    >>> stored_path("s3://b/ds/_delta/d1", DELTA_DIR, "s3://b/ds"), stored_path("/other/d2", DELTA_DIR, "s3://b/ds")
    ('d1', '/other/d2')
    """
    prefix = _prefix(base, section_dir)
    if not path.startswith(prefix):
        return path
    short = path[len(prefix) :]
    return short if _is_plain(short) else path


def resolved_path(stored: str, section_dir: str, base: str) -> str:
    """Return the address of the file that a manifest of the dataset at `base` calls `stored`.

    The rule of milvus-storage: what has a scheme or begins with `/` is an address; anything else is below
    `base/section_dir/`, made normal. A relative name that climbs out of the dataset (a large value's: out of
    the directory of large values) is refused, which milvus-storage does not do. An empty name stays empty.

    >>> resolved_path("d1", DELTA_DIR, "/data/ds"), resolved_path("s3://b/d2", DELTA_DIR, "/data/ds")
    ('/data/ds/_delta/d1', 's3://b/d2')
    >>> resolved_path("../../../etc/passwd", DELTA_DIR, "/data/ds")
    Traceback (most recent call last):
        ...
    indextables.errors.CorruptTableError: the manifest names a file outside its dataset: '../../../etc/passwd'
    """
    if _is_plain(stored):
        return _prefix(base, section_dir) + stored
    if not stored or stored.startswith("/") or _ADDRESS.match(stored):
        return stored
    inside = posixpath.normpath(f"{section_dir}/{stored}")
    leaves = (
        not inside.startswith(f"{LOB_DIR}/")
        if section_dir == LOB_DIR
        else inside == "." or inside.split("/", 1)[0] == ".."
    )
    if leaves:
        raise CorruptTableError(f"the manifest names a file outside its dataset: {stored!r}")
    return _join(base, inside)


def relative(manifest: Manifest, base: str) -> Manifest:
    """Return the manifest with every path as it is stored in the dataset at `base`.

    >>> from indextables.columns import DeltaLog
    >>> relative(Manifest(delta_logs=(DeltaLog("/data/ds/_delta/d1", 3),)), "/data/ds").delta_logs[0].path
    'd1'
    """
    return _with_paths(manifest, lambda path, section_dir: stored_path(path, section_dir, base))


def resolved(manifest: Manifest, base: str) -> Manifest:
    """Return the manifest of the dataset at `base` with every path as an address.

    >>> from indextables.columns import DeltaLog
    >>> resolved(Manifest(delta_logs=(DeltaLog("d1", 3),)), "/data/ds").delta_logs[0].path
    '/data/ds/_delta/d1'
    """
    return _with_paths(manifest, lambda path, section_dir: resolved_path(path, section_dir, base))


def _with_paths(manifest: Manifest, place: Callable[[str, str], str]) -> Manifest:
    return replace(
        manifest,
        column_groups=tuple(
            replace(group, files=tuple(_with_path(file, place) for file in group.files))
            for group in manifest.column_groups
        ),
        delta_logs=tuple(replace(log, path=place(log.path, DELTA_DIR)) for log in manifest.delta_logs),
        stats={
            key: replace(stat, paths=tuple(place(path, STATS_DIR) for path in stat.paths))
            for key, stat in manifest.stats.items()
        },
        indexes=tuple(replace(index, path=place(index.path, INDEX_DIR)) for index in manifest.indexes),
        lob_files=tuple(replace(lob, path=place(lob.path, LOB_DIR)) for lob in manifest.lob_files),
    )


def _with_path(file: ColumnGroupFile, place: Callable[[str, str], str]) -> ColumnGroupFile:
    # Not `replace`, which takes twice the time: a dataset has few of everything but files.
    path = place(file.path, DATA_DIR)
    return ColumnGroupFile(path, file.start_index, file.end_index, file.metadata, file.properties)


def _is_plain(name: str) -> bool:
    """Return True for a relative name that normalising would leave as it is."""
    if name and name[0] not in "./" and name[-1] != "/" and "//" not in name and "/." not in name:
        return True
    return not _UNTIDY.search(name) and not _ADDRESS.match(name)


@lru_cache(maxsize=256)
def _prefix(base: str, section_dir: str) -> str:
    return f"{_join(base, section_dir).rstrip('/')}/"


def _join(base: str, inner: str) -> str:
    """Return `base/inner`, normalised; the scheme and the host of an address stay as they are.

    >>> _join("s3://b/ds/", "../lobs"), _join("ds", "_data"), _join("", "_data"), _join("/", "_data")
    ('s3://b/lobs', 'ds/_data', '_data', '/_data')
    """
    match = _ADDRESS.match(base)
    if match is None:
        return _normal(f"{base}/{inner}" if base else inner)
    host, _, key = base[match.end() :].partition("/")
    # Above the host there is nothing: `..` stops there, as it does at the root of a file system.
    return f"{match[0]}{host}{_normal(f'/{key}/{inner}')}"


def _normal(path: str) -> str:
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal  # POSIX lets two slashes mean something else
