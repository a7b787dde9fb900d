"""From an address and settings to a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from obstore import exceptions
from obstore.store import AzureStore, MemoryStore, S3Store

from indextables.config import Settings, keys
from indextables.config._settings import Family
from indextables.errors import ConfigError
from indextables.storage.local import LocalStore
from indextables.storage.remote import RemoteStore, clean_message
from indextables.storage.store import Store
from indextables.storage.uri import Location, parse

_AWS_NAMES: Final = {
    "accesskey": "access_key_id",
    "secretkey": "secret_access_key",
    "sessiontoken": "session_token",
    "region": "region",
    "endpoint": "endpoint",
    "forcepathstyle": "force_path_style",
}
_AZURE_NAMES: Final = {
    "accountname": "account_name",
    "accountkey": "account_key",
    "endpoint": "endpoint",
    "tenantid": "tenant_id",
    "clientid": "client_id",
    "clientsecret": "client_secret",
    "bearertoken": "token",
}
_SECRET_NAMES: Final = ("secret_access_key", "session_token", "account_key", "client_secret", "token")

# Memory tables live as long as the process and are shared by all of it: the address is the only handle.
_MEMORY: Final = MemoryStore()


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
            return _s3(location, _options(settings, keys.AWS, _AWS_NAMES))
        case "azure":
            return _azure(location, _options(settings, keys.AZURE, _AZURE_NAMES))


def _s3(location: Location, config: dict[str, str | bool]) -> Store:
    path_style = config.pop("force_path_style", None)
    if path_style is not None:
        config["virtual_hosted_style_request"] = str(path_style).strip().lower() != "true"
    return _connect(S3Store, location, config)


def _azure(location: Location, config: dict[str, str | bool]) -> Store:
    if location.account:
        config.setdefault("account_name", location.account)
    return _connect(AzureStore, location, config)


def _connect(kind: Any, location: Location, config: Mapping[str, str | bool]) -> Store:
    secrets = [str(config[name]) for name in _SECRET_NAMES if name in config]
    plain_http = str(config.get("endpoint", "")).startswith("http://")
    try:
        client, commit_client = (
            kind(
                location.container,
                config=config,
                client_options={"allow_http": plain_http},
                retry_config=retry,
            )
            for retry in (None, {"max_retries": 0})
        )
    except (exceptions.BaseError, ValueError) as reason:
        message = clean_message(reason, secrets)
        raise ConfigError(f"cannot open a store at {location.uri}: {message}") from None
    return RemoteStore(
        location.uri, client, commit_client=commit_client, prefix=location.path, secrets=secrets
    )


def _options(settings: Settings, family: Family, names: Mapping[str, str]) -> dict[str, str | bool]:
    """The family's members by obstore's names. Spark lower-cases option names, so case does not count."""
    chosen: dict[str, str | bool] = {}
    for name, value in settings.family(family).items():
        if name.lower() not in names:
            raise ConfigError(f"unknown setting {family.prefix + name!r}; the family takes {family.meaning}")
        chosen[names[name.lower()]] = value
    return chosen
