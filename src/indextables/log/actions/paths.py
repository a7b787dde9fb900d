"""The names in the log directory, and the keys of the files that actions name.

_transaction_log/00000000000000000007.json              version 7: exactly 20 digits
_transaction_log/00000000000000000007.checkpoint.json   legacy checkpoint, also with parts
_transaction_log/state-v00000000000000000007/           Avro state
_transaction_log/_last_checkpoint                       a hint to the newest state or checkpoint
"""

from __future__ import annotations

import posixpath
import re
from typing import Final

from indextables.errors import CorruptTableError
from indextables.storage import LOG_DIRECTORY

_VERSION_FILE: Final = re.compile(rf"{LOG_DIRECTORY}/([0-9]{{20}})\.json")
_CHECKPOINT: Final = re.compile(rf"{LOG_DIRECTORY}/([0-9]{{20}})\.checkpoint\.json")
_ABSOLUTE: Final = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")
_HADOOP_SPELLINGS: Final = (("s3a://", "s3://"), ("s3n://", "s3://"), ("file:///", "/"), ("file:/", "/"))

_NON_KEY_MARKS: Final = ("\0", "//", ":/", "/.", "\n\n", "\n/", "\n.", "/\n")
"""Looked for in paths separated by line feeds: every path that is not its own key contains one of these."""


def version_key(version: int) -> str:
    """Return the key of a version file.

    >>> version_key(7)
    '_transaction_log/00000000000000000007.json'
    """
    return f"{LOG_DIRECTORY}/{version:020d}.json"


def version_of(key: str) -> int | None:
    """Return the version whose file this is, or None for any other key."""
    match = _VERSION_FILE.fullmatch(key)
    return int(match[1]) if match else None


def checkpoint_key(version: int) -> str:
    """Return the key of the JSON checkpoint of a version."""
    return f"{LOG_DIRECTORY}/{version:020d}.checkpoint.json"


def part_name(version: int, checkpoint_id: str, number: int) -> str:
    """Return the file name of a part of a JSON checkpoint; parts are numbered from 1.

    >>> part_name(7, "0123456789ab", 1)
    '00000000000000000007.checkpoint.0123456789ab.00001.json'
    """
    return f"{version:020d}.checkpoint.{checkpoint_id}.{number:05d}.json"


def checkpoint_of(key: str) -> int | None:
    """Return the version whose JSON checkpoint this is, or None for any other key, including parts of one."""
    match = _CHECKPOINT.fullmatch(key)
    return int(match[1]) if match else None


def split_key(path: str, table_uri: str) -> str:
    """Return the key in the table's store of the file that an action names by `path`.

    Old tables name their files by absolute paths; below the table's root, that is the same file as the relative path.
    A file elsewhere keeps its whole address. Raises CorruptTableError for a relative path that leaves the table.

    >>> split_key("s3a://b/t/splits/x.split", "s3://b/t"), split_key("splits/./x.split", "s3://b/t")
    ('splits/x.split', 'splits/x.split')
    >>> split_key("../../etc/passwd", "/data/logs")
    Traceback (most recent call last):
        ...
    indextables.errors.CorruptTableError: the log names a file outside the table: '../../etc/passwd'
    """
    if not path or "\0" in path:
        raise CorruptTableError(f"the log names a file {path!r}, which is not a path")
    if _ABSOLUTE.match(path):
        for spelling, canonical in _HADOOP_SPELLINGS:
            if path.startswith(spelling):
                path = canonical + path.removeprefix(spelling)
                break
        if not path.startswith(f"{table_uri}/"):
            return path
        path = path.removeprefix(f"{table_uri}/")
    key = posixpath.normpath(path) if "." in path or "//" in path else path
    if key.startswith(("../", "/")) or key in ("..", "."):
        raise CorruptTableError(f"the log names a file outside the table: {path!r}")
    return key


def split_keys(paths: list[str], table_uri: str) -> list[str]:
    """Return `split_key` of each path; the same list object if all paths are keys already, which is the usual case.

    >>> split_keys(["x.split", "./y.split"], "s3://b/t")
    ['x.split', 'y.split']
    """
    text = "\n".join(["", *paths, ""])
    if any(mark in text for mark in _NON_KEY_MARKS):
        return [split_key(path, table_uri) for path in paths]
    return paths


def is_elsewhere(key: str) -> bool:
    """Return True if a key from `split_key` is the address of a file outside the table.

    >>> is_elsewhere("/data/other/x.split"), is_elsewhere("day=mon/splits/x.split")
    (True, False)
    """
    return _ABSOLUTE.match(key) is not None
