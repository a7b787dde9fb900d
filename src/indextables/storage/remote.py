"""Stores through obstore: S3, Azure, and the memory of this process.

A store has two clients. Reads and idempotent writes go through the one that repeats failed requests, creates through
the one that does not (see `Store.create`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol, TypeVar

from obstore import exceptions

from indextables.errors import (
    ForkedProcessError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageDeniedError,
    StorageError,
)
from indextables.runtime import OBSTORE
from indextables.storage.probe import check_conditional_create
from indextables.storage.request_counts import count_request
from indextables.storage.store import ExistsByHead, ObjectInfo, check_key, check_size

T = TypeVar("T")

_DENIED: Final = (
    exceptions.PermissionDeniedError,
    exceptions.UnauthenticatedError,
    exceptions.UnknownConfigurationKeyError,
    exceptions.NotSupportedError,
)
_EXISTS: Final = (exceptions.AlreadyExistsError, exceptions.PreconditionError)
_WRITING: Final = frozenset({"create", "write"})
_NO_BUCKET: Final = re.compile(r"\b(NoSuchBucket|ContainerNotFound|FilesystemNotFound)\b")
_URL_QUERY: Final = re.compile(r"(https?://[^\s?\"']+)\?[^\s\"']*")


class Client(Protocol):
    """The methods of an obstore store that are used here."""

    def get(self, path: str) -> Any: ...
    def get_range(self, path: str, *, start: int, length: int) -> Any: ...
    def head(self, path: str) -> Any: ...
    def list(self, prefix: str | None = None, *, offset: str | None = None) -> Any: ...
    def put(self, path: str, file: Any, *, mode: Any = None) -> Any: ...
    def delete(self, paths: str) -> None: ...


class RemoteStore(ExistsByHead):
    """A store of obstore. `prefix` is the table's part of the bucket, `secrets` are masked in every error message.

    `place` tells stores of one address apart: the same bucket name means another bucket at another endpoint.
    Requests of a store that `is_networked` need obstore's threads; memory does not.
    """

    def __init__(
        self,
        uri: str,
        client: Client,
        *,
        commit_client: Client | None = None,
        prefix: str = "",
        secrets: Iterable[str] = (),
        probe: bool = True,
        place: str = "",
        is_networked: bool = False,
    ) -> None:
        self.uri = uri
        self._place = place or uri
        self._client = client
        self._commit_client = commit_client or client
        self._prefix = f"{prefix}/" if prefix else ""
        self._secrets = tuple(secret for secret in secrets if secret)
        self._probe = probe
        self._is_networked = is_networked

    def __repr__(self) -> str:
        return f"RemoteStore({self.uri!r})"

    def __reduce__(self) -> NoReturn:
        # Its clients hold secrets. A task gets options instead, and opens the store where it runs.
        raise TypeError(f"the store of {self.uri} cannot be pickled; open it again in the other process")

    def get(self, key: str, limit: int | None = None) -> bytes:
        data = self._call("read", key, lambda path: self._whole(key, self._client.get(path), limit))
        count_request("get", fetched=len(data))
        return data

    def get_range(self, key: str, start: int, length: int) -> bytes:
        if length == 0:
            return b""
        data = self._call(
            "read", key, lambda path: bytes(self._client.get_range(path, start=start, length=length))
        )
        count_request("get_range", fetched=len(data))
        if len(data) != length:
            raise StorageError(
                f"{self.uri}/{key} ends at byte {start + len(data)}; bytes {start} to {start + length} were requested"
            )
        return data

    def head(self, key: str) -> ObjectInfo:
        count_request("head")
        return self._info(self._call("look at", key, self._client.head))

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectInfo]:
        directory = prefix.strip("/")
        place = f"{self._prefix}{directory}".rstrip("/")
        offset = None if start_after is None else self._prefix + start_after
        pages = self._call(
            "list", directory, lambda _: list(self._client.list(place or None, offset=offset)), checked=False
        )
        count_request("list")
        # Not every service lists in the order of keys: S3 directory buckets do not.
        infos = sorted((self._info(meta) for page in pages for meta in page), key=lambda info: info.key)
        return (info for info in infos if start_after is None or info.key > start_after)

    def create(self, key: str, data: bytes) -> None:
        if self._probe:
            check_conditional_create(self.uri, self._create, self.delete, place=self._place)
        self._create(key, data)

    def put(self, key: str, data: bytes) -> None:
        self._call("write", key, lambda path: self._client.put(path, data))
        count_request("put", sent=len(data))

    def put_file(self, key: str, source: Path) -> None:
        self._call("write", key, lambda path: self._client.put(path, source))
        count_request("put", sent=source.stat().st_size)

    def delete(self, key: str) -> None:
        count_request("delete")
        try:
            self._call("delete", key, self._client.delete)
        except ObjectNotFoundError:
            return

    def local_path(self, key: str) -> Path | None:  # noqa: ARG002 - nothing of it is on this disk
        return None

    def _whole(self, key: str, found: Any, limit: int | None) -> bytes:
        """Return the content of an answer. It is fetched only if the size in its head is within the limit."""
        check_size(f"{self.uri}/{key}", int(found.meta["size"]), limit)
        return bytes(found.bytes())

    def _create(self, key: str, data: bytes) -> None:
        self._call("create", key, lambda path: self._commit_client.put(path, data, mode="create"))
        count_request("create", sent=len(data))

    def _info(self, meta: Any) -> ObjectInfo:
        modified: datetime = meta["last_modified"]
        key = str(meta["path"]).removeprefix(self._prefix)
        return ObjectInfo(key, int(meta["size"]), round(modified.timestamp() * 1000))

    def _call(self, verb: str, key: str, action: Callable[[str], T], *, checked: bool = True) -> T:
        if checked:
            check_key(self.uri, key)
        name = f"{self.uri}/{key}"
        if not OBSTORE.usable() and self._is_networked:
            raise ForkedProcessError(
                f"cannot {verb} {name}: this process was forked after its parent had used a store, and the threads "
                "of the store's client do not survive a fork; start processes with "
                'multiprocessing.get_context("spawn") (or "forkserver"), or fork before the first use of a store'
            )
        # `from None` below, as the message of obstore can hold a signed address.
        try:
            return action(self._prefix + key)
        except FileNotFoundError:
            if verb in _WRITING:  # a write needs no object, so it is the bucket that does not exist
                raise self._no_bucket(verb, name) from None
            raise ObjectNotFoundError(f"{name} does not exist") from None
        except _EXISTS:
            raise ObjectExistsError(f"{name} exists already") from None
        except _DENIED as reason:
            raise StorageDeniedError(
                f"the store refuses to {verb} {name}: {clean_message(reason, self._secrets)}"
            ) from None
        except (exceptions.BaseError, OSError, ValueError) as reason:
            if _NO_BUCKET.search(str(reason)):
                raise self._no_bucket(verb, name) from None
            raise StorageError(f"cannot {verb} {name}: {clean_message(reason, self._secrets)}") from None

    def _no_bucket(self, verb: str, name: str) -> ObjectNotFoundError:
        return ObjectNotFoundError(
            f"cannot {verb} {name}: the bucket or container does not exist; create it, or correct the address"
        )


def clean_message(reason: Exception, secrets: Iterable[str]) -> str:
    """Return the message of obstore without its debugging output, query strings (signatures) and secrets."""
    text = str(reason).partition("\n\nDebug source:")[0].strip()
    for secret in secrets:
        text = text.replace(secret, "***")
    return _URL_QUERY.sub(r"\1?***", text)
