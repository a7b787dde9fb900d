"""Text that is not UTF-8 is found wherever it is in an entry."""

from __future__ import annotations

import pyarrow as pa
import pytest

from indextables.avro import check_utf8
from indextables.errors import CorruptTableError

BROKEN = pa.Array.from_buffers(
    pa.string(),
    2,
    [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\3\0\0\0"), pa.py_buffer(b"a\xffb")],
)
CUT = pa.Array.from_buffers(  # each half of a character
    pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer("ü".encode())]
)
KEYS = pa.array(["k", "k"])


@pytest.mark.parametrize("broken", [BROKEN, CUT])
@pytest.mark.parametrize(
    "nested",
    [
        lambda texts: texts,
        lambda texts: pa.MapArray.from_arrays([0, 1, 2], KEYS, texts),
        lambda texts: pa.MapArray.from_arrays([0, 1, 2], texts, KEYS),
        lambda texts: pa.ListArray.from_arrays([0, 2], texts),
    ],
)
def test_bytes_that_are_no_text_are_an_error_that_names_the_file(broken, nested):
    with pytest.raises(CorruptTableError, match=r"m\.avro: a string is not UTF-8"):
        check_utf8(pa.table({"a": nested(broken)}), "m.avro")


def test_text_of_every_kind_is_text():
    check_utf8(pa.table({"a": ["", None, "ascii", "ü", "\U0001f600"], "n": [1, 2, 3, 4, 5]}), "m.avro")
    check_utf8(pa.table({"a": pa.array([], pa.map_(pa.string(), pa.string()))}), "m.avro")
