"""The options of the format `indextables.columns`, apart from path, version and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from indextables.columns import Policy, SchemaBased, Single
from indextables.config import boolean, names, whole
from indextables.errors import ConfigError

_NAMES: Final = {
    option.lower(): option
    for option in (
        "applyDeltas",
        "primaryKey",
        "policy",
        "patterns",
        "fileFormat",
        "compression",
        "compressionLevel",
    )
}


@dataclass(frozen=True)
class DatasetOptions:
    """How to read and write a dataset. `writer` are keyword arguments of `Writer`; no policy: as it is stored.

    >>> DatasetOptions.parse({"policy": "schema_based", "patterns": "v_.*, text"}).policy
    SchemaBased(patterns=('v_.*', 'text'), formats=None)
    """

    apply_deltas: bool = False
    primary_key: tuple[str, ...] | None = None
    policy: Policy | None = None
    writer: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> DatasetOptions:
        """Parse the options of a DataFrameReader or DataFrameWriter, in whose names case does not count."""
        values = {_option_name(name): value for name, value in options.items()}
        writer: dict[str, Any] = {}
        if "fileFormat" in values:
            writer["format"] = values["fileFormat"].lower()
        if "compression" in values:
            writer["compression"] = values["compression"].lower()
        if "compressionLevel" in values:
            writer["compression_level"] = _parse(values, "compressionLevel", whole)
        return cls(
            apply_deltas=_parse(values, "applyDeltas", boolean) if "applyDeltas" in values else False,
            primary_key=names(values["primaryKey"]) if "primaryKey" in values else None,
            policy=_policy(values),
            writer=writer,
        )


def _policy(values: Mapping[str, str]) -> Policy | None:
    policy = values.get("policy")
    patterns = names(values.get("patterns", ""))
    if patterns and policy != "schema_based":
        raise ConfigError("the option patterns belongs to the policy schema_based")
    match policy:
        case None:
            return None
        case "single":
            return Single()
        case "schema_based" if patterns:
            return SchemaBased(patterns)
        case "schema_based":
            raise ConfigError(
                "the policy schema_based needs the option patterns: regular expressions, separated by commas"
            )
        case "size_based":
            raise ConfigError(
                "the policy size_based depends on the first rows, which differ from one Spark task to the next; "
                "name the columns with schema_based"
            )
        case _:
            raise ConfigError(f"policy is {policy!r}; it takes single or schema_based")


def _option_name(name: str) -> str:
    if name.lower() not in _NAMES:
        raise ConfigError(f"unknown option {name!r}; indextables.columns takes {', '.join(_NAMES.values())}")
    return _NAMES[name.lower()]


def _parse(values: Mapping[str, str], name: str, parse: Any) -> Any:
    try:
        return parse(values[name])
    except ValueError as reason:
        raise ConfigError(f"option {name} is {values[name]!r}; it takes {reason}") from None
