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
    """Return the `stats` of a split with those of its filters that are small enough, or None if there are none."""
    small = {
        name: b64encode(bloom.to_bytes()).decode()
        for name, bloom in filters.items()
        if len(bloom.bits) <= max_bytes
    }
    return orjson.dumps({_KEY: small}).decode() if small else None


def inline_filters(stats: str | None) -> dict[str, BloomFilter]:
    """Return the filters in a file's `stats`; other content, or damage, means no filters.

    >>> text = inline_stats({"n": BloomFilter(1, b"x")}, max_bytes=8)
    >>> inline_filters(text), inline_filters('{"numRecords":3}'), inline_filters(None)
    ({'n': BloomFilter(probes=1, bits=b'x')}, {}, {})
    """
    if stats is None or _KEY not in stats:
        return {}
    filters: dict[str, BloomFilter] = {}
    try:
        for name, text in orjson.loads(stats)[_KEY].items():
            bloom = BloomFilter.from_bytes(b64decode(text, validate=True))
            if bloom is not None:
                filters[name] = bloom
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        return {}
    return filters
