"""A store on this machine's disk, durable: what a call has written survives the power cut after it.

A create is a temporary file in the same directory, fsync, link, fsync of the directory. Writers in any number of
processes may create the same name. The link is atomic: it succeeds for one of them and fails for the others, because
the name exists. A reader sees no file or the whole file, because the file is complete before it gets the name.

A table holds regular files and directories. A link, a pipe or a device inside it is listed like a file, and refused by
everything that would follow or read it; a delete removes the link itself. The root may be reached through links.
"""

# Descriptors and links are the subject here; a Path per call would cost as much as the call.
# ruff: noqa: PTH102, PTH105, PTH108, PTH112, PTH120

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NoReturn

from indextables.errors import (
    IrregularFileError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    UnsafeStoreError,
)
from indextables.runtime import new_id
from indextables.storage.disk import disk_error
from indextables.storage.request_counts import count_request
from indextables.storage.store import ExistsByHead, ObjectInfo, check_key, check_size

_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_TEMPORARY: Final = re.compile(r"\.[0-9a-f]{32}\.tmp")
_KINDS: Final = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class LocalStore(ExistsByHead):
    """Objects as files below `root`, which the first write creates."""

    def __init__(self, root: str) -> None:
        self.uri = root
        self._root = root

    def __repr__(self) -> str:
        return f"LocalStore({self.uri!r})"

    def get(self, key: str, limit: int | None = None) -> bytes:
        try:
            with self._open(key) as fd:
                size = check_size(self._name(key), os.fstat(fd).st_size, limit)
                data = self._read(fd, key, 0, size)
        except OSError as reason:
            self._fail("read", key, reason)
        count_request("get", fetched=size)
        return data

    def get_range(self, key: str, start: int, length: int) -> bytes:
        try:
            with self._open(key) as fd:
                data = self._read(fd, key, start, length)
        except OSError as reason:
            self._fail("read", key, reason)
        count_request("get_range", fetched=length)
        return data

    def head(self, key: str) -> ObjectInfo:
        count_request("head")
        try:
            return _info(key, self._status(key))
        except OSError as reason:
            self._fail("look at", key, reason)

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectInfo]:
        directory = prefix.strip("/")
        count_request("list")
        for key, entry in self._entries(directory, start_after):
            if not _is_temporary(entry.name):
                with contextlib.suppress(FileNotFoundError):
                    yield _info(key, entry.stat(follow_symlinks=False))

    def temporary_files(self) -> Iterator[ObjectInfo]:
        """List the temporary files of writers: those at work will rename them, those that died have left them."""
        for key, entry in self._entries("", None):
            if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    yield _info(key, entry.stat(follow_symlinks=False))

    def _entries(self, directory: str, start_after: str | None) -> Iterator[tuple[str, os.DirEntry[str]]]:
        try:
            if directory:
                check_key(self.uri, directory)
                self._check_directories(f"{directory}/")
            yield from _walk(self._root, directory, start_after)
        except OSError as reason:
            self._fail("list", directory, reason)

    def create(self, key: str, data: bytes) -> None:
        path = self._path(key)

        def link(temporary: str) -> None:
            try:
                os.link(temporary, path)
            except FileExistsError:
                raise ObjectExistsError(f"{self._name(key)} exists already") from None
            except OSError as reason:
                if reason.errno in _NO_LINKS:
                    raise UnsafeStoreError(
                        f"the file system of {self.uri} does not support hard links, which a safe commit needs; "
                        f"put the table on another file system"
                    ) from reason
                raise

        self._write("create", key, path, lambda fd: _write_all(fd, data), link)
        count_request("create", sent=len(data))

    def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        self._write(
            "write", key, path, lambda fd: _write_all(fd, data), lambda temporary: os.replace(temporary, path)
        )
        count_request("put", sent=len(data))

    def put_file(self, key: str, source: Path) -> None:
        path = self._path(key)
        try:
            self._check_directories(key)
            count_request("put", sent=source.stat().st_size)
            _sync(os.fspath(source))
            _within_directory(path, lambda: os.replace(source, path))
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
        else:
            self._sync_name(key, path)

    def delete(self, key: str) -> None:
        self._path(key)
        count_request("delete")
        try:
            self._check_directories(key)
            with _directory_of(self._root, key) as (directory, name):
                os.unlink(name, dir_fd=directory)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as reason:
            self._fail("delete", key, reason)

    def local_path(self, key: str) -> Path | None:
        path = self._path(key)
        with contextlib.suppress(OSError):
            self._check_directories(key)
            mode = os.lstat(path).st_mode
            if not stat.S_ISDIR(mode):
                self._check_regular(key, mode)
        return Path(path)

    def _status(self, key: str) -> os.stat_result:
        """Return the status of a regular file. IrregularFileError if it, or a directory on the way to it, is a link."""
        path = self._path(key)
        self._check_directories(key)
        status = os.lstat(path)
        self._check_regular(key, status.st_mode)
        return status

    @contextlib.contextmanager
    def _open(self, key: str) -> Iterator[int]:
        # Check before opening, because opening a device can have effects. Check the descriptor again, because another
        # process may have replaced the file in between; what the descriptor refers to cannot be replaced.
        self._status(key)
        fd = os.open(self._path(key), _READ_FLAGS)
        try:
            self._check_regular(key, os.fstat(fd).st_mode)
            yield fd
        finally:
            os.close(fd)

    def _read(self, fd: int, key: str, start: int, length: int) -> bytes:
        end = os.fstat(fd).st_size
        pieces, at = [], start
        # At most what the file has: `pread` allocates the memory for the whole request before it reads.
        while at < start + length and at < end:
            piece = os.pread(fd, min(start + length, end) - at, at)  # the kernel caps one read at 2 GiB
            if not piece:
                break
            pieces.append(piece)
            at += len(piece)
        if at < start + length:
            raise StorageError(
                f"{self._name(key)} ends at byte {min(at, end)}; "
                f"bytes {start} to {start + length} were requested"
            )
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _check_directories(self, key: str) -> None:
        """Raise IrregularFileError if a directory on the way from the root to the key is a link."""
        at = key.find("/")
        while at >= 0:
            try:
                mode = os.lstat(f"{self._root}/{key[:at]}").st_mode
            except FileNotFoundError:
                return
            if stat.S_ISLNK(mode):
                raise self._irregular(key[:at], mode)
            at = key.find("/", at + 1)

    def _check_regular(self, key: str, mode: int) -> None:
        if not stat.S_ISREG(mode):
            raise self._irregular(key, mode)

    def _irregular(self, key: str, mode: int) -> IrregularFileError:
        kind = next((name for test, name in _KINDS if test(mode)), "a device")
        return IrregularFileError(
            f"{self._name(key)} is {kind}, which is not followed or read: a table consists of regular files; "
            f"put the file itself there"
        )

    def _path(self, key: str) -> str:
        return f"{self._root}/{check_key(self.uri, key)}"

    def _name(self, key: str) -> str:
        return f"{self.uri}/{key}"

    def _write(
        self, verb: str, key: str, path: str, fill: Callable[[int], None], publish: Callable[[str], None]
    ) -> None:
        try:
            self._check_directories(key)
            for attempt in range(_WRITE_TRIES):
                try:
                    _write_once(path, fill, publish)
                    break
                except FileNotFoundError:
                    # A purge whose clock is far ahead took the temporary file for one that its writer had abandoned.
                    # Nothing was published, so the write can be repeated.
                    if attempt == _WRITE_TRIES - 1:
                        raise
        except OSError as reason:
            self._fail(verb, key, reason)
        self._sync_name(key, path)

    def _sync_name(self, key: str, path: str) -> None:
        """Make a new name durable. It is visible already, so the error must not say that nothing was written."""
        try:
            _sync(os.path.dirname(path))
        except OSError as reason:
            raise StorageError(
                f"{self._name(key)} is written, but may not survive a power cut: {reason.strerror or reason}"
            ) from reason

    def _fail(self, verb: str, key: str, reason: OSError) -> NoReturn:
        name = self._name(key)
        is_absent = isinstance(reason, FileNotFoundError) or (
            isinstance(reason, NotADirectoryError) and verb not in _WRITING
        )
        if is_absent:
            raise ObjectNotFoundError(f"{reason.filename or name} does not exist") from reason
        raise disk_error(verb, name, reason) from reason


