"""From an address and settings to a store."""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Any, Final

from obstore import exceptions
from obstore.store import AzureStore, MemoryStore, S3Store

from indextables.config import Settings
from indextables.errors import ConfigError
from indextables.runtime import ForkSafeLock
from indextables.storage.access import Access, azure_access, s3_access
from indextables.storage.local import LocalStore
from indextables.storage.remote import Client, RemoteStore, clean_message
from indextables.storage.store import Store
from indextables.storage.uri import Location, parse

# Memory tables live as long as the process and are shared by all of it: the address is the only handle.
_MEMORY: Final = MemoryStore()

MAX_CLIENTS: Final = 16
_clients: Final[OrderedDict[object, tuple[Client, Client]]] = OrderedDict()
_lock: Final = ForkSafeLock()


def open_store(uri: str | os.PathLike[str], settings: Settings | None = None) -> Store:
    """The store whose root is the table at `uri`. Nothing is read or written yet.

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
    """The clients of one bucket are kept: their open connections save a handshake or two on every call."""
    environment = tuple((k, v) for k, v in sorted(os.environ.items()) if k.startswith(("AWS_", "AZURE_")))
    settings = (*access.config.items(), *(access.credentials or {}).items())
    # A forked child must not use its parent's connections.
    key = (os.getpid(), kind, location.container, settings, environment)
    with _lock:
        if key not in _clients:
            _clients[key] = _new_clients(kind, location, access)
            if len(_clients) > MAX_CLIENTS:
                _clients.popitem(last=False)
        _clients.move_to_end(key)
        return _clients[key]


def _new_clients(kind: Any, location: Location, access: Access) -> tuple[Client, Client]:
    """One that repeats failed requests and one that does not."""
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
