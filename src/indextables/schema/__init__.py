"""What a table's columns are: their types, how each is indexed, and how partition values are written."""

from indextables.schema.casting import cast_exactly
from indextables.schema.mapping import (
    CUTTING_TOKENIZER,
    REGISTRY_PREFIX,
    TOKENIZER,
    TYPEMAP_PREFIX,
    FieldMapping,
    IndexKind,
    MappedField,
    mapping_hash,
    resolve_typemap,
    tokenizers,
)
from indextables.schema.partitions import (
    NULL_DIRECTORY,
    check_partition_columns,
    decode_value,
    encode_value,
    escape,
    micros,
    partition_path,
    unescape,
)
from indextables.schema.registry import own_refs, typemap_of
from indextables.schema.times import TimeError, parse_time, shortened
from indextables.schema.types import (
    ARROW_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    RESERVED_COLUMNS,
    Field,
    TableSchema,
    Value,
)

__all__ = [
    "ARROW_TYPES",
    "CUTTING_TOKENIZER",
    "FLOAT_TYPES",
    "INTEGER_TYPES",
    "NULL_DIRECTORY",
    "REGISTRY_PREFIX",
    "RESERVED_COLUMNS",
    "TOKENIZER",
    "TYPEMAP_PREFIX",
    "Field",
    "FieldMapping",
    "IndexKind",
    "MappedField",
    "TableSchema",
    "TimeError",
    "Value",
    "cast_exactly",
    "check_partition_columns",
    "decode_value",
    "encode_value",
    "escape",
    "mapping_hash",
    "micros",
    "own_refs",
    "parse_time",
    "partition_path",
    "resolve_typemap",
    "shortened",
    "tokenizers",
    "typemap_of",
    "unescape",
]
