"""Endpoint and credentials of a store, from settings and the environment, as obstore's configuration.

Credentials in the settings replace those of the environment as a whole. A mixture of both would belong to no account,
and a session token that belongs to other keys makes every request fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from indextables.config import Family, Settings, boolean, keys
from indextables.errors import ConfigError
from indextables.storage.uri import Location, Scheme, parse

_S3: Final = {
    "serviceurl": "endpoint",
    "endpoint": "endpoint",
    "pathstyleaccess": "forcepathstyle",
    "region": "region",
}
_SERVICE_PRINCIPAL: Final = {
    "tenantid": "tenant_id",
    "clientid": "client_id",
    "clientsecret": "client_secret",
}
_CONNECTION_STRING: Final = {
    "accountname": "accountname",
    "accountkey": "accountkey",
    "sharedaccesssignature": "sastoken",
    "blobendpoint": "endpoint",
}
_FAMILIES: Final[Mapping[Scheme, tuple[Family, ...]]] = {"s3": (keys.AWS, keys.S3), "azure": (keys.AZURE,)}
# Variables that obstore reads. Secrets in them are masked in errors, as those of settings are.
_S3_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_AZURE_ENDPOINTS: Final = ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
_SECRET_VARIABLES: Final = ("SECRET", "TOKEN", "KEY", "SAS")
_NO_SECRETS: Final = frozenset({"AWS_ACCESS_KEY_ID"})


@dataclass(frozen=True)
class Access:
    """The configuration of obstore, and the secrets that no message may show. Its repr shows the endpoint only."""

    endpoint: str
    config: Mapping[str, str | bool] = field(default_factory=dict, repr=False)
    credentials: Mapping[str, Any] | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def plain_http(self) -> bool:
        """Return True if the user named such an endpoint: credentials are never sent in clear text by default."""
        return self.endpoint.lower().startswith("http://")

    @property
    def provider(self) -> Callable[[], Mapping[str, Any]] | None:
        credentials = self.credentials
        return None if credentials is None else lambda: credentials


def options_for_tasks(uri: str, settings: Settings) -> dict[str, str]:
    """Return the settings that a task on the table needs: no credentials but those of the table's own store.

    >>> settings = Settings({"spark.indextables.aws.secretKey": "x", "spark.indextables.write.rowGroupRows": "9"})
    >>> options_for_tasks("/data/logs", settings)
    {'spark.indextables.write.rowGroupRows': '9'}
    """
    needed = _FAMILIES.get(parse(uri).scheme, ())
    unneeded = tuple(f.prefix for f in (keys.AWS, keys.S3, keys.AZURE) if f not in needed)
    return {key: value for key, value in settings if not key.startswith(unneeded)}


def s3_access(location: Location, settings: Settings) -> Access:
    own = _members(settings, keys.AWS)
    if "pathstyleaccess" in own:
        own.setdefault("forcepathstyle", own.pop("pathstyleaccess"))
    options = _members_by_key(settings, keys.S3, _S3) | own
    config: dict[str, str | bool] = {}
    if "region" in options:
        config["region"] = options["region"]
    path_style = _flag(options, "forcepathstyle", f"{keys.AWS.prefix}forcePathStyle")
    if path_style is not None:
        config["virtual_hosted_style_request"] = not path_style
    endpoint = _endpoint(options, _S3_ENDPOINTS)
    if endpoint:
        # obstore wants the bucket inside the endpoint where it is to be part of the host's name.
        config["endpoint"] = (
            endpoint if path_style is not False else _with_bucket(endpoint, location.container)
        )
    credentials = None
    if "accesskey" in options or "secretkey" in options:
        _together(options, keys.AWS, ("accessKey", "secretKey"))
        credentials = {
            "access_key_id": options["accesskey"],
            "secret_access_key": options["secretkey"],
            "token": options.get("sessiontoken"),
            "expires_at": None,
        }
    return Access(endpoint, config, credentials, _secrets(options, keys.AWS, "AWS_"))


def azure_access(location: Location, settings: Settings) -> Access:
    options = _members(settings, keys.AZURE)
    if "connectionstring" in options:
        options = _connection_string(options["connectionstring"]) | options
    config: dict[str, str | bool] = {}
    account = location.account or options.get("accountname", "")
    if options.get("accountname", account).lower() != account.lower():
        raise ConfigError(
            f"{location.uri} is in the account {account!r}, but the settings are for {options['accountname']!r}; "
            f"use the settings of account {account!r}"
        )
    if account:
        config["account_name"] = account
    endpoint = _endpoint(options, _AZURE_ENDPOINTS)
    if endpoint:
        config["endpoint"] = endpoint
    if any(name in options for name in _SERVICE_PRINCIPAL):
        _together(options, keys.AZURE, ("tenantId", "clientId", "clientSecret"))
        config |= {theirs: options[ours] for ours, theirs in _SERVICE_PRINCIPAL.items()}
        config["credential_type"] = "client_secret"
    credentials: dict[str, Any] | None = None
    for ours, theirs in (("bearertoken", "token"), ("accountkey", "access_key"), ("sastoken", "sas_token")):
        if ours in options:
            credentials = {theirs: options[ours].removeprefix("?"), "expires_at": None}
            break
    return Access(endpoint, config, credentials, _secrets(options, keys.AZURE, "AZURE_"))


def _members(settings: Settings, family: Family) -> dict[str, str]:
    """Return the members of a family by their names in lower case, as Spark changes the case of option names."""
    options: dict[str, str] = {}
    for name, value in settings.family(family).items():
        if not family.has(name):
            raise ConfigError(f"unknown setting {family.prefix + name!r}; the family takes {family.meaning}")
        if value.strip():
            options[name.lower()] = value.strip()
    return options


def _members_by_key(settings: Settings, family: Family, names: Mapping[str, str]) -> dict[str, str]:
    members = _members(settings, family)
    return {key: members[name] for name, key in names.items() if name in members}


def _flag(options: Mapping[str, str], name: str, key: str) -> bool | None:
    if name not in options:
        return None
    try:
        return boolean(options[name])
    except ValueError as reason:
        raise ConfigError(f"setting {key!r} is {options[name]!r}; it takes {reason}") from None


def _endpoint(options: Mapping[str, str], variables: tuple[str, ...]) -> str:
    endpoint = options.get("endpoint") or next(filter(None, map(os.environ.get, variables)), "")
    if not endpoint:
        return ""
    endpoint = (endpoint if "://" in endpoint else f"https://{endpoint}").rstrip("/")
    parts = urlsplit(endpoint)
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname or parts.query or parts.password:
        # The message does not quote it, as it may hold a signature or a password.
        raise ConfigError(
            "the endpoint of a store is an address such as https://storage.example.com:9000, without query or password"
        )
    return endpoint


def _with_bucket(endpoint: str, bucket: str) -> str:
    scheme, _, rest = endpoint.partition("://")
    return endpoint if rest.startswith(f"{bucket}.") else f"{scheme}://{bucket}.{rest}"


def _together(options: Mapping[str, str], family: Family, names: tuple[str, ...]) -> None:
    missing = [family.prefix + name for name in names if name.lower() not in options]
    if missing:
        raise ConfigError(
            f"{', '.join(missing)} is not set: {', '.join(names)} of {family.prefix}* go together"
        )


def _connection_string(text: str) -> dict[str, str]:
    """Return the parts of AccountName=...;AccountKey=...;BlobEndpoint=... that a table needs, by our names."""
    pairs = [part.partition("=") for part in text.split(";") if part.strip()]
    if not all(equals for _, equals, _ in pairs):
        raise ConfigError("the Azure connection string is not of the form Name=value;Name=value")
    parts = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if "blobendpoint" not in parts and "endpointsuffix" in parts and "accountname" in parts:
        protocol = parts.get("defaultendpointsprotocol", "https")
        parts["blobendpoint"] = f"{protocol}://{parts['accountname']}.blob.{parts['endpointsuffix']}"
    return {ours: parts[theirs] for theirs, ours in _CONNECTION_STRING.items() if theirs in parts}


def _secrets(options: Mapping[str, str], family: Family, prefix: str) -> tuple[str, ...]:
    of_environment = (
        value
        for name, value in os.environ.items()
        if name.startswith(prefix)
        and name not in _NO_SECRETS
        and any(word in name for word in _SECRET_VARIABLES)
        and len(value) >= 8
    )
    # An access key only names a secret. It is often a word that messages need, such as `minio`.
    of_settings = (
        value for name, value in options.items() if name != "accesskey" and not family.may_show(name)
    )
    # The longest first: masking a shorter one that is a part of it would leave the rest of it in the message.
    return tuple(sorted({*of_settings, *of_environment}, key=len, reverse=True))
