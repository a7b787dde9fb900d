"""Addresses of tables: the store that a path or URI names, in one canonical form, without secrets."""

# abspath, because resolve() would follow symbolic links and change the name:
# ruff: noqa: PTH100

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import unquote

from indextables.errors import ConfigError

Scheme = Literal["file", "memory", "s3", "azure"]

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):|([^/\\]{2,}?):/")
"""A scheme, or text in its place. One letter before the colon is a Windows drive or a file name."""

_SCHEMES: Final[dict[str, Scheme]] = {
    "file": "file",
    "memory": "memory",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "abfs": "azure",
    "abfss": "azure",
    "wasb": "azure",
    "wasbs": "azure",
}


@dataclass(frozen=True)
class Location:
    """A parsed address. `container` is the bucket or container, `account` the Azure host, `path` the rest."""

    scheme: Scheme
    path: str
    container: str = ""
    account: str = ""

    @property
    def uri(self) -> str:
        match self.scheme:
            case "file":
                return self.path
            case "memory":
                return f"memory://{self.path}"
            case "s3":
                return f"s3://{self.container}/{self.path}".rstrip("/")
            case "azure":
                host = f"@{self.account}.dfs.core.windows.net" if self.account else ""
                return f"abfss://{self.container}{host}/{self.path}".rstrip("/")


def table_uri(path: str | os.PathLike[str]) -> str:
    """Return the canonical address of a table: an absolute local path, `s3://`, `abfss://` or `memory://`.

    >>> table_uri("s3a://bucket/logs//2024/"), table_uri("file:///data/my%20logs/")
    ('s3://bucket/logs/2024', '/data/my logs')
    >>> table_uri("wasbs://box@acme.blob.core.windows.net/logs")
    'abfss://box@acme.dfs.core.windows.net/logs'
    >>> table_uri("/data/a:b"), table_uri("file:/data/logs")
    ('/data/a:b', '/data/logs')
    >>> table_uri("dbfs:/data/logs")
    Traceback (most recent call last):
        ...
    indextables.errors.ConfigError: no store for scheme 'dbfs'; use one of file, memory, s3, s3a, s3n, abfs, \
abfss, wasb, wasbs. A local path with a colon in its first name is written with ./ or / before it
    """
    return parse(path).uri


def is_on_this_machine(uri: str) -> bool:
    """Return True if the address names a store that is reached without a network.

    >>> is_on_this_machine("/data/logs"), is_on_this_machine("s3://bucket/logs")
    (True, False)
    """
    return parse(uri).scheme in ("file", "memory")


def parse(path: str | os.PathLike[str]) -> Location:
    text = os.fspath(path)
    if not text or "\0" in text:
        raise ConfigError(f"{text!r} is not a table path")
    match = _SCHEME.match(text)
    if match is None:
        return Location("file", os.path.abspath(text))
    name = match[1] or match[2]
    scheme = _SCHEMES.get(name.lower())
    rest = text[len(name) + 1 :]
    if scheme is None:
        raise ConfigError(
            f"no store for scheme {name!r}; use one of {', '.join(_SCHEMES)}. "
            f"A local path with a colon in its first name is written with ./ or / before it"
        )
    if scheme == "file":
        return Location("file", _file_path(rest))
    if scheme == "memory":
        return Location("memory", _clean(rest) or "default")
    return _remote(scheme, rest)


def _file_path(rest: str) -> str:
    if rest.startswith("//"):
        host, _, tail = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise ConfigError(f"a file URI of another machine ({host}) cannot be opened")
        rest = "/" + tail
    return os.path.abspath(unquote(rest))


def _remote(scheme: Scheme, rest: str) -> Location:
    authority, _, path = rest.removeprefix("//").partition("/")
    if "?" in rest or "#" in rest:
        # Most likely a shared access signature, so the message does not quote it.
        raise ConfigError(f"an address of a {scheme} store takes no query; pass credentials as settings")
    container, at, host = authority.rpartition("@") if scheme == "s3" else authority.partition("@")
    if scheme == "s3":
        if at:
            raise ConfigError(
                "credentials do not belong in an s3 address; pass them as spark.indextables.aws.*"
            )
        container, host = host, ""
    if not container:
        raise ConfigError(f"an address of a {scheme} store needs a bucket or container")
    if ":" in container:
        raise ConfigError(
            f"an address of a {scheme} store takes no port or password; use the endpoint setting"
        )
    return Location(scheme, _clean(path), container, host.partition(".")[0])


def _clean(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ConfigError(f"a store address takes no '..' ({path!r})")
    return "/".join(parts)
