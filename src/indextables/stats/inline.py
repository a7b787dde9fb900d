"""Small Bloom filters in the log, so that planning need not open a split: an add action's `stats`, which is JSON.

{"bloomFilters": {"<column>": "<the filter's bytes in Base64>", ...}}
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final

import orjson

from indextables.stats.bloom import BloomFilter

_KEY: Final = "bloomFilters"


def inline_stats(filters: Mapping[str, BloomFilter], max_bytes: int) -> str | None:
    """The `stats` of a split with those of its filters that are small enough, or None without any."""
    small = {
        name: b64encode(bloom.to_bytes()).decode()
        for name, bloom in filters.items()
        if len(bloom.bits) <= max_bytes
    }
    return orjson.dumps({_KEY: small}).decode() if small else None


def inline_filters(stats: str | None) -> dict[str, BloomFilter]:
    """The filters in a file's `stats`. Whatever else may be there, or be wrong with it, filters nothing.

    >>> text = inline_stats({"n": BloomFilter(1, b"x")}, max_bytes=8)
    >>> inline_filters(text), inline_filters('{"numRecords":3}'), inline_filters(None)
    ({'n': BloomFilter(probes=1, bits=b'x')}, {}, {})
    """
    if stats is None or _KEY not in stats:
        return {}
    found: dict[str, BloomFilter] = {}
    try:
        for name, text in orjson.loads(stats)[_KEY].items():
            bloom = BloomFilter.from_bytes(b64decode(text, validate=True))
            if bloom is not None:
                found[name] = bloom
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        return {}
    return found
