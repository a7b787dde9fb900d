"""What a disk holds after a power cut: file contents and names that nothing has synced are lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Inode = tuple[int, int]


class Disk:
    """Watches the system calls that write below `root`, and knows what of their effect has reached the disk.

    The worst case that the kernel allows: a file has the content of its last fsync, a directory the names of its last.
    `early` lists the names that were given to a file before its content was synced.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._root = root
        self._contents: dict[Inode, bytes] = {}
        self._names: dict[Inode, dict[str, Inode]] = {}
        self.early: list[str] = []
        self._note_directory(root)
        monkeypatch.setattr(os, "fsync", self._then(os.fsync, self._synced))
        for name in ("link", "replace", "rename"):
            monkeypatch.setattr(os, name, self._before(getattr(os, name), self._named))

    def after_power_cut(self) -> dict[str, bytes]:
        """The files by their paths below the root, but for those whose names are gone."""
        found: dict[str, bytes] = {}
        self._collect(_inode(self._root.stat()), "", found)
        return found

    def _collect(self, directory: Inode, prefix: str, found: dict[str, bytes]) -> None:
        for name, inode in self._names.get(directory, {}).items():
            if inode in self._names:
                self._collect(inode, f"{prefix}{name}/", found)
            elif inode in self._contents:
                found[prefix + name] = self._contents[inode]

    def _synced(self, fd: int) -> None:
        path = Path(f"/proc/self/fd/{fd}")
        if path.is_dir():
            self._note_directory(path)
        else:
            self._contents[_inode(os.fstat(fd))] = path.read_bytes()

    def _note_directory(self, path: Path) -> None:
        self._names[_inode(path.stat())] = {entry.name: _inode(entry.stat()) for entry in os.scandir(path)}

    def _named(self, source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
        inode = _inode(Path(source).stat())
        if self._contents.get(inode) != Path(source).read_bytes():
            self.early.append(os.fspath(target))

    @staticmethod
    def _then(call: Callable[..., Any], note: Callable[..., None]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            answer = call(*arguments)
            note(*arguments)
            return answer

        return wrapped

    @staticmethod
    def _before(call: Callable[..., Any], note: Callable[..., None]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            note(*arguments)
            return call(*arguments)

        return wrapped


def _inode(status: os.stat_result) -> Inode:
    return status.st_dev, status.st_ino