_WRITING: Final = frozenset({"create", "write"})
_WRITE_TRIES: Final = 3


def _write_once(path: str, fill: Callable[[int], None], publish: Callable[[str], None]) -> None:
    """Fill a temporary file next to `path`, and publish it. FileNotFoundError if it was deleted in between."""
    temporary = f"{os.path.dirname(path)}/.{new_id().hex}.tmp"
    fd = _within_directory(
        path, lambda: os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
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


def _walk(root: str, directory: str, start_after: str | None) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield all files below a directory, in the order of keys."""
    waiting = [_children(root, directory)]
    while waiting:
        for key, entry in waiting[-1]:
            if key.endswith("/"):
                if start_after is None or key > start_after or start_after.startswith(key):
                    waiting.append(_children(root, key[:-1]))
                    break
            elif start_after is None or key > start_after:
                yield key, entry
        else:
            waiting.pop()


def _children(root: str, directory: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    # A directory sorts as its name with a slash, as the keys in it do: then a walk in depth is in the order of keys.
    prefix = f"{directory}/" if directory else ""
    try:
        with os.scandir(f"{root}/{directory}") as entries:
            children = [
                (prefix + entry.name + ("/" if entry.is_dir(follow_symlinks=False) else ""), entry)
                for entry in entries
            ]
    except (FileNotFoundError, NotADirectoryError):
        return iter(())
    return iter(sorted(children, key=lambda pair: pair[0]))


@contextlib.contextmanager
def _directory_of(root: str, key: str) -> Iterator[tuple[int, str]]:
    """Open the directory of a key, and yield its descriptor and the name of the file in it.

    Another process may replace a directory of the path by a link at any time. So the path is opened one directory at a
    time, each below the descriptor of the one before, and the system refuses to open a link.
    """
    *parts, name = key.split("/")
    fd = os.open(root, _DIRECTORY_FLAGS)
    try:
        for part in parts:
            inner = os.open(part, _DIRECTORY_FLAGS | os.O_NOFOLLOW, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd, name
    finally:
        os.close(fd)


def _info(key: str, status: os.stat_result) -> ObjectInfo:
    return ObjectInfo(key, status.st_size, status.st_mtime_ns // 1_000_000)


def _is_temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


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
