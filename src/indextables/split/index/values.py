"""The values of a column as the index has them.

Numbers are signed 64-bit integers. Numbers of 128 bits, which are wide decimals and IP addresses, are terms of 32
hexadecimal digits, which sort like the numbers. An array is the list of its elements. A map is a list of terms, two for
each entry whose value is not null, that begin with a digest of the key: one says that the key is there, the other has
the value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from itertools import islice
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.schema import MappedField, decimal_words, map_types, shorten, value_kind
from indextables.split.index.fields import sortable
from indextables.split.index.string_values import strings
from indextables.split.index.tokenizers import tokenizer

_SIGN: Final = 1 << 63
_WIDE_OFFSET: Final = 1 << 127
_MAPPED_IPV4: Final = 0xFFFF << 32
_KEY_BYTES: Final = 16
_LONGEST_VALUE: Final = 1 << 10
"""A string of more bytes is in a map's terms by its digest: so long a value is only compared as a whole."""


def index_values(column: MappedField, values: pa.Array) -> list[Any]:
    """Return the values as the index has them; None for null."""
    if pa.types.is_map(values.type):
        return _entries(column, values)
    if pa.types.is_list(values.type):
        return _elements(column, values)
    return strings(index_array(column, values))


def index_array(column: MappedField, values: pa.Array) -> pa.Array:
    """Return values that are neither arrays nor maps as the index has them: integers or strings."""
    match column.kind:
        case "i64" if pa.types.is_decimal(values.type):
            _, low = decimal_words(values)
            return pa.array(low.view("int64"), mask=pc.is_null(values).to_numpy(zero_copy_only=False))
        case "i64":
            return values.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
        case "i128":
            high, low = decimal_words(values)
            pairs = zip(high.tolist(), low.tolist(), values.is_null().to_pylist(), strict=True)
            terms = [
                None if is_null else f"{upper + _SIGN:016x}{lower:016x}" for upper, lower, is_null in pairs
            ]
            return pa.array(terms, pa.string())
        case "ip":
            return _addresses(column, values)
        case "bool":
            return values.cast(pa.int8())
        case "f64":
            numbers = sortable(values.cast(pa.float64()).fill_null(0.0).to_numpy())
            return pa.array(numbers, mask=pc.is_null(values).to_numpy(zero_copy_only=False))
        case "text":
            return tokenizer(column.tokenizer).prepare(values)
        case _:
            return values


def wide_term(number: int, kind: str) -> str:
    """Return the term of a number of 128 bits: of a decimal's digits, or of an address.

    >>> wide_term(-1, "i128") < wide_term(0, "i128") < wide_term(10**37, "i128")
    True
    """
    return f"{number + (_WIDE_OFFSET if kind == 'i128' else 0):032x}"


def addresses(text: str) -> tuple[int, int]:
    """Return the first and the last address of a network, or twice an address. ValueError if it is neither.

    Addresses are numbers of 128 bits: one of IPv4 is that of IPv6 which stands for it, ::ffff:a.b.c.d.

    >>> first, last = addresses("10.0.0.0/8")
    >>> last - first + 1 == 1 << 24
    True
    """
    if "%" in text:
        raise ValueError(text)
    if "/" not in text:
        number = _address(ip_address(text))
        return number, number
    network = ip_network(text, strict=False)
    return _address(network.network_address), _address(network.broadcast_address)


def entry_terms(column: MappedField, number: int | None = None, text: str | None = None) -> str:
    """Return the term of a map's entry with the key of `column`, and with this value if one is given.

    The value is a number of the index, or a text.
    """
    assert column.key is not None
    prefix = _key_digest(column.key)
    if text is not None:
        return f"{prefix}={_short(text)}"
    return f"{prefix}!" if number is None else f"{prefix}#{_number_text(number, column.kind)}"


def _elements(column: MappedField, values: pa.Array) -> list[Any]:
    """Return a list of values for each list, without the null ones."""
    flat = iter(index_values(replace(column, spark_type=column.value_type), values.flatten()))
    lengths = pc.list_value_length(values).to_pylist()
    return [None if n is None else [v for v in islice(flat, n) if v is not None] for n in lengths]


def _entries(column: MappedField, values: pa.Array) -> list[Any]:
    """Return the terms of each map."""
    _, value_type = map_types(column.spark_type) or ("", "")
    keys = [_key_digest(str(key)) for key in values.keys.to_pylist()]
    terms = list(map(_terms(value_type), index_values(_values_of(column, value_type), values.items)))
    offsets, is_valid = values.offsets.to_pylist(), values.is_valid().to_pylist()
    return [
        [
            term
            for place in range(start, end)
            if terms[place] is not None
            for term in (f"{keys[place]}!", f"{keys[place]}{terms[place]}")
        ]
        if ok
        else None
        for start, end, ok in zip(offsets[:-1], offsets[1:], is_valid, strict=True)
    ]


def _values_of(column: MappedField, value_type: str) -> MappedField:
    return replace(column, spark_type=value_type, kind=value_kind(value_type))


def _terms(value_type: str) -> Callable[[Any], str | None]:
    if value_type == "string":
        return lambda text: None if text is None else f"={_short(text)}"
    return lambda number: None if number is None else f"#{_number_text(number, '')}"


def _number_text(number: int | str, kind: str) -> str:
    """Return the digits of a number in a term; a number of 128 bits is a term already, or is made one."""
    if isinstance(number, str):
        return number
    return wide_term(number, kind) if kind == "i128" else f"{number + _SIGN:016x}"


def _short(text: str) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    return text if len(raw) <= _LONGEST_VALUE else f"\0{hashlib.blake2b(raw, digest_size=32).hexdigest()}"


@lru_cache(maxsize=4096)
def _key_digest(key: str) -> str:
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).hexdigest()


def _addresses(column: MappedField, values: pa.Array) -> pa.Array:
    """Return the terms of addresses. SchemaError for a text that is none."""
    coded = values.dictionary_encode()
    terms: list[str] = []
    for text in strings(coded.dictionary):
        try:
            number, _ = addresses(text or "") if "/" not in (text or "") else (None, None)
        except ValueError:
            number = None
        if number is None:
            raise SchemaError(
                f"column {column.name!r} is indexed as ip, and {shorten(text or '')!r} is not an IP address: write "
                "null, or index the column as string"
            )
        terms.append(wide_term(number, "ip"))
    return pa.array(terms, pa.string()).take(coded.indices)


def _address(address: IPv4Address | IPv6Address) -> int:
    return int(address) | (_MAPPED_IPV4 if address.version == 4 else 0)
