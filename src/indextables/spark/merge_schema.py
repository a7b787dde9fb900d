"""The option `mergeSchema` of an append, as Delta Lake has it: another name of a setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from indextables.config import Settings, keys
from indextables.errors import ConfigError

OPTION: Final = "mergeSchema"


def take_merge_schema(options: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
    """Return whether the option asks for new columns, and the options with the setting in its place.

    >>> take_merge_schema({"MERGESCHEMA": "true", "path": "/t"})
    (True, {'path': '/t', 'spark.indextables.write.mergeSchema': 'true'})
    >>> take_merge_schema({"mergeSchema": "perhaps"})
    Traceback (most recent call last):
        ...
    indextables.errors.ConfigError: option mergeSchema is 'perhaps'; it takes true or false
    """
    values = {value for key, value in options.items() if key.lower() == OPTION.lower()}
    others = {key: value for key, value in options.items() if key.lower() != OPTION.lower()}
    if not values:
        return False, others
    text = values.pop()
    if text.strip().lower() not in ("true", "false"):
        raise ConfigError(f"option {OPTION} is {text!r}; it takes true or false")
    is_asked_for = text.strip().lower() == "true"
    ours = Settings({k: v for k, v in others.items() if k.lower().endswith(".write.mergeschema")})
    if ours.is_set(keys.MERGE_SCHEMA) and ours.get(keys.MERGE_SCHEMA) != is_asked_for:
        raise ConfigError(
            f"option {OPTION} and setting {keys.MERGE_SCHEMA.key!r} are the same and have different values; remove "
            "one of them"
        )
    return is_asked_for, {**others, keys.MERGE_SCHEMA.key: str(is_asked_for).lower()}
