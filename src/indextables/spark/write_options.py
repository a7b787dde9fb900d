"""Options that only writes have, taken out of those that Spark passes on.

`txnAppId` and `txnVersion` make a write one batch of a stream: each number is written once. `mergeSchema` of an append
is another name of a setting, as Delta Lake has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import ConfigError

APPLICATION: Final = "txnAppId"
NUMBER: Final = "txnVersion"
MERGE_SCHEMA: Final = "mergeSchema"

_MAX_NUMBER: Final = (1 << 63) - 1


def take_txn(options: Mapping[str, str]) -> tuple[tuple[str, int] | None, dict[str, str]]:
    """Return the application and the number of a write, if its options name them, and the other options.

    >>> take_txn({"txnAppId": "loader", "TXNVERSION": "7", "path": "/t"})
    (('loader', 7), {'path': '/t'})
    >>> take_txn({"txnAppId": "loader"})
    Traceback (most recent call last):
        ...
    indextables.errors.ConfigError: txnAppId and txnVersion go together: the name of the application that writes, and \
the number of this write in it
    """
    names = {APPLICATION.lower(), NUMBER.lower()}
    batch = {key.lower(): value for key, value in options.items() if key.lower() in names}
    others = {key: value for key, value in options.items() if key.lower() not in names}
    if not batch:
        return None, others
    application, number = batch.get(APPLICATION.lower()), batch.get(NUMBER.lower())
    if not application or number is None:
        raise ConfigError(
            f"{APPLICATION} and {NUMBER} go together: the name of the application that writes, and the number of this "
            "write in it"
        )
    if not (number.isascii() and number.isdecimal() and int(number) <= _MAX_NUMBER):
        raise ConfigError(
            f"{NUMBER} is {number!r}; it takes a whole number that grows from 0, such as the id of the batch"
        )
    return (application, int(number)), others


def take_merge_schema(options: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
    """Return whether the option asks for new columns, and the options with the setting in its place.

    >>> take_merge_schema({"MERGESCHEMA": "true", "path": "/t"})
    (True, {'path': '/t', 'spark.indextables.write.mergeSchema': 'true'})
    >>> take_merge_schema({"mergeSchema": "perhaps"})
    Traceback (most recent call last):
        ...
    indextables.errors.ConfigError: option mergeSchema is 'perhaps'; it takes true or false
    """
    texts = {value for key, value in options.items() if key.lower() == MERGE_SCHEMA.lower()}
    others = {key: value for key, value in options.items() if key.lower() != MERGE_SCHEMA.lower()}
    if not texts:
        return False, others
    text = texts.pop()
    if text.strip().lower() not in ("true", "false"):
        raise ConfigError(f"option {MERGE_SCHEMA} is {text!r}; it takes true or false")
    is_asked_for = text.strip().lower() == "true"
    ours = Settings({k: v for k, v in others.items() if k.lower().endswith(".write.mergeschema")})
    if ours.is_set(keys.MERGE_SCHEMA) and ours.get(keys.MERGE_SCHEMA) != is_asked_for:
        raise ConfigError(
            f"option {MERGE_SCHEMA} and setting {keys.MERGE_SCHEMA.key!r} are the same and have different values; "
            "remove one of them"
        )
    return is_asked_for, {**others, keys.MERGE_SCHEMA.key: str(is_asked_for).lower()}
