"""Pages of a search by the row where the last one ended.

The order of hits is that of score, path of the split and position in it. A page token has these three of the last row
of a page, and what they belong to: the table, its version, the query and what it calls `now`. It is text for a URL:

    base64url(layout u8, table 8 bytes, version i64, query 8 bytes, now i64, score f64, position i64, rank u64, path,
    CRC-32 u32), with -1 for no `now`
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import struct
import zlib
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.errors import InputError

TOKEN_KEY: Final = b"indextables.after"
"""The key of the page token in the metadata of an answer's schema."""

_ROWS_KEY: Final = b"indextables.after.rows"
"""The key of the number of rows of the page. Arrow keeps metadata when rows are cut off; the token is of the last."""

_LAYOUT: Final = 1
_HEAD: Final = struct.Struct(">B8sq8sqdqQ")
_CRC: Final = struct.Struct(">I")
_MAX_TOKEN: Final = 8192
_NO_MOMENT: Final = -1


@dataclass(frozen=True)
class RankKey:
    """The place of a row in the order of a search. `rank` is the number of rows up to it, a hint how far to look."""

    score: float
    path: str
    position: int
    rank: int = 0

    def precedes(self, score: float, path: str, position: int) -> bool:
        """Return True if a row comes after this one. NaN is the last score."""
        if math.isnan(self.score) or math.isnan(score):
            if math.isnan(self.score) != math.isnan(score):
                return math.isnan(score)
        elif score != self.score:
            return score < self.score
        return (path.encode(errors="surrogatepass"), position) > (
            self.path.encode(errors="surrogatepass"),
            self.position,
        )


@dataclass(frozen=True)
class PageIdentity:
    """What a page belongs to: a table, its version, and the query with its condition."""

    table_id: str
    version: int
    query: str
    where: str | None

    def token(self, key: RankKey, now: int | None) -> str:
        """Return the token of the pages after a row."""
        moment = _NO_MOMENT if now is None else now
        head = _HEAD.pack(
            _LAYOUT, self._table, self.version, self._query, moment, key.score, key.position, key.rank
        )
        data = head + key.path.encode(errors="surrogatepass")
        return base64.urlsafe_b64encode(data + _CRC.pack(zlib.crc32(data))).decode()

    def read(self, token: str) -> tuple[RankKey, int | None]:
        """Return the row of a token, and the `now` of its page. InputError if it is damaged or of another search."""
        layout, table, version, query, now, score, position, rank, path = _decode(token)
        if layout != _LAYOUT:
            raise InputError(
                f"after is a page token of another release (layout {layout}); search again from the first page"
            )
        if table != self._table:
            raise InputError("after is a page token of another table; search again from the first page")
        if version != self.version:
            raise InputError(
                f"after is a page token of version {version}, and this is version {self.version}: open the table with "
                f"version={version}, or search again from the first page"
            )
        if query != self._query:
            raise InputError(
                "after is a page token of another query or where; pass those of the first page, or search again"
            )
        return RankKey(score, path, position, rank), None if now == _NO_MOMENT else now

    @property
    def _table(self) -> bytes:
        return hashlib.sha256(self.table_id.encode(errors="surrogatepass")).digest()[:8]

    @property
    def _query(self) -> bytes:
        both = repr((self.query, self.where)).encode(errors="surrogatepass")
        return hashlib.sha256(both).digest()[:8]


def token_of(after: str | pa.Table) -> str | None:
    """Return the token that a caller gives, as text or with the page that has it; None for a page without rows.

    InputError for a part of a page: its last row is not the row of the token.
    """
    if isinstance(after, pa.Table):
        metadata = after.schema.metadata or {}
        if TOKEN_KEY not in metadata:
            if after.num_rows:
                raise InputError("after is a table that is no page of a search; it takes one, or its token")
            return None
        rows = str(metadata.get(_ROWS_KEY, b"?"), "ascii", "replace")
        if rows != str(after.num_rows):
            raise InputError(
                f"after is a table of {after.num_rows} rows, made from a page of {rows}: the next page begins after "
                "the last row of a whole page; pass the page as search returned it, or search with a smaller limit"
            )
        return str(metadata[TOKEN_KEY], "ascii", "replace")
    if not isinstance(after, str):
        raise InputError(f"after is {after!r:.100}; it takes a page of a search, or its token")
    return after


def page_token(page: pa.Table) -> str | None:
    """Return the token of a page of `Table.search`: `after=` takes it, in this process or another. None if it is empty.

    >>> import indextables as it, pyarrow as pa
    >>> _ = it.write("memory://doc-token", pa.table({"id": range(5), "m": ["disk"] * 5}), text=["m"])
    >>> table = it.open("memory://doc-token")
    >>> token = it.page_token(table.search("disk", limit=2))
    >>> table.search("disk", limit=2, after=token).column("id").to_pylist()
    [2, 3]

    InputError for a part of a page, such as `page.slice(0, 1)`: the token belongs to the last row of the whole page.
    """
    if not isinstance(page, pa.Table):
        raise InputError(f"page is a {type(page).__name__}; it takes a table that search returned")
    return token_of(page)


def with_token(page: pa.Table, token: str | None) -> pa.Table:
    """Return a page with its token."""
    if token is None:
        return page
    metadata = {TOKEN_KEY: token.encode(), _ROWS_KEY: str(page.num_rows).encode()}
    return page.replace_schema_metadata({**(page.schema.metadata or {}), **metadata})


def _decode(token: str) -> tuple[int, bytes, int, bytes, int, float, int, int, str]:
    damaged = InputError(
        "after is not a page token, or a damaged one; pass it as page_token returned it, or the page itself"
    )
    try:
        data = base64.b64decode(token[:_MAX_TOKEN].encode("ascii"), altchars=b"-_", validate=True)
        body, (crc,) = data[: -_CRC.size], _CRC.unpack(data[-_CRC.size :])
        if len(token) > _MAX_TOKEN or zlib.crc32(body) != crc:
            raise damaged
        path = body[_HEAD.size :].decode(errors="surrogatepass")
        layout, table, version, query, now, score, position, rank = _HEAD.unpack(body[: _HEAD.size])
    except (binascii.Error, struct.error, UnicodeError, ValueError):
        raise damaged from None
    return layout, table, version, query, now, score, position, rank, path
