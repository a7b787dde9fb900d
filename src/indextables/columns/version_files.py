"""The versions of a dataset: finding them, finding the newest, reading the manifest of one."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence
from typing import Final

from pyarrow import fs

from indextables.columns.arguments import expect
from indextables.columns.layout import METADATA_DIR, manifest_path, manifest_version, resolved
from indextables.columns.manifest import Manifest
from indextables.columns.stored_files import as_settings
from indextables.config import Settings
from indextables.errors import CorruptTableError, InputError, ObjectNotFoundError, VersionNotFoundError
from indextables.storage import Store, open_store

LATEST: Final = -1
"""In place of a version: the newest one."""

DatasetPlace = str | os.PathLike[str] | Store
"""The address of a dataset, or a store whose root it is."""

_SHOWN_RANGES: Final = 5


def check_place(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return the path. Raises InputError for a value of another type."""
    expect(path, (str, os.PathLike), "the place of a dataset", "a path or an address")
    return path


def place_of(root: DatasetPlace | fs.FileSystem, base_path: str | os.PathLike[str] | None) -> DatasetPlace:
    """Return the place of the dataset at `base_path` below a root. Without a base path the root is the place.

    >>> place_of("s3://bucket/", "shop"), place_of(fs.LocalFileSystem(), "/data/shop")
    ('s3://bucket/shop', '/data/shop')
    """
    prefix = ""
    while isinstance(root, fs.SubTreeFileSystem):
        prefix, root = posixpath.join(root.base_path, prefix), root.base_fs
    if isinstance(root, fs.FileSystem):
        if not isinstance(root, fs.LocalFileSystem):
            raise InputError(
                f"a dataset is opened by its address and not through a {type(root).__name__}, which cannot create "
                f"a file only if it is absent; give the address of the root, such as s3://bucket"
            )
        expect(base_path, (str, os.PathLike), "base_path", "the path of the dataset")
        return posixpath.join(prefix, os.fspath(base_path or ""))
    if base_path is None:
        return root
    expect(
        root, (str, os.PathLike), "the root of base_path", "a path, an address or pyarrow's LocalFileSystem"
    )
    check_place(base_path)
    return f"{os.fspath(root).rstrip('/')}/{os.fspath(base_path).strip('/')}"  # type: ignore[arg-type]


def store_at(place: DatasetPlace, settings: Settings) -> Store:
    """Open the store of a dataset; a store as `place` is returned as it is."""
    if isinstance(place, str | os.PathLike):
        return open_store(place, settings)
    if not hasattr(place, "get_range"):  # a Store, whose protocol is not checked at run time
        raise InputError(f"the place of a dataset is {place!r:.100}; it takes a path, an address or a store")
    return place


def versions(
    place: DatasetPlace,
    settings: Settings | Mapping[str, str] | None = None,
    *,
    options: Settings | Mapping[str, str] | None = None,
) -> tuple[int, ...]:
    """Return the versions that can be read, oldest first. `options` is the older name of `settings`.

    >>> versions("memory:no-such-dataset")
    ()
    """
    return _list_versions(store_at(place, as_settings(settings, options)))


def latest_version(
    place: DatasetPlace,
    settings: Settings | Mapping[str, str] | None = None,
    *,
    options: Settings | Mapping[str, str] | None = None,
) -> int:
    """Return the newest version, or 0 if there is none. `options` is the older name of `settings`.

    >>> latest_version("memory:no-such-dataset")
    0
    """
    return max(versions(place, settings, options=options), default=0)


def read_manifest(
    place: DatasetPlace,
    version: int = LATEST,
    settings: Settings | Mapping[str, str] | None = None,
    *,
    options: Settings | Mapping[str, str] | None = None,
) -> Manifest:
    """Return the manifest of a version, with every path as an address; an empty one for version 0 and for no dataset.

    `options` is the older name of `settings`.

    >>> from indextables.columns import Transaction
    >>> Transaction.open("memory:doc-read-manifest").add_delta_log("d1", 3).commit()
    1
    >>> read_manifest("memory:doc-read-manifest").delta_logs[0].path
    'memory://doc-read-manifest/_delta/d1'
    """
    store = store_at(place, as_settings(settings, options))
    return resolved(load(store, find(store, version)), store.uri)


def find(store: Store, version: int) -> int:
    """Return the number of a version, which may be LATEST. Raises VersionNotFoundError, naming those that exist."""
    expect(version, int, "version", "the number of a version")
    if version != LATEST and version < 0:
        raise InputError(f"there is no version {version}; versions begin with 1, and {LATEST} is the latest")
    if version == LATEST:
        return max(_list_versions(store), default=0)
    if version and not exists(store, version):
        raise _missing(store, version)
    return version


def newest_after(store: Store, version: int) -> int:
    """Find the newest version by galloping search from a version known to exist: O(log n) HEAD requests.

    Versions have no gap from any that once was the newest: each is created by a writer that found the one before it.
    Some stores list objects late, but HEAD of one object is up to date.
    """
    step = 1
    while exists(store, version + step):
        version += step
        step *= 2
    while step > 1:
        step //= 2
        if exists(store, version + step):
            version += step
    return version


def exists(store: Store, version: int) -> bool:
    return store.exists(manifest_path(version))


def load(store: Store, version: int) -> Manifest:
    """Return the manifest of a version, with its paths as they are stored."""
    if version == 0:
        return Manifest()
    key = manifest_path(version)
    try:
        raw = store.get(key)
    except ObjectNotFoundError:
        raise _missing(store, version) from None
    try:
        return Manifest.from_bytes(raw)
    except CorruptTableError as reason:
        raise CorruptTableError(f"{store.uri}/{key}: {reason}") from reason


def _list_versions(store: Store) -> tuple[int, ...]:
    names = (info.key.removeprefix(f"{METADATA_DIR}/") for info in store.list_from(METADATA_DIR))
    numbers = (manifest_version(name) for name in names)
    return tuple(sorted(version for version in numbers if version))


def _missing(store: Store, version: int) -> VersionNotFoundError:
    existing = _list_versions(store)
    advice = f"there are {_ranges(existing)}" if existing else "there are none"
    return VersionNotFoundError(f"{store.uri} has no version {version}; {advice}")


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text, runs of them shortened.

    >>> _ranges([1, 2, 3, 7])
    '1 to 3, 7'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [f"{first} to {last}" if first < last else f"{first}" for first, last in runs[-_SHOWN_RANGES:]]
    return ", ".join((["..."] if len(runs) > _SHOWN_RANGES else []) + shown)
