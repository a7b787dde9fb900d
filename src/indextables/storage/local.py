"""A store on this machine's disk, durable: what a call has written survives the power cut after it.

A create is a temporary file in the same directory, fsync, link, fsync of the directory. The link is the
moment of truth: it fails if the name exists, and the name never shows half a file.
"""

# Descriptors and links are the subject here; a Path per call would cost as much as the call.
# ruff: noqa: PTH102, PTH105, PTH108, PTH112, PTH116, PTH120, PTH123

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NoReturn

from indextables.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    StorageDeniedError,
    StorageError,
    UnsafeStoreError,
)
from indextables.storage.store import ObjectInfo, check_key, check_size

_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})
_CHUNK: Final = 1 << 24
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})


class LocalStore:
    """Objects are files below `root`, which is made by the first write."""

    def __init__(self, root: str) -> None:
        self.uri = root
        self._root = root

    def __repr__(self) -> str:
        return f"LocalStore({self.uri!r})"

    def get(self, key: str, limit: int | None = None) -> bytes:
        path = self._path(key)
        try:
            with open(path, "rb", buffering=0) as file:
                if limit is None:
                    return file.read()
                check_size(self._name(key), os.fstat(file.fileno()).st_size, limit)
                data = _read_at_most(file, limit + 1)  # it may be longer than it said
        except OSError as reason:
            self._fail("read", key, reason)
        check_size(self._name(key), len(data), limit)
        return data

    def get_range(self, key: str, start: int, length: int) -> bytes:
        path = self._path(key)
        try:
            with open(path, "rb", buffering=0) as file:
                data = os.pread(file.fileno(), length, start)
                while len(data) < length:  # the kernel caps one read at 2 GiB
                    more = os.pread(file.fileno(), length - len(data), start + len(data))
                    if not more:
                        raise StorageError(
                            f"{self._name(key)} ends at byte {start + len(data)}; "
                            f"bytes {start} to {start + length} were asked for"
                        )
                    data += more
                return data
        except OSError as reason:
            self._fail("read", key, reason)

    def head(self, key: str) -> ObjectInfo:
        try:
            status = os.stat(self._path(key))
        except OSError as reason:
            self._fail("look at", key, reason)
        return ObjectInfo(key, status.st_size, status.st_mtime_ns // 1_000_000)

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectInfo]:
        directory = prefix.strip("/")
        if directory:
            check_key(self.uri, directory)
        try:
            yield from _walk(self._root, directory, start_after)
        except OSError as reason:
            self._fail("list", directory, reason)

    def create(self, key: str, data: bytes) -> None:
        path = self._path(key)

        def link(temporary: str) -> None:
            try:
                os.link(temporary, path)
            except FileExistsError:
                raise ObjectExistsError(f"{self._name(key)} is already there") from None
            except OSError as reason:
                if reason.errno in _NO_LINKS:
                    raise UnsafeStoreError(
                        f"the file system of {self.uri} has no hard links, on which a safe commit rests; "
                        f"put the table on another one"
                    ) from reason
                raise

        self._write("create", key, path, lambda fd: _write_all(fd, data), link)

    def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        self._write(
            "write", key, path, lambda fd: _write_all(fd, data), lambda temporary: os.replace(temporary, path)
        )

    def put_file(self, key: str, source: Path) -> None:
        path = self._path(key)
        try:
            _sync(os.fspath(source))
            _within_directory(path, lambda: os.replace(source, path))
            _sync(os.path.dirname(path))
        except OSError as reason:
            if reason.errno != errno.EXDEV:
                self._fail("write", key, reason)
            self._write(
                "write",
                key,
                path,
                lambda fd: _copy(source, fd),
                lambda temporary: os.replace(temporary, path),
            )

    def delete(self, key: str) -> None:
        try:
            os.unlink(self._path(key))
        except FileNotFoundError:
            return
        except OSError as reason:
            self._fail("delete", key, reason)

    def local_path(self, key: str) -> Path | None:
        return Path(self._path(key))

    def _path(self, key: str) -> str:
        return f"{self._root}/{check_key(self.uri, key)}"

    def _name(self, key: str) -> str:
        return f"{self.uri}/{key}"

    def _write(
        self, verb: str, key: str, path: str, fill: Callable[[int], None], publish: Callable[[str], None]
    ) -> None:
        directory = os.path.dirname(path)
        temporary = f"{directory}/.{uuid.uuid4().hex}.tmp"
        try:
            fd = _within_directory(
                path, lambda: os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            )
            try:
                try:
                    fill(fd)
                    os.fsync(fd)
                finally:
                    os.close(fd)
                publish(temporary)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary)
            _sync(directory)
        except OSError as reason:
            self._fail(verb, key, reason)

    def _fail(self, verb: str, key: str, reason: OSError) -> NoReturn:
        name = self._name(key)
        if isinstance(reason, FileNotFoundError | NotADirectoryError):
            raise ObjectNotFoundError(f"{reason.filename or name} does not exist") from reason
        kind = StorageDeniedError if reason.errno in _DENIED else StorageError
        raise kind(f"cannot {verb} {name}: {reason.strerror or reason}") from reason


def _within_directory(path: str, action: Callable[[], int | None]) -> int:
    """Run `action`, which makes `path`; if its directory was missing, make that first, durably."""
    try:
        return action() or 0
    except FileNotFoundError:
        _make_directories(os.path.dirname(path))
        return action() or 0


def _make_directories(directory: str) -> None:
    if not os.path.isdir(directory):
        parent = os.path.dirname(directory)
        _make_directories(parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory)
        _sync(parent)


def _walk(root: str, directory: str, start_after: str | None) -> Iterator[ObjectInfo]:
    # A directory sorts as its name with the slash that its keys go on with: then depth first is key order.
    prefix = f"{directory}/" if directory else ""
    try:
        with os.scandir(f"{root}/{directory}") as entries:
            found = sorted(
                (prefix + entry.name + ("/" if entry.is_dir() else ""), entry) for entry in entries
            )
    except (FileNotFoundError, NotADirectoryError):
        return
    for key, entry in found:
        if key.endswith("/"):
            if start_after is None or key > start_after or start_after.startswith(key):
                yield from _walk(root, key[:-1], start_after)
        elif (start_after is None or key > start_after) and not _is_temporary(entry.name):
            with contextlib.suppress(FileNotFoundError):
                status = entry.stat()
                yield ObjectInfo(key, status.st_size, status.st_mtime_ns // 1_000_000)


def _is_temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


def _read_at_most(file: io.FileIO, length: int) -> bytes:
    pieces: list[bytes] = []
    while length > 0 and (piece := file.read(min(length, _CHUNK))):
        pieces.append(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _copy(source: Path, fd: int) -> None:
    with source.open("rb") as reader, open(fd, "wb", closefd=False) as writer:
        shutil.copyfileobj(reader, writer, 1 << 20)


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
