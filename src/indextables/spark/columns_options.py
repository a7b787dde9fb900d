"""The options of the format `indextables.columns`, apart from path, version and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from indextables.columns import Policy, SchemaBased, Single
from indextables.config import boolean, names, whole
from indextables.errors import ConfigError

_KNOWN: Final = {
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
class ColumnsOptions:
    """How a dataset is read and written. `writer` are keyword arguments of `Writer`; no policy: as it is stored.

    >>> ColumnsOptions.of({"policy": "schema_based", "patterns": "v_.*, text"}).policy
    SchemaBased(patterns=('v_.*', 'text'), formats=None)
    """

    apply_deltas: bool = False
    primary_key: tuple[str, ...] | None = None
    policy: Policy | None = None
    writer: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ColumnsOptions:
        """From the options of a DataFrameReader or Writer, their names in lower case."""
        given = {_known(name): value for name, value in options.items()}
        writer: dict[str, Any] = {}
        if "fileFormat" in given:
            writer["format"] = given["fileFormat"].lower()
        if "compression" in given:
            writer["compression"] = given["compression"].lower()
        if "compressionLevel" in given:
            writer["compression_level"] = _parsed(given, "compressionLevel", whole)
        return cls(
            apply_deltas=_parsed(given, "applyDeltas", boolean) if "applyDeltas" in given else False,
            primary_key=names(given["primaryKey"]) if "primaryKey" in given else None,
            policy=_policy(given),
            writer=writer,
        )


def _policy(given: Mapping[str, str]) -> Policy | None:
    policy = given.get("policy")
    patterns = names(given.get("patterns", ""))
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
                "the policy schema_based needs the option patterns, regular expressions with commas between"
            )
        case "size_based":
            raise ConfigError(
                "the policy size_based looks at the first rows, which every task of Spark has others of; "
                "name the columns with schema_based"
            )
        case _:
            raise ConfigError(f"policy is {policy!r}; it takes single or schema_based")


def _known(name: str) -> str:
    if name.lower() not in _KNOWN:
        raise ConfigError(f"unknown option {name!r}; indextables.columns takes {', '.join(_KNOWN.values())}")
    return _KNOWN[name.lower()]


def _parsed(given: Mapping[str, str], name: str, parse: Any) -> Any:
    try:
        return parse(given[name])
    except ValueError as reason:
        raise ConfigError(f"option {name} is {given[name]!r}; it takes {reason}") from None
