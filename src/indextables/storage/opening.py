"""Opening a store by its address and settings."""

from __future__ import annotations

import os
from typing import Any, Final

from obstore import exceptions
from obstore.store import AzureStore, MemoryStore, S3Store

from indextables.config import Settings
from indextables.errors import ConfigError
from indextables.runtime import CacheSpec, current
from indextables.storage.access import Access, azure_access, s3_access
from indextables.storage.local import LocalStore
from indextables.storage.remote import Client, RemoteStore, clean_message
from indextables.storage.store import Store
from indextables.storage.uri import Location, parse

# Not a cache: the tables in it live as long as the process, whose threads and runtimes share them by their address.
_MEMORY: Final = MemoryStore()

# Connections of the parent are not for a child to use. Closing them there could wait for threads that it does not have.
CLIENTS: Final = CacheSpec[object, tuple[Client, Client]]("store clients", entries=16, after_fork="abandon")


def open_store(uri: str | os.PathLike[str], settings: Settings | None = None) -> Store:
    """Return the store whose root is the table at `uri`. Nothing is read or written yet.

    >>> store = open_store("memory:example")
    >>> store.create("a", b"1")
    >>> open_store("memory:example").get("a")
    b'1'
    """
    location = parse(uri)
    settings = settings or Settings()
    match location.scheme:
        case "file":
            return LocalStore(location.path)
        case "memory":
            return RemoteStore(location.uri, _MEMORY, prefix=location.path, probe=False)
        case "s3":
            return _connect(S3Store, location, s3_access(location, settings))
        case "azure":
            return _connect(AzureStore, location, azure_access(location, settings))


def _connect(kind: Any, location: Location, access: Access) -> Store:
    try:
        client, commit_client = _shared_clients(kind, location, access)
    except (exceptions.BaseError, ValueError) as reason:
        message = clean_message(reason, access.secrets)
        raise ConfigError(f"cannot open a store at {location.uri}: {message}") from None
    return RemoteStore(
        location.uri,
        client,
        commit_client=commit_client,
        prefix=location.path,
        secrets=access.secrets,
        place=f"{access.endpoint} {location.uri}",
        is_networked=True,
    )


def _shared_clients(kind: Any, location: Location, access: Access) -> tuple[Client, Client]:
    """Return the clients of a bucket: from the cache, as open connections save a handshake or two on every call."""
    environment = tuple((k, v) for k, v in sorted(os.environ.items()) if k.startswith(("AWS_", "AZURE_")))
    settings = (*access.config.items(), *(access.credentials or {}).items())
    key = (kind, location.container, settings, environment)
    return current().cache(CLIENTS).make_once(key, lambda: _new_clients(kind, location, access))


def _new_clients(kind: Any, location: Location, access: Access) -> tuple[Client, Client]:
    """Return two clients: one that repeats failed requests, and one that does not."""
    provider = {"credential_provider": access.provider} if access.credentials is not None else {}
    client, commit_client = (
        kind(
            location.container,
            config=dict(access.config),
            client_options={"allow_http": access.plain_http},
            retry_config=retry,
            **provider,
        )
        for retry in (None, {"max_retries": 0})
    )
    return client, commit_client
