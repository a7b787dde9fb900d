"""Arrow's list views as lists: Arrow's own cast of them makes arrays that are not valid."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError


def has_list_view(kind: pa.DataType) -> bool:
    """Return True if the type is a list view, or has one inside.

    >>> has_list_view(pa.struct({"tags": pa.list_view(pa.string())})), has_list_view(pa.list_(pa.string()))
    (True, False)
    """
    return _is_view(kind) or any(has_list_view(kind.field(place).type) for place in range(kind.num_fields))


def plain_lists(values: pa.Array, name: str) -> pa.Array:
    """Return the values of column `name` with a list for each list view. SchemaError for one inside a map."""
    kind = values.type
    if not has_list_view(kind):
        return values
    if pa.types.is_struct(kind):
        parts = [plain_lists(values.field(place), name) for place in range(kind.num_fields)]
        names = [kind.field(place).name for place in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, names, mask=values.is_null())
    if not (_is_view(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise SchemaError(
            f"column {name!r} has list views inside {kind}: cast them to lists, or leave them out"
        )
    # flatten leaves out what null lists have, and takes the lists in order.
    elements = plain_lists(values.flatten(), name)
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), elements, mask=values.is_null())


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))
