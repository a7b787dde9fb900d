"""Options of single columns, from the settings of a write: tokenizers, what is indexed, and how.

They become the typemap of a table, in which `text` may be followed by what differs from the default:
`text;tokenizer=en_stem1 stop:en;record=basic`. `none` is a column without an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import ConfigError
from indextables.schema.tokenizer_names import TOKENIZER, parse_recipe, recorded_name
from indextables.schema.types import Field, TableSchema

RECORDS: Final = ("position", "freq", "basic")
"""What the index records of a word in a row: its positions, how often it is there, or only that it is."""

_LENGTHS: Final = {"legacy": 39, "default": 255, "tantivy_max": None}


def split_kind(value: str) -> tuple[str, str, str]:
    """Return the kind, tokenizer and record option of a value of the typemap. ValueError if it cannot be read.

    >>> split_kind("text;record=freq")
    ('text', 'words2', 'freq')
    """
    kind, *options = value.split(";")
    tokenizer, record = TOKENIZER, "position"
    for option in options:
        name, _, text = option.partition("=")
        if name == "tokenizer":
            parse_recipe(text)
            tokenizer = text
        elif name == "record" and text in RECORDS:
            record = text
        else:
            raise ValueError(f"unknown option {option!r}")
    return kind, tokenizer, record


def join_kind(kind: str, tokenizer: str, record: str, *, full: bool = False) -> str:
    """Return the value of the typemap; unless it is to be `full`, without what is the default."""
    if kind != "text":
        return kind
    value = "text"
    if full or tokenizer != TOKENIZER:
        value += f";tokenizer={tokenizer}"
    return value + (f";record={record}" if full or record != "position" else "")


def requested_typemap(schema: TableSchema, settings: Settings) -> dict[str, str]:
    """Return the typemap that the settings of a write ask for, by the column's name as the settings write it.

    ConfigError if an option names no column, or has a value that does not exist.
    """
    typemap = dict(settings.family(keys.TYPEMAP))
    tokenizers = _by_column(schema, settings.family(keys.TOKENIZER), keys.TOKENIZER.prefix)
    stops = _by_column(schema, settings.family(keys.STOP_WORDS), keys.STOP_WORDS.prefix, inverse=False)
    folds = _by_column(schema, settings.family(keys.ASCII_FOLDING), keys.ASCII_FOLDING.prefix, inverse=False)
    lengths = _by_column(schema, settings.family(keys.TOKEN_LENGTH), keys.TOKEN_LENGTH.prefix)
    records = _by_column(schema, settings.family(keys.RECORD_OPTION), keys.RECORD_OPTION.prefix)
    default_length, default_record = (
        settings.get(keys.TEXT_TOKEN_LENGTH),
        settings.get(keys.TEXT_RECORD_OPTION),
    )
    texts = set(_text_columns(schema, typemap))
    names = {*tokenizers, *stops, *folds, *lengths, *records} | (
        texts if default_length or default_record else set()
    )
    for name in sorted(names):
        if tokenizers.get(name, "").strip().lower() == "raw":
            if name in {*stops, *folds, *lengths, *records} or name in texts:
                raise ConfigError(
                    f"column {name!r}: the tokenizer raw makes one exact value, and takes no other option"
                )
            typemap[name] = "string"
            continue
        try:
            tokenizer = recorded_name(
                tokenizers.get(name, "default"),
                stops.get(name, ""),
                fold=_boolean(folds.get(name, "false")),
                longest=_length(lengths.get(name, default_length)),
            )
            record = records.get(name, default_record or "position").strip().lower()
            if record not in RECORDS:
                raise ValueError(f"{record!r} is not an index record option: it takes {', '.join(RECORDS)}")
        except ValueError as reason:
            raise ConfigError(f"column {name!r}: {reason}") from None
        for key in [key for key in typemap if schema.get(key) is not None and schema.field(key).name == name]:
            del typemap[key]
        typemap[name] = join_kind("text", tokenizer, record, full=True)
    fast = {column.name for column in fast_columns(schema, settings)}
    for setting in (keys.STORE_ONLY_FIELDS, keys.NON_FAST_FIELDS):
        for given in settings.get(setting):
            column = schema.get(given)
            if column is None:
                raise ConfigError(f"{setting.key} names the unknown column {given!r}")
            if setting is keys.NON_FAST_FIELDS and (column.type == "string" or column.name in fast):
                continue  # strings have no fast field
            if column.name in fast:
                raise ConfigError(
                    f"column {column.name!r} is in {setting.key}, which stores it without an index, and in "
                    f"{keys.FAST_FIELDS.key}, which indexes it; leave it out of one of them"
                )
            if column.name in names or column.name in texts:
                raise ConfigError(
                    f"column {column.name!r} is in {setting.key} and has options of an indexed column"
                )
            typemap[column.name] = "none"
    return typemap


def fast_columns(schema: TableSchema, settings: Settings) -> list[Field]:
    """Return the columns that have a fast field by the settings of a write, whatever other settings say of them."""
    columns = [schema.get(name) for name in settings.get(keys.FAST_FIELDS)]
    return [column for column in columns if column is not None and column.type != "string"]


def _text_columns(schema: TableSchema, typemap: Mapping[str, str]) -> Iterable[str]:
    for key, value in typemap.items():
        named = [key] if schema.get(key) is not None else [name.strip() for name in value.split(",")]
        kind = value if schema.get(key) is not None else key
        if kind.strip().lower() == "text":
            yield from (schema.field(name).name for name in named if schema.get(name) is not None)


def _by_column(
    schema: TableSchema, members: Mapping[str, str], prefix: str, *, inverse: bool = True
) -> dict[str, str]:
    """Return the value for each column, from `<prefix><column> = value` and `<prefix><value> = column, column`."""
    values: dict[str, str] = {}
    for key, value in members.items():
        pairs = [(key, value)]
        if inverse and schema.get(key) is None:
            pairs = [(name.strip(), key) for name in value.split(",") if name.strip()]
        for name, given in pairs:
            column = schema.get(name)
            if column is None:
                raise ConfigError(
                    f"{prefix}{key} names the unknown column {name!r}: the table has {', '.join(schema.names)}"
                )
            values[column.name] = given
    return values


def _boolean(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is not true or false")
    return text.strip().lower() == "true"


def _length(text: str | None) -> int | None:
    if text is None or text == "":
        return None
    folded = text.strip().lower()
    if folded in _LENGTHS:
        return _LENGTHS[folded]
    if not folded.isdecimal() or not 1 <= int(folded) <= 65530:
        raise ValueError(f"the length of a token is {text!r}: it takes 1 to 65530, {', '.join(_LENGTHS)}")
    return int(folded)
